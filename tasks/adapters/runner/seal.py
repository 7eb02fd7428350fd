"""The host's end of the seal: only lines that the runner's keeper wrote, in the order in which it wrote them.

A line is `<code> <record>`: the code is a keyed hash over the code before and the record, so a line that is put in is
passed over, and whatever follows a line that was changed or taken out is no line of the keeper's any more.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

SEAL = "seal"
"""Name of the file that hands the seal to the keeper, which removes it."""

BYTES = 32
CODE_BYTES = 16


def new_seal(folder: Path) -> bytes:
    """A seal for one run, also in a file of `folder` for the keeper."""
    seal = secrets.token_bytes(BYTES)
    (folder / SEAL).write_bytes(seal)
    return seal


def sealed(records: Iterable[bytes], seal: bytes) -> Iterator[bytes]:
    """What a keeper makes of records: lines."""
    code = b""
    for record in records:
        code = _code(code, record, seal)
        yield code + b" " + record + b"\n"


def unsealed(lines: Iterable[bytes], seal: bytes) -> Iterator[bytes | None]:
    """The record of each line, null where it is none of the keeper's."""
    last = b""
    for line in lines:
        code, _, record = line.rstrip(b"\n").partition(b" ")
        genuine = line.endswith(b"\n") and hmac.compare_digest(code, _code(last, record, seal))
        last = code if genuine else last
        yield record if genuine else None


def _code(last: bytes, record: bytes, seal: bytes) -> bytes:
    return hashlib.blake2b(last + record, key=seal, digest_size=CODE_BYTES).hexdigest().encode()
