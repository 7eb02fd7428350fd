"""Text as it is shown to people and models."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum

CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)
"""Characters that move a cursor, change a colour or turn the direction of writing, and halves of a surrogate pair: all
controls of Unicode but the line feed and the tab."""
_BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def printable(text: str) -> str:
    """`text` with every character of `CONTROL` spelled out, such as `\\x1b`.

    Third parties write names, messages, patches and logs, and a terminal obeys what it finds in them.
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: str, *, err: bool = False) -> None:
    """Print a line to standard output, or to standard error, now: what reads a pipe may wait for just this line."""
    print(printable(text), file=sys.stderr if err else sys.stdout, flush=True)


def spreadsheet_cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it; anything else stays."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_BEGINS_A_FORMULA) else value


class PrintableFormatter(logging.Formatter):
    """Lines of a log as they may go to a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one text."""
        return printable(super().format(record))


def printable_log(log: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a log as they may go to a terminal. Each ends at a line feed, with or without a carriage return."""
    for line in log:
        text = line.decode("utf-8", "backslashreplace").removesuffix("\n")
        yield printable(text.removesuffix("\r")).encode() + (b"\n" if line.endswith(b"\n") else b"")


def counted(number: int, noun: str) -> str:
    """`1 run`, `2 runs`, `10,000 runs`: of nouns whose plural is an s more."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def in_words(result: object) -> str:
    """What a unit of work came to, for a line that a person reads: `executed 3, reused 1`.

    Of a dataclass the fields that are not empty, of what is several its number; anything else as it is printed.
    """
    if isinstance(result, list | tuple | set | frozenset | dict):
        return f"{len(result):,}"
    if not is_dataclass(result):
        return str(result.value) if isinstance(result, Enum) else str(result)
    told = {field.name.replace("_", " "): getattr(result, field.name) for field in fields(result)}
    return ", ".join(f"{name} {in_words(value)}" for name, value in told.items() if value not in (None, "", (), [], {}))


def without_middle(text: str, characters: int) -> str:
    """`text`, its middle left out where it is longer than `characters`, with a line that says so."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
