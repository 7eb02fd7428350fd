"""Objects of a mirror through one lasting `git cat-file --batch`: to start git for each took most of a warm command."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import weakref
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tasks.adapters.git.command import Git, GitFailed

_FOUND = re.compile(rb"(?P<name>[0-9a-f]{40,64}) (?P<kind>blob|commit|tree|tag) (?P<size>\d+)\n")


@dataclass(frozen=True, slots=True)
class Object:
    """One object of a repository."""

    name: str
    """Its full hexadecimal name."""
    kind: str
    """`blob`, `commit`, `tree` or `tag`."""
    data: bytes


class Objects:
    """Answers of one repository; the process starts with the first question. Safe to share by threads."""

    def __init__(self, git: Git, repository: Path) -> None:
        self._git, self._repository = git, repository
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def get(self, name: str) -> Object | None:
        """What git means by `name` (`<commit>`, `<commit>:<path>`, without a line end); null where there is none."""
        if "\n" in name:
            raise ValueError(f"{name!r} has a line end")
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = self._git.converse("--git-dir", str(self._repository), "cat-file", "--batch")
                weakref.finalize(self, _end, self._process)
            try:
                return _asked(self._process, os.fsencode(name))
            except BaseException:
                self._process.kill()  # half an answer would become the next question's
                self._process.wait()
                raise


@lru_cache(maxsize=32)
def objects_of(root: Path, repository: Path, inode: int, process: int) -> Objects:  # noqa: ARG001 - parts of the key
    """The answers of a repository below `root`, for this process: another folder of that name is another one."""
    return Objects(Git(root), repository)


def _asked(process: subprocess.Popen[bytes], name: bytes) -> Object | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(name + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise GitFailed("git cat-file ended early", hint="run `swt doctor`") from None
    line = process.stdout.readline()
    found = _FOUND.fullmatch(line)
    if found is None:
        if line:
            return None
        raise GitFailed("git cat-file ended early", hint="run `swt doctor`")
    data = process.stdout.read(int(found["size"]))
    process.stdout.read(1)
    return Object(found["name"].decode(), found["kind"].decode(), data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """It ends by itself when nobody can ask any more."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.wait()
