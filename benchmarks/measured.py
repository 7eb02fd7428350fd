"""What a command costs: CPU seconds of its whole process tree, as the kernel counts them."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One command, or several added up."""

    cpu_s: float = 0.0
    """User plus system seconds of the process and of every descendant that was waited for."""
    exit_code: int = 0
    """Of the last one that failed; negative where a signal ended it."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(cpu_s=self.cpu_s + other.cpu_s, exit_code=other.exit_code or self.exit_code)


def cost_of(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, log: Path, timeout: float
) -> Cost:
    """Run `argv` to its end, its output going to the end of `log`; after `timeout` seconds its group is killed."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    timer = threading.Timer(timeout, _kill, (process.pid,))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(cpu_s=usage.ru_utime + usage.ru_stime, exit_code=process.returncode)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def machine() -> str:
    """One line: what figures of this machine have to be read with."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    facts = (platform.system(), platform.release(), platform.machine(), f"CPython {platform.python_version()}")
    return f"{os.cpu_count()} cores ({_processor()}), {' '.join(facts)}; load {load}"


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "unknown processor"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, so that what a script prints can go into README.md as it is."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
