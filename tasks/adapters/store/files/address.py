"""Removes credentials from a store's URL for messages and views."""

from __future__ import annotations

from urllib.parse import unquote


def shown(root: str) -> str:
    """Return a store's URL without the key that it may contain (`s3://KEY:SECRET@bucket/…`)."""
    scheme, mark, rest = root.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}" if mark else root


def secrets_of(root: str) -> tuple[str, ...]:
    """Return the secret parts of a store's URL, both as written and URL-decoded."""
    authority = root.partition("://")[2].partition("/")[0]
    held = authority.rpartition("@")[0]
    return tuple(filter(None, (held, *held.split(":"), unquote(held), *map(unquote, held.split(":")))))


def without(secrets: tuple[str, ...], text: str) -> str:
    """Return `text` with an ellipsis in place of each secret."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "…")
    return text
