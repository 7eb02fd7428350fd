"""The CPythons of this machine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from tasks.adapters.uv.plan import Interpreter
from tasks.domain.errors import NotFound

_ASK = "import json, platform, sys; print(json.dumps([platform.python_implementation(), sys.executable, '%d.%d.%d' % sys.version_info[:3], sys.base_prefix, sys.prefix]))"  # noqa: E501
_ASK_SECONDS = 20


def find_interpreters(environ: Mapping[str, str], uv: Path | None = None) -> tuple[Interpreter, ...]:
    """Every CPython that pyenv or uv know, newest first; at most one for each minor version.

    Where a minor version is there more than once, the newest patch release wins, and among equals one with a
    prefix of its own over the system's (a sandbox binds the prefix).
    """
    found: dict[str, Interpreter] = {}
    for path in sorted({path.resolve() for path in (*_pyenv(environ), *_uv(environ, uv))}):
        interpreter = ask(path)
        if interpreter and _better(interpreter, found.get(interpreter.minor)):
            found[interpreter.minor] = interpreter
    return tuple(sorted(found.values(), key=lambda one: one.number, reverse=True))


@lru_cache(maxsize=1)
def machine_interpreters() -> tuple[Interpreter, ...]:
    """`find_interpreters` for this process's own environment, asked once: each candidate is started to be asked."""
    return find_interpreters(os.environ, find_uv())


def _better(new: Interpreter, old: Interpreter | None) -> bool:
    return old is None or _rank(new) > _rank(old)


def _rank(interpreter: Interpreter) -> tuple[bool, tuple[int, ...]]:
    return interpreter.base_prefix != Path("/usr"), interpreter.number


def pick(interpreters: Iterable[Interpreter], minor: str) -> Interpreter:
    """The interpreter of one minor version; `NotFound` where this machine has none."""
    have = tuple(interpreters)
    for interpreter in have:
        if interpreter.minor == minor:
            return interpreter
    listed = ", ".join(one.minor for one in have) or "none"
    hint = f"`pyenv install {minor}` or `uv python install {minor}`"
    raise NotFound(f"no CPython {minor} on this machine (found: {listed})", hint=hint)


def ask(path: Path) -> Interpreter | None:
    """What the interpreter says of itself; null where it does not start, is no CPython or is a virtual environment."""
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
    root = environ.get("PYENV_ROOT") or str(Path(environ.get("HOME", "/")) / ".pyenv")
    return sorted(Path(root).glob("versions/*/bin/python"))


def _uv(environ: Mapping[str, str], uv: Path | None) -> list[Path]:
    if uv is None:
        return []
    argv = [str(uv), "python", "list", "--only-installed", "--output-format", "json"]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True, env=dict(environ), cwd="/"
        )
        rows = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return [Path(row["path"]) for row in rows if "/shims/" not in row["path"]]


def find_uv() -> Path:
    """The uv that is installed with this project; `NotFound` where it is not."""
    import uv

    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise NotFound("uv is not installed beside this project", hint="pip install uv") from error
