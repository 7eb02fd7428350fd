"""One call of an interpreter by uv: visible files, writable files, and the files that are copied out."""

from __future__ import annotations

import ast
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.adapters.sandbox.base import CPYTHON, Mount
from tasks.adapters.uv.plan import Interpreter
from tasks.domain.errors import InfrastructureError

BUILDS = "builds-v0"
"""uv's folder of build environments and unfinished wheels, in its cache."""
UNPACKED = re.compile(r"sdists-v\d+/")
"""uv's folder of unpacked source distributions, in its cache."""
PASSED_ON = ("VIRTUAL_ENV", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE")
"""uv's variables that a build may see. No others, since index addresses may contain passwords."""
BROUGHT_BACK_BYTES = 2 << 30
"""Maximum size in bytes of the files copied out of one call."""
SOURCE, COPIES = "source", "copies"
"""Folders of a job's checkout: the source tree, and other writable copies."""
SETTINGS = "pyvenv.cfg"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFolders:
    """The folders of one uv command. All paths are resolved."""

    interpreter: Interpreter
    gate_root: Path
    """Prefix of the interpreter that uv sees."""
    uv_cache: Path
    source: Path | None
    """The checkout to build."""
    output: Path | None
    """The folder for its wheel."""
    build_env: tuple[str, ...]
    """`NAME=value` pairs that builds see."""


class CopyContent(Enum):
    """Initial content of a private copy of one of uv's folders."""

    ALL = auto()
    NOTHING = auto()
    INTERPRETER = auto()
    """Only the interpreter of an inspected environment, since `.pth` files of its packages could fake its answers."""

    def fill(self, source: Path, into: Path) -> None:
        if self is CopyContent.ALL:
            copy_tree(source, into)
            return
        into.mkdir()
        if self is CopyContent.INTERPRETER:
            shutil.copy2(source / SETTINGS, into / SETTINGS)
            (into / "bin").mkdir()
            for link in (source / "bin").glob("python*"):
                (into / "bin" / link.name).symlink_to(link.readlink())
            for packages in source.glob("lib/python*/site-packages"):
                (into / packages.relative_to(source)).mkdir(parents=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCall:
    """One call of an interpreter, with its visible and writable files."""

    folders: CallFolders
    argv: tuple[str, ...]
    env: dict[str, str]
    source: Path | None
    """Source tree in which the call starts; None for any other folder."""
    shown: tuple[Path, ...]
    """Folders with uv's own scripts, mounted read-only."""
    copies: dict[Path, CopyContent]
    """Folders of which the call gets private copies."""
    named: tuple[Path, ...]
    """Paths that uv's script names."""

    @classmethod
    def read(cls, request: dict[str, Any], folders: CallFolders) -> BuildCall:
        """Parse uv's request. Shows or writes only folders of uv and those in `folders`."""
        cache = folders.uv_cache
        builds = cache / BUILDS
        argv = tuple(str(word) for word in request["argv"])
        cwd = Path(str(request["cwd"]))
        environment = Path(argv[0]).absolute().parent.parent
        named = tuple(_paths_in(argv))
        copies: dict[Path, CopyContent] = {}
        for at in _environments(Path(argv[0]).absolute()):
            copies[at] = CopyContent.ALL if at.parent == builds else CopyContent.INTERPRETER
        for path in named:
            if path == folders.output or (path.parent == builds and path.is_dir()):
                copies.setdefault(path, CopyContent.NOTHING)
        return cls(
            folders=folders,
            argv=argv,
            env=_env(request["env"], environment, folders.build_env),
            source=cwd if _is_source(cwd, cache, folders.source) else None,
            shown=tuple(path for path in named if path.parent == cache and path.name.startswith(".tmp")),
            copies=copies,
            named=named,
        )

    def mounts(self, checkout: Path) -> Iterator[Mount]:
        """Yield mounts: the interpreter at its own path and at the gate's, and uv's folders at
        the paths that uv names."""
        interpreter = self.folders.interpreter
        prefix = interpreter.base_prefix
        if not prefix.is_relative_to("/usr"):
            yield Mount(prefix, PurePosixPath(prefix), content=f"{CPYTHON}{interpreter.version}")
        yield Mount(prefix, PurePosixPath(self.folders.gate_root))
        for path in self.shown:
            yield Mount(path, PurePosixPath(path))
        if self.source:
            yield Mount(checkout / SOURCE, PurePosixPath(self.source), writable=True)
        for at, path in enumerate(self.copies):
            yield Mount(checkout / COPIES / str(at), PurePosixPath(path), writable=True)

    def bring_back(self, checkout: Path) -> str:
        """Copy the requested files out of the private copies: only plain files, without following links.

        Returns an error message; empty if all files were copied.
        """
        room = BROUGHT_BACK_BYTES
        for at, (path, content) in enumerate(self.copies.items()):
            wanted = _is_wheel if content is CopyContent.NOTHING else self._names
            if content is CopyContent.INTERPRETER:
                continue
            for relative, opened in _plain_files(checkout, (COPIES, str(at)), partial(wanted, path)):
                room -= os.fstat(opened).st_size
                if room < 0:
                    return f"the build left more than {BROUGHT_BACK_BYTES >> 20} MiB\n"
                target = path / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                with os.fdopen(os.dup(opened), "rb") as made, target.open("xb") as file:
                    shutil.copyfileobj(made, file)
        return ""

    def _names(self, folder: Path, relative: Path) -> bool:
        """Whether the script names this file of `folder`, or a folder that contains it."""
        return any((folder / relative).is_relative_to(path) for path in self.named if path != folder)


def _is_wheel(_folder: Path, relative: Path) -> bool:
    return relative.suffix == ".whl" and len(relative.parts) == 1


def _environments(python: Path) -> Iterator[Path]:
    """Yield the virtual environments between an interpreter and the real one.

    Before Python 3.11 uv links a build environment to the environment for which it builds the package.
    """
    while (python.parent.parent / SETTINGS).is_file():
        yield python.parent.parent
        if not python.is_symlink():
            return
        python = python.parent / python.readlink()


def _is_source(cwd: Path, cache: Path, checkout: Path | None) -> bool:
    """Whether a call starts in a source tree: the checkout, or one that uv unpacked in its cache."""
    if checkout and cwd == checkout:
        return True
    return cwd.is_relative_to(cache) and UNPACKED.match(cwd.relative_to(cache).as_posix()) is not None


def _paths_in(argv: Iterable[str]) -> Iterator[Path]:
    """Yield absolute paths that are constants in the scripts of a command line, in order."""
    for word in argv:
        try:
            tree = ast.parse(word)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = os.fsdecode(node.value)
                if text.startswith("/") and "\0" not in text and ".." not in Path(text).parts:
                    yield Path(text)


def _env(uv: dict[str, str], venv: Path, build_env: Iterable[str]) -> dict[str, str]:
    own = {"PATH": f"{venv}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    passed = {name: uv[name] for name in PASSED_ON if name in uv}
    return own | passed | dict(pair.split("=", 1) for pair in build_env)


def copy_tree(source: Path, into: Path) -> None:
    """Copy a folder without sharing inodes: uv's files are hard-linked to its cache."""
    argv = ["cp", "--archive", "--no-preserve=links,ownership", "--reflink=auto", f"{source}/.", str(into)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={"PATH": os.defpath, "LC_ALL": "C"})
    if done.returncode:
        raise InfrastructureError(f"a build could not be given its files: {done.stderr.strip()[:300]}")


def _plain_files(root: Path, below: tuple[str, ...], wanted: Callable[[Path], bool]) -> Iterator[tuple[Path, int]]:
    """Yield wanted plain files below a folder of `root`: relative paths and descriptors. Follows no links."""
    with ExitStack() as stack:
        at = _opened(stack, str(root), None)
        for name in below:
            if not stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                return
            at = _opened(stack, name, at)
        for top, _, names, folder in os.fwalk(".", dir_fd=at, follow_symlinks=False):
            for path in filter(wanted, (Path(top, name) for name in names)):
                if stat.S_ISREG(os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode):
                    with ExitStack() as one:
                        yield path, _opened(one, path.name, folder)


def _opened(stack: ExitStack, name: str, folder: int | None) -> int:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor
