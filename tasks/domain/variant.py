"""Experiments by name: `zero_shot_plus[context=lucene,temperature=0.7]` is a method with changed parameters.

Two variants are equal if all their parameters are equal. Each value has one canonical spelling, the order does not
matter, and default values are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from tasks.domain.errors import UsageError
from tasks.domain.localization import TOP_N, RetrieverKind
from tasks.domain.names import is_word

STEPS = ("judge", "locate", "search", "write")
"""Parts of methods that may have a model of their own. `locate` is the agent that finds a method's context."""
CONTEXT_TOKENS = 27_000
"""Default number of tokens of retrieved files in one prompt."""
AGENT = "agent"
"""Context found by the localization agent."""


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _number(text: str) -> float:
    number = float(text)
    if number < 0 or not isfinite(number):
        raise ValueError
    return number


def _word(text: str) -> str:
    if not is_word(text):
        raise ValueError
    return text


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return read


PARAMETERS: Mapping[str, Callable[[str], object]] = {
    "calls": _count,
    "context": _one_of(*RetrieverKind, AGENT),
    "context_tokens": _count,
    "filter": _one_of("off"),
    "format": _one_of("paper"),
    "max_tokens": _count,
    "reasoning_effort": _word,
    "reasoning_tokens": _count,
    "samples": _count,
    "seed": _whole,
    "stop": _word,
    "temperature": _number,
    "test_command": _one_of("told", "untold"),
    "tools": _one_of("text"),
    "top_n": _count,
    "top_p": _number,
    "validation": _one_of("tests"),
    "verbosity": _word,
    **dict.fromkeys(STEPS, _word),
}
"""Name of a parameter → parser of its values; raises `ValueError` for invalid ones. `judge=MODEL` sets a step's
model."""

RANKED = frozenset({"context", "locate", "top_n"})
"""Parameters of the file ranking."""
WRITTEN = frozenset({"format", "test_command"})
"""Parameters for the notation and execution of tests."""
ANYWAY = {"context": str(RetrieverKind.CODE), "context_tokens": str(CONTEXT_TOKENS), "top_n": str(TOP_N)}
"""Default values of all methods."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The changed parameters of a method: name → value in canonical spelling, sorted by name."""

    parameters: tuple[tuple[str, str], ...] = ()

    def label(self, method: str) -> str:
        """Returns the name under which its work is counted."""
        said = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{method}[{said}]" if said else method

    def __getitem__(self, name: str) -> str | None:
        """Returns the value of a parameter; None if it is not changed."""
        return dict(self.parameters).get(name)

    def without(self, name: str) -> Variant:
        """Returns the variant without one parameter."""
        return Variant(tuple(pair for pair in self.parameters if pair[0] != name))

    def count(self, name: str) -> int | None:
        return None if self[name] is None else int(self[name] or 0)

    def number(self, name: str) -> float | None:
        return None if self[name] is None else float(self[name] or 0)

    @property
    def located(self) -> bool:
        """Whether the localization agent finds the context."""
        return self["context"] == AGENT

    def check(self, *, modified_files: bool, script: bool) -> None:
        """Raises `UsageError` if another option of the request makes a parameter ineffective.

        With `modified_files`, methods get the files that a patch changes. With `script`, they write scripts.
        """
        asked = {name for name, _ in self.parameters}
        for option, given, unread in (("modified-files", modified_files, RANKED), ("script", script, WRITTEN)):
            if given and (idle := sorted(asked & unread)):
                hint = f"leave out {', '.join(idle)}, or {option}"
                raise UsageError(f"{', '.join(idle)} changes nothing where {option} is asked for", hint=hint)

    @property
    def models(self) -> Mapping[str, str]:
        """Returns {step: its own model}."""
        return {name: value for name, value in self.parameters if name in STEPS}


PLAIN = Variant()


def variant_of(given: Iterable[str]) -> Variant:
    """Returns the variant of `NAME=VALUE` texts. Raises `UsageError` for unknown, contradictory or invalid ones."""
    found: dict[str, str] = {}
    for one in given:
        name, _, text = one.partition("=")
        if name not in PARAMETERS:
            raise UsageError(f"there is no parameter {name!r}", hint=f"one of {', '.join(sorted(PARAMETERS))}")
        value = _spelt(name, text)
        if found.setdefault(name, value) != value:
            raise UsageError(f"{name} is to be {found[name]} and {value}", hint="make two sweeps of it")
    return Variant(tuple(sorted((name, value) for name, value in found.items() if ANYWAY.get(name) != value)))


def _spelt(name: str, text: str) -> str:
    """Returns the value in canonical spelling: 0.70 and .7 are 0.7."""
    try:
        value = PARAMETERS[name](text)
    except ValueError:
        hint = "--param temperature=0.7 --param context=lucene --param judge=gpt-4o-2024-08-06"
        raise UsageError(f"{name}={text} cannot be read", hint=hint) from None
    return f"{value:g}" if isinstance(value, float) else str(value)
