"""What a caller said held against what arrived at the provider, parameter by parameter, as canonical JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One call. Names of parameters of its body, sorted."""

    same: tuple[str, ...]
    """Those that arrived byte for byte as they were said."""
    changed: tuple[str, ...]
    left_out: tuple[str, ...]
    """Those that did not arrive."""
    added: tuple[str, ...]
    """Those that the caller did not say."""
    size: int
    """Bytes of what arrived as it was said."""


def held(said: Mapping[str, Any], arrived: Mapping[str, Any]) -> Passed:
    """Both are bodies of the same dialect."""
    both = sorted(said.keys() & arrived.keys())
    same = tuple(name for name in both if canonical(said[name]) == canonical(arrived[name]))
    return Passed(
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
