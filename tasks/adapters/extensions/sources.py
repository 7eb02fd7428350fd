"""Which files the build of extension modules reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from tasks.adapters.patch.model import Refused
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.split import in_test_folder

_COMPILED = frozenset(
    (
        *(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".i", ".l", ".y"),
        *(".pyx", ".pxd", ".pxi", ".tp", ".f", ".f90", ".pyf", ".in", ".src", ".build"),
    )
)
_SETTINGS = frozenset({"setup.py", "setupext.py", "setup_package.py", "setup.cfg", "pyproject.toml"})


def build_patches(patches: Iterable[str]) -> tuple[str, ...]:
    """Those of the patches that change what a build reads: code that they are applied to needs a build of its own."""
    return tuple(patch for patch in patches if _changes_build(patch))


def _changes_build(patch: str) -> bool:
    read = read_patch(patch)
    return not isinstance(read, Refused) and any(_is_read(path) for file in read.files for path in file.paths)


def _is_read(path: str) -> bool:
    pure = PurePosixPath(path)
    return not in_test_folder(path) and (pure.suffix in _COMPILED or pure.name in _SETTINGS)
