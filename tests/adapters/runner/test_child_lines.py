"""Watched lines that child processes run count for the case that started them, and nothing else of theirs does."""

from __future__ import annotations

import textwrap

import pytest

from tasks.adapters.runner.job import RunnerJob
from tasks.domain.names import LineNo, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Watch

MODULE = "def add(a, b):\n    total = a + b\n    return total\n\n\nif __name__ == '__main__':\n    print(add(1, 2))\n"
INSIDE_ADD = {2, 3}
HEAD = "import multiprocessing, os, subprocess, sys, time, unittest\n"
WAYS = {
    "a module": "subprocess.check_call([sys.executable, '-m', 'pkg.mod'])",
    "a command": "subprocess.check_call([sys.executable, '-c', 'import pkg.mod; pkg.mod.add(1, 2)'])",
    "a command that leaves by os._exit": (
        "subprocess.check_call([sys.executable, '-c', 'import os, pkg.mod; pkg.mod.add(1, 2); os._exit(0)'])"
    ),
    "a python of a python": (
        "subprocess.check_call([sys.executable, '-c',"
        ' \'import subprocess, sys; subprocess.check_call([sys.executable, "-m", "pkg.mod"])\'])'
    ),
    "a server that is terminated": """
        child = subprocess.Popen(
            [sys.executable, '-uc', 'import pkg.mod, time; print(pkg.mod.add(1, 2)); time.sleep(60)'],
            stdout=subprocess.PIPE)
        child.stdout.readline()
        child.terminate()
        self.assertEqual(child.wait(), -15)
        child.stdout.close()
        """,
    "os.fork": """
        import pkg.mod
        child = os.fork()
        if not child:
            pkg.mod.add(1, 2)
            os._exit(0)
        os.waitpid(child, 0)
        """,
    "os.fork of an unloaded module": """
        child = os.fork()
        if not child:
            import pkg.mod
            pkg.mod.add(1, 2)
            os._exit(0)
        os.waitpid(child, 0)
        """,
    "os.fork that comes to the end of the runner": """
        child = os.fork()
        if not child:
            import pkg.mod
            pkg.mod.add(1, 2)
            sys.exit(0)
        os.waitpid(child, 0)
        """,
    "a fork of multiprocessing": """
        import pkg.mod
        child = multiprocessing.get_context('fork').Process(target=pkg.mod.add, args=(1, 2))
        child.start()
        child.join()
        """,
    "a spawn of multiprocessing": """
        import pkg.mod
        child = multiprocessing.get_context('spawn').Process(target=pkg.mod.add, args=(1, 2))
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 0)
        """,
    "a fork server": """
        import pkg.mod
        child = multiprocessing.get_context('forkserver').Process(target=pkg.mod.add, args=(1, 2))
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 0)
        """,
    "a pool that is terminated": """
        import pkg.mod
        with multiprocessing.get_context('fork').Pool(2) as pool:
            self.assertEqual(pool.starmap(pkg.mod.add, [(1, 2)] * 8), [3] * 8)
        """,
}


def job(tests: str = "test_it.py") -> RunnerJob:
    watch = Watch(path=RepoPath("pkg/mod.py"), lines=tuple(map(LineNo, range(1, 8))))
    return RunnerJob(kind=RunnerKind.UNITTEST, files=(RepoPath(tests),), watch=(watch,), pythonpath=True)


def case(body: str) -> dict[str, str]:
    """A project with a test of this body, beside one that does nothing."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
    tests = f"{HEAD}\n\nclass Cases(unittest.TestCase):\n    def test_it(self):\n{lines}\n\n"
    tests += "    def test_nothing(self): pass\n"
    return {"pkg/__init__.py": "", "pkg/mod.py": MODULE, "test_it.py": tests}


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.6", "3.9", "3.11", "3.13"], indirect=True)
@pytest.mark.parametrize("way", WAYS)
def test_lines_of_a_child_belong_to_the_case_that_started_it(python: str, way: str, request, project, run) -> None:
    if way == "a fork server" and request.node.callspec.params["python"] == "3.6":
        pytest.skip("its children tell their exit code before they end, so their lines may come after the case")
    ran = run(python, project(case(WAYS[way])), job())
    assert ran.outcomes == {
        "test_it.Cases.test_it": "passed/call",
        "test_it.Cases.test_nothing": "passed/call",
    }, ran.output
    assert ran.report.completed
    assert ran.report.unprobed == ()
    assert {line for _, name, line in ran.lines if name == "test_it.Cases.test_it"} >= INSIDE_ADD
    assert not {line for _, name, line in ran.lines if name != "test_it.Cases.test_it"} & INSIDE_ADD
    (file,) = ran.report.watched
    assert file.loaded


@pytest.mark.parametrize("python", ["3.6", "3.13"], indirect=True)
def test_each_execution_counts_once(python: str, project, run) -> None:
    """What ran before the fork is not the child's."""
    body = """
        import pkg.mod
        pkg.mod.add(1, 2)
        for _ in range(3):
            child = os.fork()
            if not child:
                pkg.mod.add(1, 2)
                os._exit(0)
            os.waitpid(child, 0)
        """
    ran = run(python, project(case(body)), job())
    hits = [hit for hit in ran.report.hits if hit.case_id == "test_it.Cases.test_it"]
    counts = {line: count for hit in hits for line, count in zip(hit.lines, hit.counts or (), strict=True)}
    assert {line: counts[line] for line in INSIDE_ADD} == dict.fromkeys(INSIDE_ADD, 4)


@pytest.mark.parametrize("python", ["3.6", "3.13"], indirect=True)
def test_a_watched_file_that_runs_as_a_script_is_named(python: str, project, run) -> None:
    """No probe can be planted there, so nothing is said of its lines."""
    ran = run(python, project(case("subprocess.check_call([sys.executable, 'pkg/mod.py'])")), job())
    assert ran.report.unprobed == ("pkg/mod.py",)


FORGED = """
        import json
        lines = [
            {'k': 'case', 'case': 'test_it.Cases.test_forged', 'outcome': 'passed'},
            {'path': 'pkg/mod.py', 'probed': True, 'lines': [99, 2], 'counts': [1, 1]},
            {'path': 'pkg/mod.py', 'probed': True, 'lines': [2], 'counts': [-5]},
            {'path': 'pkg/mod.py', 'probed': True, 'lines': [[2]], 'counts': [1]},
            {'path': 'pkg/other.py', 'probed': True, 'lines': [2], 'counts': [1]},
            {'path': 'pkg/mod.py', 'probed': True, 'lines': [3], 'counts': [1]},
            7,
        ]
        path = os.environ['SWT_LINES'].replace('.children', '.lines')
        with open(path, 'ab') as target:
            for line in lines:
                target.write(json.dumps(line).encode() + b'\\n')
            target.write(b'\\xff\\n' + b'[' * 100000 + b'\\nhalf a line')
        self.fail('all the same')
        """


@pytest.mark.parametrize("python", ["3.6", "3.13"], indirect=True)
def test_a_forged_line_is_an_execution_of_a_line_in_a_probed_file_or_nothing(python: str, project, run) -> None:
    ran = run(python, project(case(FORGED)), job())
    assert ran.outcomes == {
        "test_it.Cases.test_it": "failed/call",
        "test_it.Cases.test_nothing": "passed/call",
    }, ran.output
    assert ran.lines == {("pkg/mod.py", "test_it.Cases.test_it", line) for line in (2, 3)}
    assert ran.report.garbage == 0
    assert ran.report.completed


@pytest.mark.parametrize("python", ["3.6", "3.9", "3.13"], indirect=True)
def test_a_child_starts_as_without_us(python: str, project, run) -> None:
    """Its path does not name our folder, and a `sitecustomize` of its own runs."""
    show = "import sys; print(sys.path, sys.modules['sitecustomize'].__file__)"
    files = case(f"print(subprocess.check_output([sys.executable, '-c', {show!r}]).decode())")
    ran = run(python, project(files | {"sitecustomize.py": "print('its own')\n"}), job())
    said = ran.output.split("its own", 1)[1].split("\n")[1]
    assert "inside" not in said
    assert said.endswith("checkout/sitecustomize.py")
    plain = run(python, project(case("subprocess.check_call([sys.executable, '-c', 'import pkg'])")), job())
    assert plain.outcomes["test_it.Cases.test_it"] == "passed/call", plain.output
