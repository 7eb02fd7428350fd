"""A key that does not show itself."""

from __future__ import annotations

SHORTEST = 16
"""Characters of the shortest text that is taken for a key. What is shorter stands in for one where a server wants none
(`x`, `EMPTY`, `ollama`): taking that out of replies once turned every `x` of a model's code into `[key]`."""


class Secret:
    """Holds a key; `repr`, `str` and pickling do not show it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret stays in its process")

    def reveal(self) -> str:
        """The key itself: for the one header that needs it."""
        return self._text

    def scrub(self, text: str) -> str:
        """`text` with the key taken out, for what a provider echoes; unchanged where the key is too short to be one."""
        return text.replace(self._text, "[key]") if len(self._text) >= SHORTEST else text
