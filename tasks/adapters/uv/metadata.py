"""Turns the checkout's own metadata into a small wheel.

Takes a wheel of the checkout, removes everything but its metadata, and adds a `.pth` file that names `/testbed`. For
`importlib.metadata`, entry points and console scripts, this works like an editable install, with every build backend
and every Python. It contains no trace of the build folder.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tasks.domain.errors import BuildFailed

TESTBED = PurePosixPath("/testbed")
PTH = "__testbed__.pth"


def pointing_wheel(wheel: Path, folder: Path, source_roots: Iterable[str]) -> Path:
    """Write a wheel of the same name into `folder`, with the metadata of `wheel` and a path to the checkout."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if _is_metadata(name)}
    info = next((name.split("/")[0] for name in files if name.endswith(".dist-info/METADATA")), None)
    if info is None:
        raise BuildFailed(f"{wheel.name} has no metadata", hint="the project's build backend is broken at this commit")
    files[PTH] = pth(source_roots).encode()
    files[f"{info}/WHEEL"] = _pure(files[f"{info}/WHEEL"])
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    return _write(folder / _pure_name(wheel.name), files)


def _is_metadata(name: str) -> bool:
    parts = name.split("/")
    return len(parts) > 1 and parts[0].endswith(".dist-info") and parts[1] not in ("RECORD", "direct_url.json")


def pth(source_roots: Iterable[str]) -> str:
    """Return `.pth` text that puts the source roots of the checkout at `/testbed` on the import path."""
    return "".join(f"{TESTBED / root}\n" for root in source_roots)


def _pure_name(name: str) -> str:
    """`x-1.0-cp39-cp39-linux_x86_64.whl` → `x-1.0-py3-none-any.whl`: the new wheel contains no compiled code."""
    distribution, version = name.split("-")[:2]
    return f"{distribution}-{version}-py3-none-any.whl"


def _pure(text: bytes) -> bytes:
    lines = [line for line in text.decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    return "\n".join([*lines, "Root-Is-Purelib: true", "Tag: py3-none-any", ""]).encode()


def _record(files: dict[str, bytes], own: str) -> bytes:
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(files.items()) if name != own]
    return "\n".join([*rows, f"{own},,", ""]).encode()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _write(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(name, data)
    return path
