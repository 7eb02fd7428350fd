"""Parse JSON from a model's text without a provider's JSON mode: the first balanced object that is valid counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tasks.methods.conversation import Unusable

DEAD_ENDS = 1000

Value = TypeVar("Value")


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yields every balanced object in a text from the left, without objects inside another one.

    The search ends after `DEAD_ENDS` braces without a valid object: such a text is a loop of the model.
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
    """Returns the result of `read` for the first object that it accepts. Raises `Unusable` with the problem of the
    first object if it accepts none."""
    first: Unusable | None = None
    for value in json_objects(text):
        try:
            return read(value)
        except Unusable as problem:
            first = first or problem
    raise first or Unusable("no-json", "it holds no JSON object")
