"""Reads TOML files whose tables have declared types: pydantic checks them, and an error names file, table and key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from reprlib import repr as short
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Strict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from tasks.adapters.files import regular_file
from tasks.domain.errors import BadInput

EXPECTED = {
    **dict.fromkeys(("model_type", "dict_type"), "it should be a table"),
    "tuple_type": "it should be a list: [...], or [[NAME]] for tables",
    "too_short": "it should not be empty",
    "bool_type": "it should be true or false",
    "string_type": "it should be text in quotes",
    "date_type": "it should be a date such as 2024-07-18, without quotes",
    **dict.fromkeys(
        ("datetime_type", "timezone_aware"), "it should be a timestamp with a zone such as 2024-03-01T00:00:00Z"
    ),
}
"""What TOML calls it, where pydantic's own words are those of Python."""


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("it should not be empty")
    return text


Filled = Annotated[str, AfterValidator(_filled)]
Texts = Annotated[tuple[str, ...], Strict(False)]
"""Strict validation takes no list for a tuple, and TOML has only lists; each text is checked strictly all the same."""


class TomlTable(BaseModel):
    """The declared keys of a table. No other key is allowed, and no value is converted: `"8192"` is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, values: Any) -> Any:
        """`extra="forbid"` alone would not list the keys that are known."""
        known = {field.alias or name for name, field in cls.model_fields.items()}
        if isinstance(values, dict) and (extra := sorted(values.keys() - known)):
            raise ValueError(f"has {', '.join(extra)}; known keys are {', '.join(sorted(known))}")
        return values


T = TypeVar("T", bound=TomlTable)


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the content of a file. Raises `NotFound` if it is missing, `BadInput` if it is not TOML."""
    try:
        return tomllib.loads(regular_file(path, hint=f"it belongs in {path.parent}").read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} is not TOML: {error}", hint="correct the syntax in this line") from None


def checked(shape: type[T], values: object, where: str, hint: str = "") -> T:
    """Returns `values` as a table of this shape. Raises `BadInput` with the first problem: `where` (the file, or a
    table in it), the key, its value and what it should be."""
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        first, *others = error.errors()
        more = f" (and {len(others)} more)" if others else ""
        raise BadInput(f"{where}{_problem(first)}{more}", hint=hint or "correct this key") from None


def _problem(error: ErrorDetails) -> str:
    path = _path(error["loc"])
    if error["type"] == "missing":
        return f"{path} is missing"
    said = EXPECTED.get(error["type"]) or re.sub("^(Input|String)", "it", error["msg"].removeprefix("Value error, "))
    return f"{path} {said}" if said.startswith("has ") else f"{path} is {short(error['input'])}: {said}"


def _path(keys: tuple[int | str, ...]) -> str:
    """`("price", 0, "input")` → `: price 1: input`."""
    text = before = ""
    for key in keys:
        if isinstance(key, int):
            text, before = f"{text} {key + 1}", ""
        else:
            text, before = text + ("." if before else ": ") + key, key
    return text
