"""How a request says what it can be asked for, and how a request is read from what a caller gave.

A field with an `Option` is a parameter, with one text of help; the type says what it takes, the default that it may be
left out.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

Q = TypeVar("Q", bound="Request")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How a field is asked for."""

    help: str
    flag: str = ""
    """On the command line, where it is not `--field-name`; `ARGUMENT` for what stands there without a flag."""
    least: float | None = None


ARGUMENT = "argument"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a story is asked for."""

    @property
    def title(self) -> str:
        """What its flow run is called."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a request."""

    name: str
    kind: Any
    """What one value is: `str`, `int`, an enum …"""
    many: bool
    """Whether there may be several."""
    may_be_null: bool
    default: Any
    """`dataclasses.MISSING` where it has to be given."""
    option: Option

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    @property
    def help_of_flag(self) -> str:
        """On the command line, where a list is a flag that is given several times; a form shows that by itself."""
        return f"{self.option.help.removesuffix('.')}; may be repeated." if self.many else self.option.help


def parameters(request: type[Request]) -> tuple[Parameter, ...]:
    """The parameters of a request, in the order of its fields, those that have to be given first."""
    hints = get_type_hints(request, include_extras=True)
    found = [_parameter(field, hints[field.name]) for field in dataclasses.fields(request)]
    return tuple(sorted(found, key=lambda parameter: not parameter.required))


def read_request(request: type[Q], values: dict[str, Any]) -> Q:
    """A request from what a caller gave; lists become tuples, and null, where it may not be, the default."""
    given: dict[str, Any] = {}
    for parameter in parameters(request):
        value = values.get(parameter.name)
        if parameter.many:
            given[parameter.name] = tuple(dict.fromkeys(value or ()))
        elif isinstance(value, datetime):
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            given[parameter.name] = moment.date() if parameter.kind is date else moment
        elif value is not None:
            given[parameter.name] = value
    return request(**given)


def _parameter(field: dataclasses.Field[Any], hint: Any) -> Parameter:
    """`TypeError` for a field without an `Option`."""
    plain, *said = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    option = next((one for one in said if isinstance(one, Option)), None)
    if option is None:
        raise TypeError(f"{field.name} has no Option")
    many = get_origin(plain) is tuple
    inner = get_args(plain)[0] if many else plain
    null = type(None) in get_args(inner)
    kind = next(one for one in get_args(inner) if one is not type(None)) if null else inner
    return Parameter(name=field.name, kind=kind, many=many, may_be_null=null, default=field.default, option=option)


def choices(parameter: Parameter) -> tuple[str, ...]:
    """What may be chosen, where that is limited."""
    return tuple(parameter.kind) if issubclass(parameter.kind, StrEnum) else ()
