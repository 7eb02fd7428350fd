from __future__ import annotations

import pytest
from domain_rows import environment_row

from tasks.adapters.patch.render import Change
from tasks.adapters.runner.collect import Collected, Collection
from tasks.adapters.sandbox.base import Finished
from tasks.domain.environment import Cause
from tasks.domain.names import RepoPath
from tasks.domain.outcome import CodeState
from tasks.environment.readiness.check import TestRequirements, wanting
from tasks.environment.readiness.late_imports import imported_modules, wanted_by_imports

SOURCE = """
import os.path as path
from typing import TYPE_CHECKING
import typing as t

if TYPE_CHECKING:
    import only_types
    from also.types import One
else:
    import not_types
if t.TYPE_CHECKING:
    import more_types

from . import beside
from .near import thing

def test_one():
    import pandas as pd
    from sklearn.base import clone
    pytest.importorskip("upath", "1.0")
    importlib.import_module("yaml.nodes")
    importlib.import_module(name)
    __import__("late")
    print("printed")
"""
MODULES = {"os.path", "typing", "not_types", "pandas", "sklearn.base", "upath", "yaml.nodes", "late"}


def test_imports_are_found_wherever_they_stand() -> None:
    assert set(imported_modules(SOURCE)) == MODULES


@pytest.mark.parametrize("text", ["print 'two'", "\0", "(" * 100_000, "x = " + "-" * 200_000 + "1", "ä" * 10_000_000])
def test_what_is_no_python_imports_nothing(text: str) -> None:
    assert imported_modules(text) == ()


def test_what_the_project_names_and_has_not_got_is_wanted_by_its_distribution() -> None:
    declared = frozenset({"pandas", "scikit-learn", "universal-pathlib", "pyyaml", "unused"})
    wanted = wanted_by_imports(["broken(", SOURCE, SOURCE], declared, frozenset({"pyyaml"}))
    assert sorted(wanted) == ["pandas", "scikit-learn", "universal-pathlib"]


def test_what_bodies_import_and_what_skips_name_is_one_trouble_that_can_be_borne() -> None:
    changes = (
        Change(path=RepoPath("pkg/code.py"), before=None, after="import source_alone\n"),
        Change(path=RepoPath("tests/test_new.py"), before=None, after="def test_it():\n    import pandas\n"),
        Change(path=RepoPath("tests/test_gone.py"), before="import gone\n", after=None),
    )
    golden = (RepoPath("tests/test_new.py"), RepoPath("tests/test_gone.py"))
    sources = TestRequirements(before=(), after=golden, changes=changes).sources
    ended = Finished(exit_code=0, timed_out=False, limit="", log_truncated=False, wall_s=1.0, cpu_s=1.0)
    states = (
        Collected(name=CodeState.BEFORE, skips=("needs gone",)),
        Collected(name=CodeState.AFTER, skips=("could not import 'mock'",)),
    )
    seen = Collection(finished=ended, states=states, log="")

    declared = ("mock", "pandas", "gone", "source-alone")
    found = wanting(seen, sources, environment_row(lock="numpy==1.0\n"), declared)
    assert found is not None
    assert (found.cause, found.names, found.is_bearable) == (Cause.SKIPS, ("mock", "pandas"), True)
    assert found.detail == "could not import 'mock'\na test imports pandas"
    everything = environment_row(lock="pandas==1.0\nmock==2.0\n")
    assert wanting(seen, sources, everything, declared) is None
