"""Closing keywords in prose: which issues does a text say that it closes?

Taken: close, fix, resolve and their forms, in any case, with or without a colon; `#12`, `GH-12`, `owner/name#12`,
addresses of github.com, Markdown links to them; lists of these. Not taken: what stands in an HTML comment or in code,
a keyword inside another word (`prefix #12`), and one that is denied (`does not fix #12`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"\d{1,18}(?!\d)"
"""Python makes no number of more than 4,300 digits, and GitHub none of more than ten."""
_REPO = r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+"
_ADDRESS = rf"(?:https?://)?(?:www\.)?github\.com/{_REPO}/(?:issues|pull)/{_NUMBER}(?:[\#?][\w=&-]*)?"
_REFERENCE = rf"(?:\[[^\]\n]*\]\({_ADDRESS}\)|{_ADDRESS}|(?:{_REPO})?\#{_NUMBER}\b|\bGH-{_NUMBER}\b)"
_JOIN = r"(?:\s*(?:,\s*and\b|,\s*&|,|\band\b|&|\+|/)\s*(?:(?:also\s+)?{word}\s*:?\s+)?)"
_WORD = r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)"
_NOUN = r"(?:(?:the\s+)?(?:issues?|bugs?|tickets?)\s*:?\s*)?"
_FIRST = r"[cCfFrR](?<![\w-].)(?:(?<=c)lose[sd]?|(?<=f)ix(?:e[sd])?|(?<=r)esolve[sd]?)\b"
"""`_WORD` in a form that lets the engine skip to the letters that it can start with: texts are long, words are rare."""

_CLOSING = re.compile(
    rf"{_FIRST}\s*:?\s*{_NOUN}(?P<refs>{_REFERENCE}(?:{_JOIN.format(word=_WORD)}{_NOUN}{_REFERENCE})*)", re.IGNORECASE
)
_DENIAL = re.compile(r"(?:\bnot|n['’]t|\bnever)\s+(?:\w+ly\s+)?\Z", re.IGNORECASE)
_DENIAL_REACH = 40
_ONE = re.compile(
    rf"github\.com/(?P<where>{_REPO})/(?P<kind>issues|pull)/(?P<at>{_NUMBER})"
    rf"|(?P<repo>{_REPO})?\#(?P<number>{_NUMBER})\b|\bGH-(?P<gh>{_NUMBER})\b",
    re.IGNORECASE,
)
_LINK = re.compile(rf"\[[^\]\n]*\]\((?P<address>{_ADDRESS})\)", re.IGNORECASE)
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|^[ ]{0,3}(?P<fence>`{3,}|~{3,}).*?(?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<ticks>`+)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`)+?(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_HINT = re.compile(r"[#/-]\d")
"""What every reference has: most texts need no further look."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An issue that a text says it closes."""

    repo: str | None
    """`owner/name` as written; null where only a number was."""
    number: int
    is_pull_request: bool = False
    """Whether the address says so."""


def closing_mentions(text: str) -> tuple[Mention, ...]:
    """The distinct mentions, in the order of the text. Of a Markdown link the address counts, not the label."""
    if not _HINT.search(text):
        return ()
    shown = visible(text)
    spans = (match["refs"] for match in _CLOSING.finditer(shown) if not _denied(shown, match.start()))
    found = (_mention(one) for span in spans for one in _ONE.finditer(_LINK.sub(r"\g<address>", span)))
    return tuple(dict.fromkeys(found))


def visible(text: str) -> str:
    """`text` without HTML comments and code; a space stands for each."""
    return _HIDDEN.sub(" ", text) if "`" in text or "<!--" in text or "~~~" in text else text


def _denied(text: str, at: int) -> bool:
    """Whether the word at `at` follows a `not`."""
    return _DENIAL.search(text[max(0, at - _DENIAL_REACH) : at]) is not None


def _mention(match: re.Match[str]) -> Mention:
    if match["where"]:
        return Mention(match["where"], int(match["at"]), match["kind"].lower() == "pull")
    return Mention(match["repo"], int(match["number"] or match["gh"]))
