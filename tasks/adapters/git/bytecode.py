"""Bytecode for trees: compiled once per commit and Python instead of at every run, and never stale.

Caches are checked by the hash of the source (PEP 552) from Python 3.7 on, so an edited file can never run old code,
although all files of a tree have one time. Python 3.6 only knows times and sizes: there `drop_bytecode` has to be
called for every file that a patch touches, and it is called for all versions alike.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tasks.domain.errors import InfrastructureError

_TAG = "import sys, importlib.util as u; print(sys.implementation.cache_tag + '-' + u.MAGIC_NUMBER[:2].hex())"
_COMPILE = """
import compileall, re, sys, warnings
warnings.simplefilter('ignore')
how = {}
if sys.version_info >= (3, 7):
    import py_compile
    how['invalidation_mode'] = py_compile.PycInvalidationMode.CHECKED_HASH
tests = re.compile(r'[/\\\\]tests[/\\\\]|[/\\\\](test_[^/]*|tests)[.]py$')
compileall.compile_dir(sys.argv[1], maxlevels=99, ddir='', quiet=2, rx=tests, **how)
"""


@dataclass(frozen=True, slots=True)
class Bytecode:
    """The Python that compiles. Compiling reads the sources and runs none of them."""

    python: Path
    tag: str
    """Names the bytecode format, `cpython-39-610d`: equal for interpreters that can read each other's caches."""

    @staticmethod
    def of(python: Path) -> Bytecode:
        """Asks the interpreter for its tag."""
        return Bytecode(python, _run(python, "-c", _TAG).strip())

    def compile(self, tree: Path) -> None:
        """Adds `__pycache__` folders to `tree`; tests (one run needs a few of thousands) and what does not compile are
        passed over."""
        _run(self.python, "-c", _COMPILE, str(tree))


def drop_bytecode(tree: Path, paths: Iterable[str]) -> int:
    """Removes the caches of the Python files `paths` (relative to `tree`); the number of caches removed."""
    dropped = 0
    for path in map(PurePosixPath, paths):
        if path.suffix == ".py":
            for cache in (tree / path.parent / "__pycache__").glob(f"{_literal(path.stem)}.*.pyc"):
                cache.unlink(missing_ok=True)
                dropped += 1
    return dropped


def _literal(stem: str) -> str:
    """`stem` with the characters that mean something in a glob made harmless."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in stem)


def _run(python: Path, *args: str) -> str:
    """Standard output of an isolated interpreter (no site, no user or environment settings)."""
    done = subprocess.run([str(python), "-I", "-S", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()[-500:]
        raise InfrastructureError(f"{python} cannot compile a tree: {said}", hint="build its environment anew")
    return done.stdout
