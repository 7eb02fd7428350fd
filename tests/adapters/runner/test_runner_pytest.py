"""pytest, old and new: needs a package registry to install them."""

from __future__ import annotations

import pytest
from runner_projects import PYTEST, PYTEST_OUTCOMES

from tasks.adapters.runner.job import RunnerJob
from tasks.domain.names import LineNo, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Watch

pytestmark = pytest.mark.network
FILES = tuple(RepoPath(name) for name in PYTEST if name.startswith("tests/"))
WATCH = Watch(path=RepoPath("pkg/mod.py"), lines=tuple(LineNo(line) for line in range(1, 12)))


def job(*files: str, test_args: tuple[str, ...] = ()) -> RunnerJob:
    return RunnerJob(
        kind=RunnerKind.PYTEST,
        files=tuple(RepoPath(name) for name in files) or FILES,
        pythonpath=True,
        watch=(WATCH,),
        test_args=test_args,
    )


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.6", "3.9", "3.11", "3.13"], indirect=True)
def test_every_outcome_and_phase(python: str, request, libraries, project, run) -> None:
    minor = request.node.callspec.params["python"]
    ran = run(python, project(PYTEST), job(), libraries(minor))
    assert ran.outcomes == PYTEST_OUTCOMES, ran.output[-2000:]
    assert ran.report.completed
    assert ran.report.complaint == ""
    cases = {case.case_id: case for case in ran.report.cases}
    assert cases["tests/test_all.py::test_params[a::b]"].qualname == "test_params"
    assert cases["tests/test_all.py::TestClass::test_method"].qualname == "TestClass.test_method"
    assert cases["tests/test_all.py::test_skipped"].message.endswith("why")
    assert "assert 0 == 5" in cases["tests/test_all.py::test_failed"].message
    assert {line for _, case, line in ran.lines if case == "tests/test_all.py::test_passed"} == {5, 6}


@pytest.mark.parametrize("python", ["3.12"], indirect=True)
def test_ids_are_relative_to_the_checkout_whatever_the_root_folder(python: str, libraries, project, run) -> None:
    files = {"tests/pytest.ini": "[pytest]\n", "tests/test_a.py": "def test_x(): pass\n", "pkg/mod.py": ""}
    ran = run(python, project(files), job("tests/test_a.py"), libraries("3.12"))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output


@pytest.mark.parametrize("python", ["3.12"], indirect=True)
def test_workers_of_xdist_are_not_started(python: str, libraries, project, run) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = -n 2\n", "pkg/mod.py": "X = 1\n"}
    files["tests/test_a.py"] = "import pkg.mod\ndef test_x(): assert pkg.mod.X\n"
    ran = run(python, project(files), job("tests/test_a.py"), libraries("3.12"))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output
    assert ran.lines == {("pkg/mod.py", None, 1)}


@pytest.mark.parametrize("python", ["3.6", "3.9", "3.12", "3.13"], indirect=True)
@pytest.mark.parametrize("more", ["", " -p no:cacheprovider"])
def test_a_project_that_is_strict_about_its_options_may_have_a_cache(
    python: str, more: str, request, libraries, project, run
) -> None:
    strict = "" if request.node.callspec.params["python"] == "3.9" else " --strict-config"  # pytest 6 and later
    files = {"pytest.ini": f"[pytest]\naddopts ={strict}{more}\ncache_dir = .cached\n", "pkg/mod.py": ""}
    files["tests/test_a.py"] = "import os\ndef test_x(): assert not os.path.exists('.cached')\n"
    root = project(files)
    ran = run(python, root, job("tests/test_a.py"), libraries(request.node.callspec.params["python"]))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output
    assert ran.report.complaint == ""
    assert not (root / ".cached").exists()


@pytest.mark.parametrize("python", ["3.6", "3.9", "3.13"], indirect=True)
def test_projects_may_use_the_cache_and_name_its_options(python: str, request, libraries, project, run) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = --ff\n", "pkg/mod.py": ""}
    files["tests/test_a.py"] = "def test_x(request):\n    assert request.config.cache.get('a/b', 7) == 7\n"
    root = project(files)
    ran = run(python, root, job("tests/test_a.py"), libraries(request.node.callspec.params["python"]))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output
    assert not (root / ".pytest_cache").exists()


@pytest.mark.parametrize("python", ["3.6", "3.13"], indirect=True)
def test_the_folder_of_the_cache_is_there(python: str, request, libraries, project, run) -> None:
    """Astropy's own plugin once read the same option, and made folders in the one it names."""
    conftest = "import os\ndef pytest_runtest_setup(item): os.mkdir(item.config.getini('cache_dir') + '/own')\n"
    files = {"conftest.py": conftest, "tests/test_a.py": "def test_x(): pass\n", "pkg/mod.py": ""}
    ran = run(python, project(files), job("tests/test_a.py"), libraries(request.node.callspec.params["python"]))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output


@pytest.mark.parametrize("python", ["3.12"], indirect=True)
def test_a_refusal_to_start_is_a_complaint(python: str, libraries, project, run) -> None:
    ran = run(python, project({"pkg/mod.py": ""}), job("tests/none.py"), libraries("3.12"))
    assert ran.report.completed
    assert ran.report.exit_code == 4
    assert "refused to start" in ran.report.complaint


@pytest.mark.parametrize("python", ["3.11"], indirect=True)
def test_of_reruns_the_last_counts(python: str, libraries, project, run) -> None:
    text = "import os\ndef test_x():\n    n = os.environ['N'] = os.environ.get('N', '') + 'x'\n    assert n == 'xx'\n"
    ran = run(
        python,
        project({"tests/test_a.py": text, "pkg/mod.py": ""}),
        job("tests/test_a.py", test_args=("--reruns", "3")),
        libraries("3.11"),
    )
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output


@pytest.mark.parametrize("python", ["3.6", "3.13"], indirect=True)
def test_a_failed_subtest_fails_its_case(python: str, request, libraries, project, run) -> None:
    text = (
        "def test_x(subtests):\n    for i in range(3):\n        with subtests.test(i=i):\n            assert i != 1\n"
    )
    minor = request.node.callspec.params["python"]
    ran = run(python, project({"tests/test_a.py": text, "pkg/mod.py": ""}), job("tests/test_a.py"), libraries(minor))
    assert ran.outcomes == {"tests/test_a.py::test_x": "failed/call"}


@pytest.mark.parametrize("python", ["3.12"], indirect=True)
def test_a_plain_run_is_what_the_tests_see(python: str, libraries, project, run) -> None:
    text = (
        "import inspect, sys, pickle, pkg.mod\n"
        "def test_x():\n"
        "    assert sys.argv[0].endswith('pytest')\n"
        "    assert not [p for p in sys.path if 'inside' in p]\n"
        "    assert not hasattr(sys.modules['__main__'], 'start')\n"
        "    assert inspect.getsource(pkg.mod.f) == 'def f():\\n    return 1\\n'\n"
        "    assert pkg.mod.f.__code__.co_firstlineno == 1\n"
        "    assert pkg.mod.f.__code__.co_names == ()\n"
        "    assert pickle.loads(pickle.dumps(pkg.mod.f)) is pkg.mod.f\n"
        "    assert type(pkg.mod.__loader__).__name__ == 'SourceFileLoader'\n"
    )
    files = {"tests/test_a.py": text, "pkg/mod.py": "def f():\n    return 1\n"}
    ran = run(python, project(files), job("tests/test_a.py"), libraries("3.12"))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output
    assert ("pkg/mod.py", None, 1) in ran.lines


@pytest.mark.parametrize("python", ["3.12"], indirect=True)
def test_a_file_that_pytest_rewrites_keeps_its_rewriting_and_is_named_as_unprobed(
    python: str, libraries, project, run
) -> None:
    files = {"conftest.py": "pytest_plugins = ['plug']\n", "pkg/mod.py": ""}
    files["plug.py"] = "def check(x):\n    assert x == 1\n"
    files["tests/test_a.py"] = "import plug\ndef test_x():\n    plug.check(2)\n"
    watch = Watch(path=RepoPath("plug.py"), lines=(LineNo(1), LineNo(2)))
    job = RunnerJob(
        kind=RunnerKind.PYTEST, files=(RepoPath("tests/test_a.py"),), pythonpath=True, watch=(watch,), seed=None
    )
    ran = run(python, project(files), job, libraries("3.12"))
    assert "assert 2 == 1" in ran.report.cases[0].message
    assert ran.report.unprobed == ("plug.py",)
    assert [(facts.loaded, facts.executable) for facts in ran.report.watched] == [(True, (1, 2))]


ENDINGS = {
    "exit": "pytest.exit('enough')",
    "exit with 0": "pytest.exit('enough', returncode=0)",
    "interrupt": "raise KeyboardInterrupt",
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("python", ["3.6", "3.9", "3.11", "3.13"], indirect=True)
def test_a_set_up_alone_is_no_pass(python: str, ending: str, request, libraries, project, run) -> None:
    minor = request.node.callspec.params["python"]
    body = f"import pytest\n\n\ndef test_1(): pass\n\n\ndef test_2():\n    {ENDINGS[ending]}\n\n\ndef test_3(): pass\n"
    ran = run(python, project({"tests/test_a.py": body, "pkg/mod.py": ""}), job("tests/test_a.py"), libraries(minor))
    assert ran.settled == {
        "tests/test_a.py::test_1": "passed/call",
        "tests/test_a.py::test_2": "error/call",
        "tests/test_a.py::test_3": "error/setup",
    }, ran.output
    assert "interrupted" in ran.report.complaint


ADDOPTS = [
    "-m 'not slow'",
    "-k quick",
    "--deselect tests/test_a.py::test_slow",
    "--ignore tests/test_a.py",
    "--ignore tests",
    "-x",
    "--maxfail=1",
]


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.6", "3.9", "3.12", "3.13"], indirect=True)
def test_the_options_of_a_project_leave_out_no_case(python: str, request, libraries, project, run) -> None:
    """`addopts` may choose cases, and those of the files that are named run all the same."""
    library = libraries(request.node.callspec.params["python"])
    for number, options in enumerate(ADDOPTS):
        files = {"pytest.ini": f"[pytest]\naddopts = {options}\nmarkers =\n    slow: x\n", "pkg/mod.py": ""}
        files["tests/test_a.py"] = (
            "import pytest\ndef test_first(): assert 0\n"
            "@pytest.mark.slow\ndef test_slow(): pass\ndef test_quick(): pass\n"
        )
        root = project({f"{number}/{path}": text for path, text in files.items()}) / str(number)
        ran = run(python, root, job("tests/test_a.py"), library)
        assert ran.outcomes == {
            "tests/test_a.py::test_first": "failed/call",
            "tests/test_a.py::test_slow": "passed/call",
            "tests/test_a.py::test_quick": "passed/call",
        }, (options, ran.output)
        assert ran.report.complaint == ""
    chosen = run(python, root, job("tests/test_a.py", test_args=("-k", "quick")), library)
    assert chosen.outcomes == {"tests/test_a.py::test_quick": "passed/call"}, chosen.output


@pytest.mark.parametrize("python", ["3.10"], indirect=True)
def test_cases_that_run_in_forks_have_lines(python: str, libraries, project, run) -> None:
    """pytest-forked runs each case in a process of its own."""
    files = {"pytest.ini": "[pytest]\naddopts = --forked\n", "pkg/mod.py": "def one():\n    return 1\n"}
    files["tests/test_a.py"] = (
        "import os\nimport pkg.mod\nBEGAN = os.getpid()\ndef test_x(): assert pkg.mod.one() and os.getpid() != BEGAN\n"
    )
    ran = run(python, project(files), job("tests/test_a.py"), libraries("3.10"))
    assert ran.outcomes == {"tests/test_a.py::test_x": "passed/call"}, ran.output
    assert ran.lines == {("pkg/mod.py", None, 1), ("pkg/mod.py", "tests/test_a.py::test_x", 2)}
