"""Starts git so that nothing of the machine's or the user's configuration has a say, and nothing is ever asked.

In every call, arguments that are not constants of this project come after `--` or `--end-of-options`
(tests/test_git_arguments.py).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tasks.adapters.coordination.locks import atomic_write
from tasks.adapters.git.sources import SCHEMES
from tasks.domain.errors import InfrastructureError

_CONFIG = """\
[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
\tautocrlf = false
\tattributesFile = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\tdetachedHead = false
"""


class GitFailed(InfrastructureError):
    """git ended with an error; the message has what it said."""

    slug = "git"


@dataclass(frozen=True, slots=True)
class Git:
    """git with a configuration of our own, which lies in `folder`."""

    folder: Path

    def run(
        self, *args: str, cwd: Path | None = None, stdin: bytes = b"", env: Mapping[str, str] = MappingProxyType({})
    ) -> bytes:
        """Standard output of `git args…`, with more variables in `env`. Raises `GitFailed` where it fails."""
        done = self.attempt(*args, cwd=cwd, stdin=stdin, env=env)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise GitFailed(f"git {' '.join(args[:4])} … failed: {said}", hint="run `swt doctor`")
        return done.stdout

    def attempt(
        self, *args: str, cwd: Path | None = None, stdin: bytes = b"", env: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.CompletedProcess[bytes]:
        """The finished process, failed or not."""
        every = self._env() | dict(env)
        return subprocess.run(["git", *args], cwd=cwd, input=stdin, env=every, capture_output=True, check=False)

    def converse(self, *args: str) -> subprocess.Popen[bytes]:
        """A git process to write to and read from, in a session of its own: an interrupt is not meant for it."""
        return subprocess.Popen(
            ["git", *args],
            env=self._env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @contextmanager
    def talk(self, *args: str) -> Iterator[subprocess.Popen[bytes]]:
        """A git process to write to and read from; ended with the block."""
        with subprocess.Popen(
            ["git", *args], env=self._env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def _env(self) -> dict[str, str]:
        """The process environment without git's own variables: proxies and certificates are for `add` from a URL."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return kept | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self._config()),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C",
        }

    def _config(self) -> Path:
        path = self.folder / "gitconfig"
        if not path.exists():
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                hint = "name a folder that can be written: SWT_CACHE"
                raise GitFailed(f"{self.folder} cannot be made: {error.strerror}", hint=hint) from error
            with atomic_write(path) as half:
                half.write_text(_CONFIG)
        return path
