"""JSON out of a model's text, without any provider's JSON mode: the first balanced value that is right counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tasks.adapters.llm.base import Message, Model, Reply, user

DEAD_ENDS = 1000

Value = TypeVar("Value")
Check = Callable[[Any], Value]
"""Turns JSON into what is wanted; raises `ValueError` with words that the model can act on."""


@dataclass(frozen=True, slots=True)
class Understood(Generic[Value]):
    """What a model said in the end."""

    value: Value | None
    """Null where it never said anything that passed the check."""
    replies: tuple[Reply, ...]
    complaints: tuple[str, ...]
    """What was wrong with each reply that was asked again for, in order."""


def json_values(text: str) -> Iterator[Any]:
    """Every balanced object or list in a text, from the left, whatever stands around it; none inside another.

    The search ends after `DEAD_ENDS` brackets that lead nowhere: such a text is a model's loop.
    """
    decoder, at, dead_ends = json.JSONDecoder(), 0, 0
    while dead_ends < DEAD_ENDS and (at := _next_opening(text, at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at, dead_ends = at + 1, dead_ends + 1
        else:
            yield value


def first_json(text: str, check: Check[Value]) -> Value:
    """The first value in a text that passes; `ValueError` says why the first one that is there does not."""
    complaint = ""
    for value in json_values(text):
        try:
            return check(value)
        except ValueError as problem:
            complaint = complaint or str(problem)
    raise ValueError(complaint or "the reply holds no JSON")


def ask_for_json(
    model: Model,
    messages: Sequence[Message],
    check: Check[Value],
    *,
    again: Callable[[str], str],
    tries: int = 3,
    temperature: float | None = 0.0,
    sample: int = 0,
) -> Understood[Value]:
    """Ask, and ask again with `again(complaint)` as the next message, until a reply passes or `tries` are used up."""
    talk = list(messages)
    replies: list[Reply] = []
    complaints: list[str] = []
    for _ in range(tries):
        reply = model.complete(talk, temperature=temperature, sample=sample)
        replies.append(reply)
        try:
            return Understood(first_json(reply.text, check), tuple(replies), tuple(complaints))
        except ValueError as problem:
            complaints.append(str(problem))
            talk += [reply.message, user(again(str(problem)))]
    return Understood(None, tuple(replies), tuple(complaints))


def _next_opening(text: str, start: int) -> int:
    found = [at for at in (text.find("{", start), text.find("[", start)) if at >= 0]
    return min(found, default=-1)
