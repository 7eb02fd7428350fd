"""What `coverage_overhead` runs: test files of real commits, with the source lines watched that the commit changes."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.outcome import RunnerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One commit of a repository that runs on CPython 3.9 and on 3.12."""

    name: str
    repo: str
    commit: str
    """Its own diff says which files and lines are watched; its tree is what runs."""
    runner: RunnerKind
    test_files: tuple[str, ...]
    test_args: tuple[str, ...]
    requirements: tuple[str, ...]
    """Installed from the package index; the project itself runs from the checkout."""
    source_roots: tuple[str, ...] = ("",)
    generated: tuple[tuple[str, str], ...] = ()
    """(path, text) of files that a build would leave in the checkout."""
    metadata: str = ""
    """`name==version` where the code asks for its own metadata; empty where it does not."""


WORKLOADS = (
    Workload(
        name="pytest",
        repo="pytest-dev/pytest",
        commit="4f777ff5c83273deba23832dd7e3768ba122fe39",
        runner=RunnerKind.PYTEST,
        test_files=("testing/test_skipping.py",),
        test_args=("-rA",),
        requirements=(
            "attrs==24.2.0",
            "exceptiongroup==1.2.2",
            "hypothesis==6.122.1",
            "iniconfig==2.0.0",
            "packaging==24.2",
            "pluggy==1.5.0",
            "tomli==2.2.1",
            "xmlschema==3.4.3",
        ),
        source_roots=("src",),
        generated=(("src/_pytest/_version.py", "version = '8.4.0'\nversion_tuple = (8, 4, 0)\n"),),
        metadata="pytest==8.4.0",
    ),
    Workload(
        name="django",
        repo="django/django",
        commit="dd68af62b2b27ece50d434f6a351877212e15c3f",
        runner=RunnerKind.DJANGO,
        test_files=("tests/aggregation/tests.py", "tests/queries/tests.py"),
        test_args=("--verbosity", "1", "--settings=test_sqlite", "--parallel", "1"),
        requirements=("asgiref==3.7.2", "sqlparse==0.4.4", "typing_extensions==4.8.0"),
    ),
    Workload(
        name="sympy",
        repo="sympy/sympy",
        commit="7956cac20716acee3ecd08aa249096b1af5ebdcc",
        runner=RunnerKind.SYMPY,
        test_files=("sympy/core/tests/test_expand.py", "sympy/core/tests/test_sympify.py"),
        test_args=("-C", "--verbose"),
        requirements=("mpmath==1.3.0",),
    ),
)
