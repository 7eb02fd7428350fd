"""Whatever a test does, a command has an answer in time, and the next start works."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from debugged import JOB, open_session

from tasks.adapters.debugger.session import DebugLimits, DebugState
from tasks.adapters.sandbox.bubblewrap import Bubblewrap

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
SHORT = DebugLimits(command_s=1.0, start_s=30.0, job=JOB)
CASE = "test_it.TestIt.test_it"


def files(body: str, head: str = "") -> dict[str, str]:
    """A module with one case: `head` above it, `body` in it."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = "import os, sys, threading, time, unittest\n" + head
    return {"test_it.py": f"{text}\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        x = 1\n{lines}"}


HOSTILE = """
class Raises:
    def __repr__(self): raise SystemExit(3)
class Mute:
    def __repr__(self): raise Mute.Error()
    class Error(Exception):
        def __str__(self): return 3
class Huge:
    def __repr__(self): return "y" * 10000000
class Endless:
    def __repr__(self):
        while True: pass
class Odd:
    def __repr__(self):
        class Text(str):
            def __len__(self): return 10 ** 9
            def __getitem__(self, key): raise KeyError(key)
        return Text("odd")
class Deep:
    def __repr__(self): return repr(self)
"""


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("p Raises()", "*** SystemExit: 3"),
        ("p Mute()", "*** Error: (its message cannot be shown)"),
        ("p Odd()", "odd"),
        ("p Deep()", "*** RecursionError: "),
        ("pp [Raises()]", "*** SystemExit: 3"),
        ("p os._exit", "<built-in function _exit>"),
        ("p Endless()", "*** given up: it took longer than a command may"),
        ("p time.sleep(50)", "*** given up: it took longer than a command may"),
    ],
)
def test_values_that_do_not_want_to_be_shown(typed: str, said: str, hostile) -> None:
    assert hostile.command(typed).text.startswith(said)
    assert hostile.command("p x + 1").text == "2"


def test_answers_are_cut_and_say_so(hostile) -> None:
    for typed in ("p Huge()", "p 'z' * 5000", "pp list(range(5000))"):
        text = hostile.command(typed).text
        assert len(text) == 4000, typed
        assert text.splitlines()[-1].startswith("... cut: "), typed


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory):
    limits = DebugLimits(command_s=0.5, start_s=30.0, job=JOB)
    with open_session(tmp_path_factory.mktemp("hostile"), files("y = 2", HOSTILE), CASE, limits=limits) as session:
        session.start()
        session.command("n")
        yield session


def test_what_nothing_can_break_into_is_killed_and_started_again(debug) -> None:
    session = debug(files("y = 2", HOSTILE), CASE, limits=SHORT)
    session.start()
    session.command("b y")
    session.command("b test_it.py:4")
    answer = session.command("p sum(iter(int, 1))", limit_s=0.3)
    assert answer.restarted
    assert answer.text.startswith(
        "*** there was no answer within 0.3 s, and nothing could break in: the test was killed."
    )
    assert "The test begins here." in answer.text
    assert session.command("b").text == "Breakpoint 1 at test_it.py:4, hit 0 times"


@pytest.mark.parametrize("minor", ["", "3.6", "3.13"])
@pytest.mark.parametrize("loop", ["while True: x += 1", "time.sleep(60)", "threading.Event().wait()"])
def test_a_hang_is_stopped_where_it_hangs(loop: str, minor: str, debug) -> None:
    session = debug(files(loop), CASE, limits=SHORT, minor=minor)
    session.start()
    answer = session.command("c", limit_s=0.4)
    assert answer.text.startswith("Still running: it was stopped here.")
    assert "test_it()" in session.command("w").text


def test_time_between_commands_is_not_the_tests(debug) -> None:
    body = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.4)\ny = 2\ny = 3\ntime.sleep(9)"
    session = debug(files(body), CASE, limits=SHORT)
    session.start()
    for _ in range(3):
        session.command("n")
    time.sleep(0.6)
    assert session.command("n").text.endswith("-> y = 3")
    assert "SIGALRM" in session.command("c").text  # the timer goes on where it was, and ends a test that waits


ENDS = {
    "os._exit(7)": (DebugState.GONE, "The test's process ended: exit code 7, before the test's end."),
    "os.kill(os.getpid(), 9)": (DebugState.GONE, "The test's process ended: SIGKILL (signal 9) ended it."),
    "os.closerange(3, 1000); y = 2": (DebugState.GONE, "The test's process ended: exit code 71"),
    "sys.exit(3)": (DebugState.POST_MORTEM, "The test failed: SystemExit: 3\n> test_it.py(9)test_it()"),
    "raise KeyboardInterrupt": (DebugState.POST_MORTEM, "The test failed: KeyboardInterrupt\n> test_it.py(9)"),
    "self.skipTest('why')": (DebugState.OVER, "The test ended: skipped in call\nwhy"),
    "x = f(10 ** 6)": (DebugState.POST_MORTEM, "The test failed: RecursionError: "),
    "sys.settrace(None); x = f(1); raise ValueError": (DebugState.POST_MORTEM, "The test failed: ValueError\n"),
    "print('x' * 30_000_000)": (DebugState.OVER, "The test ended: passed"),
    "if not os.fork(): x = f(1); os._exit(0)": (DebugState.OVER, "The test ended: passed"),
    "os.kill(os.getppid(), 9); time.sleep(5)": (DebugState.GONE, "The sandbox of the test ended: "),
}


@pytest.mark.parametrize(("body", "state", "said"), [(body, *want) for body, want in ENDS.items()], ids=list(ENDS))
def test_every_end_is_told_and_the_test_can_be_started_again(body: str, state: str, said: str, debug) -> None:
    session = debug(files(body, "def f(n):\n    return f(n - 1) if n else 0\n"), CASE)
    start = session.start()
    answer = session.command("c")
    assert (answer.state, answer.text[: len(said)]) == (state, said)
    assert len(answer.text) <= 4000
    again = session.command("restart")
    assert (again.text, again.state) == (start.text, DebugState.STOPPED)


def test_a_breakpoint_stops_in_a_thread_and_deep_in_a_recursion(debug) -> None:
    head = "def f(n):\n    if n == 0:\n        return 'end'\n    return f(n - 1)\n"
    body = "t = threading.Thread(target=f, args=(1,))\nt.start(); t.join()\nsys.setrecursionlimit(420)\nf(350)"
    session = debug(files(body, head), CASE)
    session.start()
    session.command("b f, n == 0")
    assert session.command("c").text.startswith("Breakpoint 1.\n> test_it.py(3)f()")
    assert session.command("p threading.current_thread() is threading.main_thread()").text == "False"
    assert session.command("c").text.startswith("Breakpoint 1.\n> test_it.py(3)f()")
    stack = session.command("w").text
    assert "frames left out" in stack
    assert stack.endswith("> test_it.py(3)f()\n-> if n == 0:")
    assert session.command("n").text == "> test_it.py(4)f()\n-> return 'end'"
    assert session.command("c").outcome == "passed"


def test_failures_of_set_up_are_stopped_at_too(debug) -> None:
    set_up = "    def setUp(self):\n        y = 1\n        raise OSError('why')\n"
    text = f"import unittest\nclass TestIt(unittest.TestCase):\n{set_up}    def test_it(self): pass\n"
    session = debug({"test_it.py": text}, CASE)
    answer = session.start()
    assert (answer.state, answer.text) == (
        DebugState.POST_MORTEM, "The test failed: OSError: why\n> test_it.py(5)setUp()\n-> raise OSError('why')",
    )  # fmt: skip
    assert session.command("p y").text == "1"


@pytest.mark.bubblewrap
def test_under_bubblewrap_commands_go_in_and_limits_come_out(debug, tmp_path: Path) -> None:
    """The socket is all that leads in; a test that takes too much memory takes its sandbox with it, nothing else."""
    sandbox = Bubblewrap(tmp_path)
    if reason := sandbox.why_not():
        pytest.skip(reason)
    tmp_path.chmod(0o755)
    body = "y = os.path.abspath('.')\nz = 'x' * (1 << 30)\nwhile True: pass"
    limits = DebugLimits(command_s=10.0, start_s=30.0, job=replace(JOB, memory_mb=256))
    session = debug(files(body), CASE, sandbox=sandbox, minor=MINOR, limits=limits)
    assert session.start().text.startswith("The test begins here.")
    session.command("n")
    session.command("b 9, not y")  # a stop could come before the limit is seen
    assert session.command("n").line == 8
    assert session.command("p y, os.path.exists('/etc/passwd-')").text == "('/testbed', False)"
    over = session.command("c")
    assert (over.state, over.text.partition(".")[0]) == (
        DebugState.GONE, "The sandbox of the test ended: it passed the limit of memory",
    )  # fmt: skip
    assert session.command("p y").state is DebugState.GONE
    assert session.command("restart").text.startswith("The test begins here.")
    assert session.command("b").text.startswith("Breakpoint 1 at test_it.py:9, only if not y")
