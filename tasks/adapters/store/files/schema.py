"""Derives Arrow schemas from domain dataclasses; converts rows to Arrow tables and back.

| in the dataclass            | in Arrow                     |
| --------------------------- | ---------------------------- |
| `str`, a NewType, a StrEnum | string (`text.storable`)     |
| `int`, `float`, `bool`      | int64, double, bool          |
| `datetime` (aware)          | timestamp in µs, UTC         |
| `X | None`                  | the same, nullable           |
| `tuple[X, ...]`             | list                         |
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Any, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import pyarrow as pa

from tasks.adapters.store.files.text import storable, unstorable
from tasks.domain.errors import BadInput, StoreError
from tasks.domain.provenance import Provenance
from tasks.domain.syntax import syntax_tree

Row = TypeVar("Row")
Convert = Callable[[Any], Any]
DESCRIPTION = b"description"
"""Metadata key of a schema and its fields that holds the docstring."""


@dataclass(frozen=True, slots=True)
class Column:
    """One dataclass field as a column."""

    name: str
    arrow: pa.DataType
    nullable: bool
    encode: Convert
    decode: Convert
    default: Any
    """Value for rows of older files without the column; `MISSING` if there is none."""
    hint: Any
    """Resolved type of the field."""
    owner: type[Any]
    """The dataclass."""

    @property
    def text(self) -> str:
        """The docstring below the field, else that of its type.

        Computed on access: reading the source takes 5 ms per table, and readers of rows do not need it.
        """
        return _texts(cast(Hashable, self.owner)).get(self.name, "") or _kind_text(self.hint)

    @property
    def field(self) -> pa.Field:
        return pa.field(self.name, self.arrow, self.nullable, metadata={DESCRIPTION: self.text.encode()})


def columns(row_type: type[Any]) -> tuple[Column, ...]:
    """Return the columns of a dataclass in field order. Raises `TypeError` for a type that is
    not in the table above."""
    return _columns(cast(Hashable, row_type))


@cache
def _columns(row_type: Any) -> tuple[Column, ...]:
    hints = get_type_hints(row_type)
    return tuple(_column(field, hints[field.name], row_type) for field in fields(row_type))


def arrow_schema(row_type: type[Any]) -> pa.Schema:
    """Return the schema of a table, with the docstrings of the class and its fields as `description` metadata."""
    return _arrow_schema(cast(Hashable, row_type))


@cache
def _arrow_schema(row_type: Any) -> pa.Schema:
    metadata = {DESCRIPTION: inspect.cleandoc(row_type.__doc__ or "").encode()}
    return pa.schema([column.field for column in columns(row_type)], metadata=metadata)


def to_arrow(rows: Sequence[Any], row_type: type[Any]) -> pa.Table:
    """Return `rows` as a table with exactly the columns of `row_type`. Raises `BadInput` for a
    value it cannot store."""
    arrays = [_array(rows, column, row_type) for column in columns(row_type)]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(row_type))


def from_arrow(table: pa.Table, row_type: type[Row]) -> tuple[Row, ...]:
    """Return the rows of a table. Ignores columns that `row_type` does not have.

    A missing or null value becomes the field's default, or None for a nullable field; otherwise raises `StoreError`.
    """
    wanted = columns(row_type)
    values = [_values(table, column, row_type) for column in wanted]
    names = [column.name for column in wanted]
    return tuple(row_type(**dict(zip(names, row, strict=True))) for row in zip(*values, strict=True))


@cache
def _texts(row_type: Any) -> dict[str, str]:
    return _field_texts(Provenance) | _field_texts(row_type)


def _field_texts(row_type: type[Any]) -> dict[str, str]:
    """Return the docstring below each field, read from the source of the class."""
    body = _classes(sys.modules[row_type.__module__])[row_type.__qualname__]
    texts: dict[str, str] = {}
    for node, after in pairwise(body.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and (text := _docstring(after)):
            texts[node.target.id] = text
    return texts


def _kind_text(hint: Any) -> str:
    """Return the docstring of a field's NewType or enum, for fields without their own docstring."""
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, NewType):
            return _texts_below(sys.modules[kind.__module__]).get(kind.__name__, "")
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    return ""


@cache
def _tree(module: types.ModuleType) -> ast.Module:
    return syntax_tree(inspect.getsource(module))


@cache
def _classes(module: types.ModuleType) -> dict[str, ast.ClassDef]:
    """Return the classes of a module by qualified name.

    `inspect.getsource` of a class parses the whole module on every call, and without the lock of `syntax_tree`.
    """
    return dict(_classes_in(_tree(module), ""))


def _classes_in(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield prefix + name, child
                yield from _classes_in(child, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _classes_in(child, f"{prefix}{name}.<locals>.")
            case ast.stmt():
                yield from _classes_in(child, prefix)


@cache
def _texts_below(module: types.ModuleType) -> dict[str, str]:
    """Return the docstring below each assigned name."""
    body = _tree(module).body
    return {
        node.targets[0].id: _docstring(after)
        for node, after in pairwise(body)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _docstring(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


def _column(field: Field[Any], hint: Any, owner: type[Any]) -> Column:
    inner, nullable = _optional(hint)
    arrow, encode, decode = _storage(inner)
    default = field.default if field.default is not MISSING else (None if nullable else MISSING)
    return Column(field.name, arrow, nullable, encode, decode, default, hint, owner)


def _optional(hint: Any) -> tuple[Any, bool]:
    """Split `X | None` into (X, True); a type without None into (type, False)."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    kept = [arg for arg in get_args(hint) if arg is not types.NoneType]
    if len(kept) != 1:
        raise TypeError(f"a column has one type, not {hint}")
    return kept[0], True


def _storage(hint: Any) -> tuple[pa.DataType, Convert, Convert]:
    """Return the Arrow type, and the conversions to and from Arrow values."""
    plain = getattr(hint, "__supertype__", hint)
    if plain is not hint:
        return _storage(plain)
    if get_origin(hint) is tuple:
        return _list_storage(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return pa.string(), lambda value: hint(value).value, hint
    if hint in _PLAIN:
        return _PLAIN[hint]
    raise TypeError(f"no column type for {hint}")


def _list_storage(args: tuple[Any, ...]) -> tuple[pa.DataType, Convert, Convert]:
    if len(args) != 2 or args[1] is not Ellipsis:
        raise TypeError(f"a list column is tuple[X, ...], not tuple{list(args)}")
    item, encode, decode = _storage(args[0])
    return pa.list_(item), lambda many: [encode(one) for one in many], lambda many: tuple(decode(one) for one in many)


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return moment.astimezone(UTC)


def _same(value: Any) -> Any:
    return value


_PLAIN: dict[Any, tuple[pa.DataType, Convert, Convert]] = {
    str: (pa.string(), storable, unstorable),
    int: (pa.int64(), _same, _same),
    float: (pa.float64(), float, _same),
    bool: (pa.bool_(), bool, _same),
    datetime: (pa.timestamp("us", tz="UTC"), _utc, _utc),
}


def _array(rows: Sequence[Any], column: Column, row_type: type[Any]) -> pa.Array:
    try:
        values = [_encoded(getattr(row, column.name), column) for row in rows]
        return pa.array(values, type=column.arrow)
    except (ValueError, TypeError, AttributeError, OverflowError, pa.ArrowException) as error:
        raise BadInput(f"{row_type.__name__}.{column.name} cannot be stored: {error}") from error


def _encoded(value: Any, column: Column) -> Any:
    if value is not None:
        return column.encode(value)
    if column.nullable:
        return None
    raise ValueError("it is null")


def _values(table: pa.Table, column: Column, row_type: type[Any]) -> list[Any]:
    if column.name not in table.column_names:
        return [_absent(column, row_type)] * table.num_rows
    stored = table.column(column.name).to_pylist()
    try:
        return [_decoded(value, column, row_type) for value in stored]
    except ValueError as error:
        hint = "the row was written by a newer version of this project; update it"
        raise StoreError(f"{row_type.__name__}.{column.name}: {error}", hint=hint) from error


def _decoded(value: Any, column: Column, row_type: type[Any]) -> Any:
    if value is not None:
        return column.decode(value)
    return None if column.nullable else _absent(column, row_type)


def _absent(column: Column, row_type: type[Any]) -> Any:
    if column.default is not MISSING:
        return column.default
    hint = "a column added later needs a default or must allow null"
    raise StoreError(f"{row_type.__name__}.{column.name} is missing in a stored row", hint=hint)
