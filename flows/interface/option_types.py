"""Declare the parameters of a request, and read a request from a caller's values.

A field with an `Option` is a parameter with one help text. The field's type sets the accepted values, and its default
makes it optional.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from flows.interface.settings import Settings
from tasks.adapters.files import file_in, output_in
from tasks.domain.names import COMPONENT, SNAPSHOT_NAME, path_component, repo_name, snapshot_name

Q = TypeVar("Q", bound="Request")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextKind:
    """What a text parameter names. A deployment accepts only names, so that its callers cannot choose paths on a
    worker."""

    name: str
    pattern: str = ""
    """Regular expression for the whole text, in a deployment's schema."""
    check: Callable[[str], object] | None = None
    """Raises `BadInput` for a wrong name, also on the command line."""
    find: Callable[[Path, str], Path] | None = None
    """Returns the path of a name in its folder, for a deployment. The command line gets a path directly."""
    place: Callable[[Settings], Path] | None = None
    """Returns the folder for `find`."""
    said: str = ""
    """Text that a deployment adds to the help."""


FILE = TextKind(
    name="file",
    pattern=COMPONENT,
    find=file_in,
    place=attrgetter("inbox"),
    said="Files are given by their name in the worker's SWT_INBOX.",
)
"""A file that a flow reads."""
OUTPUT = TextKind(
    name="output",
    pattern=COMPONENT,
    find=output_in,
    place=attrgetter("reports"),
    said="It is given by a name, and written to the folder of reports on the worker.",
)
"""A file or folder that a flow writes."""
SNAPSHOT = TextKind(name="snapshot", pattern=SNAPSHOT_NAME, check=snapshot_name)
INSTANCE = TextKind(name="instance", pattern=COMPONENT, check=path_component)
REPOSITORY = TextKind(name="repository", pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+", check=repo_name)
TEXT = TextKind(name="text")
"""Parsed, compared with names, or shown; never part of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Declares how a field is given as an option or parameter."""

    help: str
    text: TextKind | None = None
    """Kind of a text or path field. Such a field must have one."""
    words: tuple[str, ...] = ()
    """Accepted values that are not files: a word, or a prefix that ends with `:`."""
    flag: str = ""
    """Name on the command line if it is not `--field-name`; `ARGUMENT` for a positional argument."""
    least: float | None = None


ARGUMENT = "argument"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Base class of the parameters of a flow."""

    @property
    def title(self) -> str:
        """Title of the flow run."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a request."""

    name: str
    kind: Any
    """Type of one value: `str`, `int`, an enum …"""
    many: bool
    """Whether the parameter accepts several values."""
    may_be_null: bool
    default: Any
    """`dataclasses.MISSING` if the parameter is required."""
    option: Option

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    @property
    def help_in_form(self) -> str:
        """The help text in a deployment."""
        said = self.option.text.said if self.option.text else ""
        return f"{self.option.help} {said}".strip()

    @property
    def pattern(self) -> str:
        """Regular expression of the texts that a deployment accepts; empty for any text."""
        text, words = self.option.text, [word + ".*" * word.endswith(":") for word in self.option.words]
        if not text or not text.pattern:
            return ""
        empty = [""] if self.default == "" else []
        return f"^(?:{'|'.join([*empty, *words, text.pattern])})$"

    def is_word(self, value: str) -> bool:
        """Whether the value is a special word instead of a file."""
        return any(value == word or (word.endswith(":") and value.startswith(word)) for word in self.option.words)

    @property
    def help_of_flag(self) -> str:
        """The help text on the command line, where a list is a repeated flag. A deployment's form shows lists by
        itself."""
        return f"{self.option.help.removesuffix('.')}; may be repeated." if self.many else self.option.help


def parameters(request: type[Request]) -> tuple[Parameter, ...]:
    """Returns the parameters of a request in the order of its fields, required ones first."""
    hints = get_type_hints(request, include_extras=True)
    found = [_parameter(field, hints[field.name]) for field in dataclasses.fields(request)]
    return tuple(sorted(found, key=lambda parameter: not parameter.required))


def read_request(request: type[Q], values: dict[str, Any]) -> Q:
    """Build a request from a caller's values. Lists become tuples, and null becomes the default if null is not
    allowed."""
    given: dict[str, Any] = {}
    for parameter in parameters(request):
        value = values.get(parameter.name)
        _check(parameter, value)
        if parameter.many:
            given[parameter.name] = tuple(dict.fromkeys(value or ()))
        elif isinstance(value, datetime):
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            given[parameter.name] = moment.date() if parameter.kind is date else moment
        elif value is not None:
            given[parameter.name] = value
    return request(**given)


def read_names(request: type[Q], values: dict[str, Any], settings: Settings) -> Q:
    """`read_request` for a deployment, whose callers give names instead of paths. Raises `BadInput` or `NotFound` if a
    name leads out of its folder or to no file."""
    located = dict(values)
    for parameter in files(request):
        value = values.get(parameter.name)
        if parameter.many:
            located[parameter.name] = [_located(parameter, str(one), settings) for one in value or ()]
        elif value is not None:
            located[parameter.name] = _located(parameter, str(value), settings)
    return read_request(request, located)


def files(request: type[Request]) -> tuple[Parameter, ...]:
    """Returns the parameters that name files or outputs."""
    return tuple(one for one in parameters(request) if one.option.text and one.option.text.find)


def _located(parameter: Parameter, name: str, settings: Settings) -> Any:
    text = parameter.option.text
    if parameter.is_word(name) or text is None or text.find is None or text.place is None:
        return name
    return parameter.kind(text.find(text.place(settings), name))


def _check(parameter: Parameter, value: Any) -> None:
    check = parameter.option.text.check if parameter.option.text else None
    for one in value or () if parameter.many else filter(None, [value]):
        if check:
            check(str(one))


def _parameter(field: dataclasses.Field[Any], hint: Any) -> Parameter:
    """Returns the parameter of a field. Raises `TypeError` if the field has no `Option`, or if its text has no kind."""
    plain, *said = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    option = next((one for one in said if isinstance(one, Option)), None)
    if option is None:
        raise TypeError(f"{field.name} has no Option")
    many = get_origin(plain) is tuple
    inner = get_args(plain)[0] if many else plain
    null = type(None) in get_args(inner)
    kind = next(one for one in get_args(inner) if one is not type(None)) if null else inner
    if kind in (str, Path) and option.text is None:
        raise TypeError(f"{field.name} does not say what its text names")
    if (kind is Path) > (option.text in (FILE, OUTPUT)):
        raise TypeError(f"{field.name} is a path, and neither a file that is read nor an output")
    return Parameter(name=field.name, kind=kind, many=many, may_be_null=null, default=field.default, option=option)


def choices(parameter: Parameter) -> tuple[str, ...]:
    """Returns the values of an enum parameter; empty for other types."""
    return tuple(parameter.kind) if issubclass(parameter.kind, StrEnum) else ()
