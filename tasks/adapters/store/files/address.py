"""What a store is called where its keys may not be seen."""

from __future__ import annotations

from urllib.parse import unquote


def shown(root: str) -> str:
    """A store's place without the key that its URL may hold (`s3://KEY:SECRET@bucket/…`): for messages and views."""
    scheme, mark, rest = root.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}" if mark else root


def secrets_of(root: str) -> tuple[str, ...]:
    """What of a store's URL nobody may see, as it is written and as it is meant."""
    authority = root.partition("://")[2].partition("/")[0]
    held = authority.rpartition("@")[0]
    return tuple(filter(None, (held, *held.split(":"), unquote(held), *map(unquote, held.split(":")))))


def without(secrets: tuple[str, ...], text: str) -> str:
    """`text` with an ellipsis for each of them."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "…")
    return text
