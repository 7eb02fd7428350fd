"""What the debugger costs the code that runs under it, beside the standard library's `bdb` and a plain run.

    python -m benchmarks.debugger --calls 1_000_000 --work FOLDER

On every CPython of this machine: CPU seconds of a loop of calls, taken by the program itself. The breakpoint lies in
another function of the same file, in another file, or, with a condition that never holds, in the function that is
called. Then how long a command takes, from sending it to its answer.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from benchmarks.measured import machine
from tasks.adapters.debugger.session import DebugCase, DebugLimits, DebugSession, debugging
from tasks.adapters.sandbox.base import Sandbox
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.sandbox.process import Process
from tasks.adapters.sandbox.scratch import spare_folder
from tasks.adapters.tabular import markdown_table
from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.adapters.uv.plan import BuiltEnvironment, Interpreter
from tasks.domain.names import CaseId, RepoName, RepoPath
from tasks.domain.outcome import RunnerKind

HOT = """\
import time


def add(x):
    return x + 1


def after(spent):
    return spent


def work(count):
    began = time.process_time()
    for i in range(count):
        add(i)
    return after(time.process_time() - began)
"""
OTHER = "def seen(spent):\n    return spent\n"
TEST = """\
import unittest

import hot
import other


class TestIt(unittest.TestCase):
    def test_it(self):
        other.seen(hot.work({calls}))
"""
STOCK = """\
import bdb
import sys

import hot
import other


class Quiet(bdb.Bdb):
    def user_line(self, frame):
        self.set_continue()

    def user_return(self, frame, value):
        self.set_continue()


stock = Quiet()
if sys.argv[2] == "same":
    stock.set_break(hot.__file__, 9)
elif sys.argv[2] == "other":
    stock.set_break(other.__file__, 2)
elif sys.argv[2] == "in":
    stock.set_break(hot.__file__, 5, cond="x < 0")
run = hot.work if sys.argv[2] == "plain" else lambda count: stock.runcall(hot.work, count)
print(run(int(sys.argv[1])))
"""
PLACES = {
    "same": ("b hot.after", "same file"),
    "other": ("b other.seen", "another file"),
    "in": ("b hot.add, x < 0", "in it, condition never true"),
}
COMMANDS = ("p x", "args", "locals()", "w", "l", "ll", "b", "whatis x", "n", "s")
REPEATS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder, or one of an earlier run")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print(machine())
    rows = [row for one in reversed(machine_interpreters()) for row in _ratios(one, options.calls, options.work)]
    print(markdown_table(pa.Table.from_pylist(rows)))
    sandboxes: tuple[Sandbox, ...] = (Process(options.work), Bubblewrap(options.work))
    for sandbox in sandboxes:
        print(f"{sandbox.kind}:\n{markdown_table(pa.Table.from_pylist(_latency(sandbox, options.work)))}")


def _ratios(interpreter: Interpreter, calls: int, work: Path) -> Iterable[dict[str, str | float]]:
    with spare_folder(work) as folder:
        _write(folder, calls)
        plain = _stock(interpreter, folder, calls, "plain")
        for place, (typed, named) in PLACES.items():
            stock, ours = _stock(interpreter, folder, calls, place), _ours(interpreter, folder, typed)
            yield {
                "CPython": interpreter.minor,
                "breakpoint": named,
                "plain s": round(plain, 2),
                "ours s": round(ours, 2),
                "bdb s": round(stock, 2),
                "ours/plain": round(ours / plain, 1),
                "bdb/plain": round(stock / plain, 1),
            }


def _write(folder: Path, calls: int) -> None:
    checkout = folder / "checkout"
    checkout.mkdir()
    for name, text in {
        "hot.py": HOT,
        "other.py": OTHER,
        "stock.py": STOCK,
        "test_it.py": TEST.format(calls=calls),
    }.items():
        (checkout / name).write_text(text)


def _stock(interpreter: Interpreter, folder: Path, calls: int, place: str) -> float:
    argv = [str(interpreter.path), "stock.py", str(calls), place]
    done = subprocess.run(argv, cwd=folder / "checkout", capture_output=True, text=True, check=True)
    return float(done.stdout)


def _ours(interpreter: Interpreter, folder: Path, typed: str) -> float:
    with spare_folder(folder) as own:
        return float(_session(Process(own), interpreter, folder / "checkout", own, lambda one: _spent(one, typed)))


def _spent(session: DebugSession, typed: str) -> str:
    session.start()
    for text in ("b other.seen", typed, "c"):
        session.command(text, limit_s=600)
    return session.command("p spent").text


def _session(
    sandbox: Sandbox, interpreter: Interpreter, checkout: Path, own: Path, told: Callable[[DebugSession], str]
) -> str:
    case = DebugCase(kind=RunnerKind.UNITTEST, path=RepoPath("test_it.py"), case_id=CaseId("test_it.TestIt.test_it"))
    limits = DebugLimits()
    with debugging(sandbox, _built(interpreter), case, checkout=checkout, folder=own, limits=limits) as session:
        return told(session)


def _built(interpreter: Interpreter) -> BuiltEnvironment:
    host = host_environment(RepoName("benchmarks/debugger"))
    row = replace(host.environment, python=interpreter.minor, python_full=interpreter.version)
    prefix = interpreter.base_prefix
    return replace(host, environment=row, root=prefix, python=interpreter.path, interpreter=interpreter)


def _latency(sandbox: Sandbox, work: Path) -> list[dict[str, str | float]]:
    """Of each command on this Python, at a line of a loop; and of starting again."""
    taken: dict[str, list[float]] = {}

    def ask(session: DebugSession) -> str:
        started = time.perf_counter()
        session.start()
        taken["start"] = [time.perf_counter() - started]
        for text in ("b hot.add", "c"):
            session.command(text)
        for text in (*COMMANDS, "c", "restart"):
            for _ in range(10 if text == "restart" else REPEATS):
                began = time.perf_counter()
                session.command(text)
                taken.setdefault(text, []).append(time.perf_counter() - began)
        return ""

    with spare_folder(work) as folder:
        folder.chmod(0o711)
        _write(folder, 10**9)
        own = folder / "own"
        own.mkdir()
        _session(sandbox, _host(), folder / "checkout", own, ask)
    return [
        {"command": text, "median ms": round(statistics.median(each) * 1e3, 2), "worst ms": round(max(each) * 1e3, 2)}
        for text, each in taken.items()
    ]


def _host() -> Interpreter:
    minor = host_environment(RepoName("benchmarks/debugger")).environment.python
    return next(one for one in machine_interpreters() if one.minor == minor)


if __name__ == "__main__":
    main()
