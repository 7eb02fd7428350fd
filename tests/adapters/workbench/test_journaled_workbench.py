"""A bench whose method is begun again: told the same, and left in the same place, without a command being run."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tasks.adapters.folders import remove
from tasks.adapters.workbench import tree_state
from tasks.adapters.workbench.base import Workbench
from tasks.adapters.workbench.journaled import JournaledWorkbench
from tasks.adapters.workbench.tree_state import delta_of, restore, state_of
from tasks.domain.errors import BadInput
from tasks.domain.outcome import Outcome
from tests.fakes.toy_tasks import TOY_TASKS

FILES = """
import os, time
os.makedirs("made/deep/empty"); os.makedirs("closed")
open("made/deep/bytes", "wb").write(bytes(range(256))); open("made/tool", "w").write("#!/bin/sh\\necho hi\\n")
os.chmod("made/tool", 0o755); os.symlink("deep/bytes", "made/link"); os.symlink("/etc/passwd", "made/out")
open("closed/inside", "w").write("x"); os.chmod("closed", 0o555)
os.remove("tests/test_counting.py"); os.mkdir("tests/test_counting.py")
open("made/\\udcff", "w").write("no UTF-8")
"""
BACK = """
import os, shutil
os.chmod("closed", 0o755); open("closed/more", "w").write("y")
shutil.rmtree("made/deep"); os.symlink("tool", "made/deep"); os.remove("made/link"); os.mkdir("made/link")
open("counting.py", "a").write("# more\\n")
"""


class Memory:
    """A journal of this process."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Any] = {}

    def find(self, name: str, asked: str) -> Any:
        return self.rows.get((name, asked))

    def keep(self, name: str, asked: str, seen: Any) -> None:
        self.rows[name, asked] = seen


def opened(folder: Path, memory: Memory) -> JournaledWorkbench:
    return JournaledWorkbench(TOY_TASKS[0].bench(folder).supplies, memory)


def python(bench: Workbench, code: str) -> str:
    return bench.run(["python3", "-c", code]).output


def tree(checkout: Path) -> dict[str, object]:
    """What a checkout holds, as far as anybody can tell the difference."""
    return {
        path: (facts[0], facts[2] if stat.S_ISREG(facts[0]) else 0, content(checkout / path))
        for path, facts in state_of(checkout).items()
    }


def content(path: Path) -> object:
    return path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None


def test_the_same_answers_and_the_same_tree_without_a_command(tmp_path: Path) -> None:
    memory, clock = Memory(), "import time; open('clock', 'w').write(str(time.time_ns())); print(open('clock').read())"
    with opened(tmp_path, memory) as bench:
        said = [python(bench, code) for code in (FILES, clock, BACK)]
        left = tree(bench._checkout)
    with opened(tmp_path, memory) as bench:
        assert [python(bench, code) for code in (FILES, clock, BACK)] == said
        assert bench._folder is None, "not a single command was run, and nobody looked yet"
        assert bench.read("clock") == said[1].strip()
        assert tree(bench._checkout) == left
        assert python(bench, "print(open('clock').read())") == said[1]


def test_what_starts_from_another_state_is_run(tmp_path: Path) -> None:
    memory = Memory()
    with opened(tmp_path, memory) as bench:
        python(bench, "open('a', 'w').write('1')")
        python(bench, "print(open('a').read())")
    with opened(tmp_path, memory) as bench:
        python(bench, "open('a', 'w').write('2')")
        assert python(bench, "print(open('a').read())") == "2\n"


def test_what_leaves_too_much_is_run_again_with_all_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_state, "MAX_BYTES", 1000)
    memory, count = Memory(), "print(len(open('big').read()))"
    with opened(tmp_path, memory) as bench:
        python(bench, "open('big', 'w').write('x' * 2000)")
        python(bench, count)
    with opened(tmp_path, memory) as bench:
        python(bench, "open('big', 'w').write('x' * 2000)")
        assert bench._folder is not None
        python(bench, "open('big', 'a').write('x')")
        assert python(bench, count) == "2001\n"


def test_runs_of_tests_are_told_again_also_on_forks(tmp_path: Path) -> None:
    memory = Memory()
    test = "import time\n\ndef test_clock():\n    assert time.time_ns() == 0\n"

    def method(bench: Workbench) -> list[str]:
        bench.write("tests/test_clock.py", test)
        said = [bench.run_tests(["tests/test_clock.py"])]
        for _ in range(2):
            with bench.fork() as fork:
                said.append(fork.run_tests(["tests/test_clock.py"]))
        with bench.fork() as fork:
            fork.write("tests/test_clock.py", test.replace("== 0", "!= 0"))
            (case,) = fork.run_tests(["tests/test_clock.py"]).cases
            assert case.outcome is Outcome.PASSED
        return [case.message for tested in said for case in tested.cases]

    with opened(tmp_path, memory) as bench:
        first = method(bench)
    assert len(set(first)) == 3
    with opened(tmp_path, memory) as bench:
        assert method(bench) == first


def test_nothing_is_put_back_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "out").symlink_to(tmp_path)
    forged = {"gone": [], "folders": [], "files": [["out/file", 0o644, 0, ""]], "links": []}
    with pytest.raises(BadInput):
        restore(tmp_path / "checkout", [forged])
    assert not (tmp_path / "file").exists()


def test_a_pipe_cannot_be_kept(tmp_path: Path) -> None:
    before = state_of(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert delta_of(tmp_path, before, state_of(tmp_path)) is None


def test_what_no_path_reaches_cannot_be_kept(tmp_path: Path) -> None:
    """And what comes after it is run again, too."""
    (tmp_path / "at").mkdir()
    before = state_of(tmp_path)
    here = os.open(tmp_path / "at", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert delta_of(tmp_path, before, state_of(tmp_path)) is None
    assert remove(tmp_path / "at")
