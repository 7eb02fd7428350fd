"""JSON out of a model's text, without any provider's JSON mode: the first balanced value that is right counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tasks.methods.conversation import Unusable

DEAD_ENDS = 1000

Value = TypeVar("Value")


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Every balanced object in a text, from the left, whatever stands around it; none inside another.

    The search ends after `DEAD_ENDS` braces that lead nowhere: such a text is a model's loop.
    """
    decoder, at, dead_ends = json.JSONDecoder(), 0, 0
    while dead_ends < DEAD_ENDS and (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at, dead_ends = at + 1, dead_ends + 1
        else:
            yield value


def first_object(text: str, read: Callable[[dict[str, Any]], Value]) -> Value:
    """What `read` makes of the first object that it can; else `Unusable`, with what is wrong with the first one."""
    first: Unusable | None = None
    for value in json_objects(text):
        try:
            return read(value)
        except Unusable as problem:
            first = first or problem
    raise first or Unusable("no-json", "it holds no JSON object")
