"""Compares a caller's request with the one that reached the provider, parameter by parameter, as canonical JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDiff:
    """The comparison of one call: names of parameters of its body, sorted."""

    same: tuple[str, ...]
    """Those that arrived byte for byte."""
    changed: tuple[str, ...]
    left_out: tuple[str, ...]
    """Those that did not arrive."""
    added: tuple[str, ...]
    """Those that the caller did not send."""
    size: int
    """Bytes of the parameters in `same`."""


def diff_requests(said: Mapping[str, Any], arrived: Mapping[str, Any]) -> RequestDiff:
    """Returns how two request bodies of the same dialect differ."""
    both = sorted(said.keys() & arrived.keys())
    same = tuple(name for name in both if canonical(said[name]) == canonical(arrived[name]))
    return RequestDiff(
        same=same,
        changed=tuple(name for name in both if name not in same),
        left_out=tuple(sorted(said.keys() - arrived.keys())),
        added=tuple(sorted(arrived.keys() - said.keys())),
        size=sum(len(canonical(said[name])) for name in same),
    )


def canonical(value: object) -> bytes:
    """The one spelling of a JSON value: keys sorted, no spaces, half characters as they are."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def values(body: object, name: str) -> Iterator[object]:
    """All values under a key, however deep: `signature`, `encrypted_content`, `cache_control`."""
    if isinstance(body, dict):
        if name in body:
            yield body[name]
        for value in body.values():
            yield from values(value, name)
    elif isinstance(body, list):
        for value in body:
            yield from values(value, name)
