"""Text as it is shown to people and models."""

from __future__ import annotations


def without_middle(text: str, characters: int) -> str:
    """`text`, its middle left out where it is longer than `characters`, with a line that says so."""
    if len(text) <= characters:
        return text
    half = characters // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
