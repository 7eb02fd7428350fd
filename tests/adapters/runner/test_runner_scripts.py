"""Runners that live in the repository under test: a small stand-in for each one's script and reporter."""

from __future__ import annotations

import pytest
from script_projects import DJANGO, DJANGO_PROJECT, SYMPY

from tasks.adapters.runner.job import RunnerJob, runner_argv, runner_version
from tasks.domain.names import LineNo, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Watch


@pytest.mark.parametrize("python", ["3.6", "3.9", "3.13"], indirect=True)
def test_sympy(python: str, project, run) -> None:
    files = ("sympy/core/tests/test_x.py", "sympy/core/tests/test_bad.py", "test_new.py")
    watch = Watch(path=RepoPath("sympy/core/m.py"), lines=(LineNo(1), LineNo(2), LineNo(3)))
    job = RunnerJob(
        kind=RunnerKind.SYMPY,
        files=tuple(RepoPath(name) for name in files),
        test_args=("-C", "--verbose"),
        watch=(watch,),
        seed=7,
    )
    ran = run(python, project(SYMPY), job)
    here = "sympy/core/tests/test_x.py::"
    assert ran.outcomes == {
        here + "test_passed": "passed/call",
        here + "test_failed": "failed/call",
        here + "test_error": "error/call",
        here + "test_skipped": "skipped/call",
        here + "test_xfailed": "xfailed/call",
        here + "test_xpassed": "xpassed/call",
        "sympy/core/tests/test_bad.py": "error/collect",
        "test_new.py::test_passed": "passed/call",
    }, ran.output
    assert ran.lines == {("sympy/core/m.py", None, 1), ("sympy/core/m.py", here + "test_passed", 2)}
    assert {case.label for case in ran.report.cases if case.path == "test_new.py"} == {"test_passed"}
    assert "seed 7" in ran.output
    assert ran.report.completed


@pytest.mark.parametrize("python", ["3.6", "3.9", "3.13"], indirect=True)
def test_django(python: str, project, run) -> None:
    files = ("tests/app/test_x.py", "tests/test_odd__name-1.py", "tests/app/test_bad.py")
    job = RunnerJob(kind=RunnerKind.DJANGO, files=tuple(RepoPath(name) for name in files), pythonpath=True)
    ran = run(python, project(DJANGO), job)
    assert ran.outcomes == {
        "app.test_x.A.test_passed": "passed/call",
        "app.test_x.A.test_before_start": "error/setup",
        "test_odd__name-1.B.test_passed": "passed/call",
        "tests/app/test_bad.py": "error/collect",
    }, ran.output
    assert [case.path for case in ran.report.cases if "odd" in case.case_id] == ["tests/test_odd__name-1.py"]
    assert "--parallel 1 app.test_x" in ran.output
    assert ran.report.completed
    assert ran.report.exit_code == 1


@pytest.mark.parametrize("python", ["3.6", "3.9", "3.13"], indirect=True)
@pytest.mark.parametrize("folder", ["", "backend/"])
def test_a_django_project_runs_by_its_manage_py(python: str, folder: str, project, run) -> None:
    job = RunnerJob(
        kind=RunnerKind.DJANGO,
        files=(RepoPath(f"{folder}shop/tests.py"), RepoPath(f"{folder}shop/test_bad.py")),
        test_args=(f"{folder}manage.py", "test", "--verbosity", "2", "--noinput"),
        watch=(Watch(path=RepoPath(f"{folder}shop/models.py"), lines=(LineNo(2),)),),
    )
    ran = run(python, project({folder + path: text for path, text in DJANGO_PROJECT.items()}), job)
    case = "shop.tests.ShopTests.test_total"
    assert ran.outcomes == {
        case: "passed/call",
        "shop.tests.ShopTests.test_failed": "failed/call",
        f"{folder}shop/test_bad.py": "error/collect",
    }, ran.output
    assert {row.path for row in ran.report.cases if row.case_id == case} == {f"{folder}shop/tests.py"}
    assert (f"{folder}shop/models.py", case, 2) in ran.lines
    assert ran.report.completed
    assert ran.report.exit_code == 1


def test_the_command() -> None:
    assert runner_argv("/env/bin/python", "/runner", "/box/c.json") == (
        "/env/bin/python",
        "/runner/swt_main.py",
        "/box/c.json",
    )
    assert len(runner_version()) == 32
