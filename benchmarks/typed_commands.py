"""Every command of the debugger, typed by a scripted Debug One, and what each answer has to look like.

The answers are read where the model read them: in what the last question of its conversation repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.adapters.llm.base import Message
from tasks.adapters.llm.dialects.spoken import ClientRequest

_PLACE = r"(?m)^> .+\(\d+\).+\n-> "
_FRAME = _PLACE + r"|^\*\*\* this is the (oldest|newest) frame"
_LINES = r"(?m)^ *\d+ .->\t"
_WENT_ON = r"\[(stopped|post-mortem|over)"

TYPED: tuple[tuple[str, str], ...] = (
    ("w", _PLACE),
    ("where", _PLACE),
    ("args", r"^(\w+ = |\(no arguments\))"),
    ("l", _LINES),
    ("l.", _LINES),
    ("ll", _LINES),
    ("p 6 * 7", r"^42\n"),
    ("pp [6 * 7]", r"^\[42\]\n"),
    ("whatis 6", r"^<class 'int'>\n"),
    ("locals()", r"^([.\w]+ = |\(none\))"),
    ("globals()", r"(?m)^__file__ = "),
    ("n", _WENT_ON),
    ("s", _WENT_ON),
    ("u", _FRAME),
    ("d", _FRAME),
    ("unt", _WENT_ON),
    ("restart", r"\[stopped at "),
    ("c", r"\[post-mortem at "),
    ("w", _PLACE),
    ("u", _FRAME),
    ("locals()", r"^([.\w]+ = |\(none\))"),
    ("d", _FRAME),
    ("b {place}, 6 * 7 == 41", r"^Breakpoint 1 at .+, only if 6 \* 7 == 41, hit 0 times\n-> "),
    ("restart", r"\[stopped at "),
    ("c", r"\[post-mortem at "),
    ("b {place}", r"^Breakpoint 1 at .+:\d+, hit 0 times\n-> "),
    ("restart", r"\[stopped at "),
    ("c", _WENT_ON),
    ("r", _WENT_ON),
    ("b", r"^Breakpoint 1 .+, hit "),
    ("restart", r"\[stopped at "),
    ("p 6 * 7", r"^42\n"),
)
"""What is typed, and what its answer has to match; `{place}` is a line that the fix changes. A test of these that is
stopped fails by an exception, so `c` without a breakpoint comes to a post-mortem."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One command of one debugged test."""

    typed: str
    answer: str
    right: bool


def answered(calls: Iterable[ClientRequest], opening: str, place: str) -> list[Answered]:
    """What came of the script in each conversation whose first message has `opening`."""
    longest: dict[str, tuple[Message, ...]] = {}
    for call in calls:
        first = call.messages[0].text
        if opening in first and len(call.messages) > len(longest.get(first, ())):
            longest[first] = call.messages
    return [one for messages in longest.values() for one in _checked(messages, place)]


def _checked(messages: tuple[Message, ...], place: str) -> Iterable[Answered]:
    said = [message.text for message in messages if message.role == "tool"]
    for number, (typed, expected) in enumerate(TYPED):
        answer = said[number] if number < len(said) else ""
        yield Answered(typed.format(place=place), answer, bool(re.search(expected, answer)))


def command_table(found: Mapping[str, list[Answered]]) -> str:
    """Per command of how many it was answered as it should be; then each answer that was not, in full."""
    names = list(dict.fromkeys(_name(typed) for typed, _ in TYPED))
    lines = ["", "| command | answered as it should be | of |", "| --- | --: | --: |"]
    for name in names:
        each = [one for every in found.values() for one in every if _name(one.typed) == name]
        lines.append(f"| `{name}` | {sum(one.right for one in each)} | {len(each)} |")
    wrong = [(name, one) for name, every in found.items() for one in every if not one.right]
    return "\n".join([*lines, *(f"\n{name}: `{one.typed}`:\n{one.answer or 'no answer'}" for name, one in wrong)])


def _name(typed: str) -> str:
    return typed.partition(" ")[0]
