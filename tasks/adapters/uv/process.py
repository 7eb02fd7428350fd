"""Runs one command of uv or an interpreter: argv in, standard output out, errors by class."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.domain.errors import BuildFailed, InfrastructureError, SwtError

NETWORK = re.compile(
    r"error sending request|dns error|failed to lookup address|connection (refused|reset|closed)|timed out|tcp connect"
    r"|client error \(connect\)|network is unreachable|could not connect|HTTP status server error"
    r"|invalid peer certificate|tunnel error|error decoding response body|network was disabled",
    re.IGNORECASE,
)
_MACHINE = re.compile(r"no space left on device|too many open files|cannot allocate memory", re.IGNORECASE)
_ADDRESS = re.compile(r"\b[a-z][a-z+]*://[^\s\"'`)>\]]+", re.IGNORECASE)
ADDRESS_OPTIONS = tuple(
    f"--{name}" for name in ("index", "index-url", "extra-index-url", "default-index", "find-links")
)
"""uv's options that name a package server."""
_ADDRESS_OPTION = re.compile(rf"((?:{'|'.join(ADDRESS_OPTIONS)})[= ])\S+")
_COMPLAINT = re.compile(r"\b\w*error\b|×", re.IGNORECASE)
_UNBUILT = re.compile(r"Failed to (?:download and )?build|was included because")
_QUOTED_NAME = re.compile(r"`([A-Za-z0-9][\w.-]*)(?:\[[^\]`]*\])?(?:[=@ ][^`]*)?`")
_ABSENT = re.compile(r"there are no versions of ([A-Za-z0-9][\w.-]*) and ")
"""A package that the index does not have, or did not have at that date; codecov was removed, for example."""
_UNUSABLE = re.compile(
    r"[Bb]ecause (?:all versions of )?([A-Za-z0-9][\w.-]*)(?:[<>=!~]\S*)? "
    r"(?:was yanked|has invalid metadata|has a non-PEP 625|ha(?:s|ve) no usable wheels)"
)
"""A package whose matching versions are all withdrawn, in a format that uv does not read, or without a wheel if only
wheels are allowed."""
FIRST_LINES = 12
LINES_BEFORE = 4
LAST_LINES = 12
LINE_WIDTH = 300


class PackageFailed(BuildFailed):
    """A package does not build here, or is not available. `packages` names it and the packages that require it."""

    def __init__(self, message: str, packages: frozenset[str], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.packages = packages


Failure = Callable[[str, str, str], SwtError]
"""(what was done, the tool's output, a hint) → the error to raise."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program with its environment and its time limit in seconds."""

    program: Path
    environ: Mapping[str, str]
    timeout_s: float

    def run(
        self,
        *args: str,
        stdin: str = "",
        extra_env: tuple[str, ...] = (),
        hint: str = "",
        tolerate: tuple[int, ...] = (),
        failure: Failure | None = None,
    ) -> str:
        """Return the standard output of `program args…`, run in an empty folder that is also its HOME, without user
        settings.

        `tolerate` lists further exit codes that count as success; `failure` creates the error for all others. Raises
        `BuildFailed` if the tool fails, `InfrastructureError` if the machine or the network failed.
        """
        argv = [str(self.program), *args]
        with tempfile.TemporaryDirectory(prefix="swt-uv-") as folder:
            env = {**self.environ, "HOME": folder, **dict(pair.split("=", 1) for pair in extra_env)}
            done = self._start(argv, env, folder, stdin)
        if done.returncode not in (0, *tolerate):
            raise (failure or tool_failure)(f"{self.program.name} {args[0]}", done.stderr or done.stdout, hint)
        return done.stdout

    def _start(self, argv: list[str], env: dict[str, str], folder: str, stdin: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                argv,
                input=stdin,
                env=env,
                cwd=folder,
                timeout=self.timeout_s,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            message = f"{self.program.name} {argv[1]} took longer than {self.timeout_s:.0f} s"
            raise InfrastructureError(message, hint="a slow registry or a slow build; raise the time limit") from error
        except OSError as error:
            message = f"{self.program.name} could not be started: {error.strerror}"
            raise InfrastructureError(message, hint="swt doctor says what this machine has") from error


def tool_failure(what: str, output: str, hint: str) -> SwtError:
    """Return the error for a failed tool, with the relevant lines of its output, scrubbed."""
    message = f"{what} failed: {telling_lines(output)}"
    if NETWORK.search(output):
        return InfrastructureError(message, hint="the package registry did not answer; try again")
    if _MACHINE.search(output):
        return InfrastructureError(message, hint="free some disk or memory and try again")
    packages = unbuilt(output)
    return PackageFailed(message, packages, hint=hint) if packages else BuildFailed(message, hint=hint)


def unbuilt(output: str) -> frozenset[str]:
    """Return the packages that uv names as not building, with those that require them, or as missing or unusable."""
    lines = (line for line in output.splitlines() if _UNBUILT.search(line))
    built = (name for line in lines for name in _QUOTED_NAME.findall(line))
    return frozenset((*built, *_ABSENT.findall(output), *_UNUSABLE.findall(output)))


def telling_lines(output: str) -> str:
    """Return the lines around the first error and the last lines.

    A resolver reports its cause first, a build at its end, after lines that only look like errors. Addresses are
    removed, since they may contain credentials and host names.
    """
    lines = [line.rstrip()[:LINE_WIDTH] for line in scrub(output).splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if _COMPLAINT.search(line)), 0)
    start = max(0, first - LINES_BEFORE)
    end, rest = start + FIRST_LINES, max(0, len(lines) - LAST_LINES)
    if rest <= end:
        return "\n".join(lines[start:])
    return "\n".join([*lines[start:end], f"… {rest - end} lines …", *lines[rest:]])


def scrub(text: str) -> str:
    """Replace every address in `text` by `<address>`."""
    return _ADDRESS.sub("<address>", _ADDRESS_OPTION.sub(r"\1<address>", text))
