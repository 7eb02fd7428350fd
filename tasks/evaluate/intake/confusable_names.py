"""Detects names that readers of a table could mistake for another name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_WORD = re.compile(r"[^\W\d_]+")
_LIKE_LATIN = {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK", "LISU"}
"""Scripts with letters that look like Latin ones."""
_LAST_PLAIN_LATIN = "\u024f"
"""Letters above this one are phonetic and small capital forms."""
_ASCII_TWINS = str.maketrans("I1|0", "lllo")


def disguise_of(name: str, reserved: Collection[str]) -> str:
    """Returns why a name may be mistaken for another one, or an empty string if it is harmless.

    `reserved` are names that no other name may resemble.
    """
    if any(unicodedata.category(letter)[0] == "C" or letter in "\u2028\u2029" for letter in name):
        return "it has characters that nobody sees"
    if name != " ".join(name.split()):
        return "it has blanks that nobody sees"
    if name != unicodedata.normalize("NFKC", name):
        return "it has letters that stand for plainer ones"
    if any(map(_mixed, _WORD.findall(name))):
        return "it has a word with letters of other alphabets that look like Latin ones"
    if name not in reserved and name.translate(_ASCII_TWINS).casefold() in {one.casefold() for one in reserved}:
        return "it looks like the name of a control"
    return ""


def _mixed(word: str) -> bool:
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    odd = any(letter > _LAST_PLAIN_LATIN for letter in word if unicodedata.name(letter, "").startswith("LATIN"))
    return odd or ("LATIN" in scripts and not scripts.isdisjoint(_LIKE_LATIN))
