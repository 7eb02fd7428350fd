"""The host's end of a debugging session: a sandbox that stays, a socket into it, and a limit for each command.

Nothing that comes back is a verdict: the test shares its process with the debugger in it, and can say what it likes.
What a test is worth is measured by the runner, in runs of its own.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from tasks.adapters.runner.job import INSIDE as RUNNER
from tasks.adapters.runner.job import SELECTING
from tasks.adapters.runner.launch import FIXED_ENV, SEED, environment_process
from tasks.adapters.sandbox.base import Finished, Job, Sandbox
from tasks.adapters.uv.plan import BuiltEnvironment
from tasks.domain.errors import SandboxError
from tasks.domain.names import CaseId, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Limits

INSIDE = Path(__file__).parent / "inside"
"""Our half in the sandbox: plain modules for CPython 3.6 to 3.13, standard library only."""

MAIN = "swt_debug_main.py"
CONFIG = "debug.json"
SOCKET = "debug.sock"
ANSWER_CHARACTERS = 4000
"""Longer answers are cut, and say so (TDFlow, appendix D, leaves the length open)."""
MAX_ANSWER_BYTES = 1 << 20
BACKSTOP_S = 10.0
"""So much later than the process inside we give a command up ourselves: it may have been stopped by the test."""
SESSION_S = 6 * 3600.0
"""How long the sandbox may stay, thinking included."""
CONNECT_S = 60.0
PRINTED_CHARACTERS = 1000


class DebugState(StrEnum):
    """Where a session is after an answer."""

    STOPPED = "stopped"
    """At a line of the test or of what it calls; stepping goes on from here."""
    POST_MORTEM = "post-mortem"
    """Where an exception was raised that failed the test; frames can be looked at, and going on leads to the end."""
    OVER = "over"
    """The test has ended."""
    GONE = "gone"
    """Its process has ended, by itself or by a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugLimits:
    """How long things may take, without the time between commands."""

    command_s: float = 30.0
    start_s: float = 120.0
    """From a start to the first stop: imports, databases."""
    job: Limits = field(default_factory=lambda: Limits(wall_s=SESSION_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugCase:
    """One case, by the id that the runner gives it."""

    kind: RunnerKind
    path: RepoPath
    """Its test file."""
    case_id: CaseId
    """`tests/t.py::TestX::test_y[a]`, `pkg.tests.TestX.test_y` or, for sympy, `sympy/t.py::test_y`."""
    test_args: tuple[str, ...] = ()
    source_roots: tuple[str, ...] = ("",)
    pythonpath: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugAnswer:
    """What came of one command."""

    text: str
    """At most 4,000 characters."""
    state: DebugState
    path: str = ""
    """File of the frame that is looked at, relative to the checkout where it lies in it."""
    line: int = 0
    function: str = ""
    outcome: str = ""
    """The runner's word for how the test ended, where it has ended."""
    restarted: bool = False
    """Whether the test was killed for this command and started again."""
    seconds: float = 0.0
    """Inside, from the command to the answer."""
    printed: str = ""
    """The end of what the test's process printed meanwhile; pytest keeps a test's own output to itself."""


class DebugSession:
    """One case under the debugger. Used by one thread; see `debugging`."""

    def __init__(self, sandbox: Sandbox, job: Job, config: dict[str, Any], limits: DebugLimits) -> None:
        self._sandbox = sandbox
        self._job = job
        self._config = config
        self._limits = limits
        self._wire: socket.socket | None = None
        self._rest = b""
        self._thread: threading.Thread | None = None
        self._ended: Finished | BaseException | None = None
        self._breaks: list[dict[str, Any]] = []
        self._printed = 0

    def command(self, text: str, *, limit_s: float | None = None) -> DebugAnswer:
        """One command as typed, `b module.function` or `p x + 1`. `restart` starts the test again, breakpoints kept.

        Raises `SandboxError` where the debugger does not start in the sandbox, or that fails.
        """
        if self._wire is None:
            if text.strip() != "restart":
                return DebugAnswer(
                    text="*** the test's process is gone: `restart` starts it again", state=DebugState.GONE
                )
            return self.start()
        return self._ask(text, limit_s or self._limits.command_s)

    def start(self) -> DebugAnswer:
        """Start the sandbox and the test in it; the answer says where it stopped first: at the test's first line."""
        self.close()
        self._ended = None
        self._config["breaks"] = self._breaks
        (self._job.outbox / CONFIG).write_text(json.dumps(self._config), encoding="utf-8")
        self._job.log.unlink(missing_ok=True)
        self._printed = 0
        with _listening(self._job.outbox) as listener:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
            self._wire = self._accepted(listener)
        return self._ask("restart", self._limits.start_s)

    def close(self) -> None:
        """End the sandbox: the process inside ends as soon as it loses the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire, self._rest = None, b""
        if self._thread is not None:
            self._thread.join(BACKSTOP_S)
            self._thread = None

    def _run(self) -> None:
        try:
            self._ended = self._sandbox.run(self._job)
        except BaseException as problem:
            self._ended = problem

    def _accepted(self, listener: socket.socket) -> socket.socket:
        end = time.monotonic() + CONNECT_S
        listener.settimeout(0.1)
        while time.monotonic() < end and self._ended is None:
            with suppress(TimeoutError):
                return listener.accept()[0]
        if isinstance(self._ended, BaseException):
            raise self._ended
        log = self._printed_since(0)
        raise SandboxError(
            f"the debugger did not start in the sandbox: {log.strip()[-500:] or 'it said nothing'}",
            hint="see whether the environment's interpreter starts at all",
        )

    def _ask(self, text: str, limit_s: float) -> DebugAnswer:
        asked = {"command": text, "limit_s": limit_s, "start_s": self._limits.start_s}
        restarts = self._limits.start_s  # a test that has to be killed is started again within the same answer
        try:
            assert self._wire is not None
            self._wire.sendall(json.dumps(asked).encode() + b"\n")
            answer = _answer(self._line(limit_s + restarts + BACKSTOP_S))
            parsed = _parsed(answer)
        except (OSError, ValueError) as problem:
            return self._lost(problem)
        breaks = answer.get("breaks")
        if isinstance(breaks, list):
            self._breaks = [one for one in breaks if isinstance(one, dict)]
        return replace(parsed, printed=self._new_output())

    def _line(self, patience_s: float) -> bytes:
        """The next line of the process inside; `OSError` where it is gone or says nothing for so long."""
        assert self._wire is not None
        end = time.monotonic() + patience_s
        while b"\n" not in self._rest:
            self._wire.settimeout(max(0.01, end - time.monotonic()))
            data = self._wire.recv(1 << 16)
            if not data:
                raise ConnectionError("it closed the connection")
            self._rest += data
            if len(self._rest) > MAX_ANSWER_BYTES:
                raise ValueError("its answer is too long")
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _lost(self, problem: Exception) -> DebugAnswer:
        """The process inside ended with the test's: a limit of the sandbox, or the test killed it."""
        self.close()
        ended = self._ended
        if isinstance(ended, BaseException):
            raise ended
        if ended is None:
            raise SandboxError(
                f"a debugging session did not end with its connection ({problem})",
                hint="its sandbox ends at its own limit of time",
            )
        why = f"it passed the limit of {ended.limit}" if ended.limit else f"exit code {ended.exit_code}"
        return DebugAnswer(
            text=f"The sandbox of the test ended: {why}. `restart` starts a new one, with the same breakpoints.",
            state=DebugState.GONE,
            printed=self._new_output(),
        )

    def _new_output(self) -> str:
        said = self._printed_since(self._printed)
        with suppress(OSError):
            self._printed = self._job.log.stat().st_size
        return said

    def _printed_since(self, start: int) -> str:
        try:
            with self._job.log.open("rb") as log:
                log.seek(max(start, self._job.log.stat().st_size - 4 * PRINTED_CHARACTERS))
                return log.read().decode("utf-8", "replace")[-PRINTED_CHARACTERS:]
        except OSError:
            return ""


@contextmanager
def debugging(
    sandbox: Sandbox,
    built: BuiltEnvironment,
    case: DebugCase,
    *,
    checkout: Path,
    folder: Path,
    limits: DebugLimits | None = None,
) -> Iterator[DebugSession]:
    """A session for a case of a checkout that is complete for a run and thrown away afterwards; call `start` first.

    `folder` is private and empty: the outbox and the log.
    """
    limits = limits or DebugLimits()
    outbox = folder / "out"
    outbox.mkdir()

    def seen(path: Path) -> str:
        return str(sandbox.guest(path, checkout=checkout, outbox=outbox))

    config = asdict(case) | {
        "files": [case.path],
        "case": case.case_id,
        "seed": SEED,
        "runner": str(RUNNER),
        "selecting": str(SELECTING),
        "socket": seen(outbox / SOCKET),
    }
    job = environment_process(
        sandbox, built, (str(built.python), str(INSIDE / MAIN), seen(outbox / CONFIG)),
        folders=(RUNNER, SELECTING, INSIDE), source_roots=case.source_roots, env=(*FIXED_ENV, *built.environment.env),
        limits=limits.job, checkout=checkout, outbox=outbox, log=folder / "log",
    )  # fmt: skip
    session = DebugSession(sandbox, job, config, limits)
    try:
        yield session
    finally:
        session.close()


@contextmanager
def _listening(outbox: Path) -> Iterator[socket.socket]:
    """One connection is taken, by whoever may write the outbox. By a short name: 107 bytes is the most for a path."""
    path = outbox / SOCKET
    path.unlink(missing_ok=True)
    folder = os.open(outbox, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
            path.chmod(0o666)
            listener.listen(1)
            yield listener
    finally:
        os.close(folder)
        path.unlink(missing_ok=True)


def _answer(line: bytes) -> dict[str, Any]:
    answer = json.loads(line)
    if not isinstance(answer, dict):
        raise ValueError("its answer is no object")
    return answer


def _parsed(answer: dict[str, Any]) -> DebugAnswer:
    """What the process inside said, as far as it is of the right shape; `ValueError` for a state that there is not."""
    seconds, line = answer.get("seconds"), answer.get("line")
    return DebugAnswer(
        text=_text(answer.get("text"))[:ANSWER_CHARACTERS],
        state=DebugState(_text(answer.get("state"))),
        path=_text(answer.get("path")),
        line=line if type(line) is int else 0,
        function=_text(answer.get("function")),
        outcome=_text(answer.get("outcome")),
        restarted=answer.get("restarted") is True,
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
    )


def _text(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
