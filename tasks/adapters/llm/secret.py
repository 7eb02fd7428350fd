"""A key that does not show itself."""

from __future__ import annotations


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
        """`text` with the key taken out, for what a provider echoes."""
        return text.replace(self._text, "[key]") if self._text else text
