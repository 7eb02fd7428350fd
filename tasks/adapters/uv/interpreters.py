"""Finds the CPythons of this machine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from tasks.adapters.coordination.locks import atomic_write
from tasks.adapters.uv.plan import Interpreter
from tasks.domain.errors import NotFound
from tasks.domain.names import content_key

_ASK = "import json, platform, sys; print(json.dumps([platform.python_implementation(), sys.executable, '%d.%d.%d' % sys.version_info[:3], sys.base_prefix, sys.prefix]))"  # noqa: E501
_ASK_SECONDS = 20
KEPT = "interpreters.json"
"""File in the cache with the interpreters of this machine."""


def find_interpreters(environ: Mapping[str, str], uv: Path | None = None) -> tuple[Interpreter, ...]:
    """Return every CPython that pyenv or uv find, newest first, at most one per minor version.

    Prefers the newest patch release, then an interpreter with a prefix of its own over the system's, since a sandbox
    mounts the prefix.
    """
    found: dict[str, Interpreter] = {}
    for path in sorted({path.resolve() for path in (*_pyenv(environ), *_uv(environ, uv))}):
        interpreter = ask(path)
        if interpreter and _better(interpreter, found.get(interpreter.minor)):
            found[interpreter.minor] = interpreter
    return tuple(sorted(found.values(), key=lambda one: one.number, reverse=True))


@lru_cache(maxsize=4)
def machine_interpreters(cache: Path | None = None) -> tuple[Interpreter, ...]:
    """`find_interpreters` for this process's environment, cached: the search starts every candidate.

    With `cache`, a folder, the result is also cached for other processes. It is valid while the searched folders and
    the interpreters do not change.
    """
    uv = find_uv()
    if cache is None:
        return find_interpreters(os.environ, uv)
    kept = cache / KEPT
    known = _kept(kept, _places(os.environ, uv))
    if known is None:
        known = find_interpreters(os.environ, uv)
        _keep(kept, _places(os.environ, uv), known)
    return known


def _kept(file: Path, places: str) -> tuple[Interpreter, ...] | None:
    """Return the cached interpreters; None if any folder or interpreter changed."""
    try:
        facts = json.loads(file.read_text())
        found = tuple(
            Interpreter(path=Path(path), version=version, base_prefix=Path(base))
            for path, version, base in facts["found"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if facts.get("places") == places and facts.get("programs") == _programs(found) else None


def _keep(file: Path, places: str, found: tuple[Interpreter, ...]) -> None:
    rows = [[str(one.path), one.version, str(one.base_prefix)] for one in found]
    with atomic_write(file) as half:
        half.write_text(json.dumps({"places": places, "programs": _programs(found), "found": rows}))


def _places(environ: Mapping[str, str], uv: Path) -> str:
    """Return a key that changes if a program is added to or removed from a searched folder, or uv changes."""
    data = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "/")) / ".local" / "share")
    managed = environ.get("UV_PYTHON_INSTALL_DIR") or f"{data}/uv/python"
    folders = [*environ.get("PATH", "").split(":"), str(_pyenv_root(environ) / "versions"), managed]
    return content_key("places", [[folder, _stamp(Path(folder))] for folder in folders], _stamp(uv))


def _programs(found: Iterable[Interpreter]) -> str:
    return content_key("programs", [[str(one.path), _stamp(one.path)] for one in found])


def _stamp(path: Path) -> list[int]:
    """Return values that differ between two states of a file or folder; empty if it does not exist."""
    try:
        facts = path.stat()
    except OSError:
        return []
    return [facts.st_ino, facts.st_mtime_ns, facts.st_size if path.is_file() else 0]


def _better(new: Interpreter, old: Interpreter | None) -> bool:
    return old is None or _rank(new) > _rank(old)


def _rank(interpreter: Interpreter) -> tuple[bool, tuple[int, ...]]:
    return interpreter.base_prefix != Path("/usr"), interpreter.number


def pick(interpreters: Iterable[Interpreter], minor: str) -> Interpreter:
    """Return the interpreter of one minor version. Raises `NotFound` if this machine has none."""
    have = tuple(interpreters)
    for interpreter in have:
        if interpreter.minor == minor:
            return interpreter
    listed = ", ".join(one.minor for one in have) or "none"
    hint = f"`pyenv install {minor}` or `uv python install {minor}`"
    raise NotFound(f"no CPython {minor} on this machine (found: {listed})", hint=hint)


def ask(path: Path) -> Interpreter | None:
    """Query an interpreter; None if it does not start, is not CPython, or is a virtual environment."""
    argv = [str(path), "-I", "-S", "-c", _ASK]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True)
        kind, executable, version, base, prefix = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    if kind != "CPython" or base != prefix or version.startswith("2."):
        return None
    return Interpreter(path=Path(executable), version=version, base_prefix=Path(base))


def _pyenv(environ: Mapping[str, str]) -> list[Path]:
    return sorted(_pyenv_root(environ).glob("versions/*/bin/python"))


def _pyenv_root(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME", "/")) / ".pyenv")


def _uv(environ: Mapping[str, str], uv: Path | None) -> list[Path]:
    if uv is None:
        return []
    argv = [str(uv), "python", "list", "--only-installed", "--output-format", "json"]
    # pyenv's shims are scripts that start dozens of processes each; their interpreters are found without them.
    path = ":".join(folder for folder in environ.get("PATH", "").split(":") if not folder.endswith("/shims"))
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=True,
            env=dict(environ) | {"PATH": path},
            cwd="/",
        )
        rows = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return [Path(row["path"]) for row in rows if "/shims/" not in row["path"]]


def find_uv() -> Path:
    """Return the uv that is installed with this project. Raises `NotFound` if it is missing."""
    import uv

    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise NotFound("uv is not installed beside this project", hint="pip install uv") from error
