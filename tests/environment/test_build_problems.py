from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.environment import Cause
from tasks.environment.readiness.build_problems import first_trouble, last_error, read_trouble, tail, wanted_by_skips

CASES = tomllib.loads((Path(__file__).parent / "cases" / "troubles.toml").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['cause']} {case['names']}" for case in CASES])
def test_what_a_complaint_comes_from(case: dict[str, Any]) -> None:
    found = read_trouble(case["text"], {"pkg"})
    assert (found.cause, list(found.names)) == (case["cause"], case["names"])
    assert found.summary.startswith(case["cause"])


def test_the_end_is_kept() -> None:
    text = "\n".join(f"line {number}" for number in range(1000))
    assert tail(text).endswith("line 999")
    assert tail(text).startswith("line 970")


def test_of_several_the_one_that_can_be_mended_counts() -> None:
    texts = ("", "ImportError: cannot import name 'a' from 'pkg'", "ModuleNotFoundError: No module named 'six'")
    found = first_trouble(texts, {"pkg"})
    assert found is not None
    assert found.cause is Cause.MISSING_MODULE
    assert first_trouble(("", ""), ()) is None


def test_the_summary_is_one_line_that_names_the_error() -> None:
    found = read_trouble("E   ModuleNotFoundError: No module named 'six'\n=== 1 error in 0.1s ===\n", ())
    assert found.summary == "missing-module (six): ModuleNotFoundError: No module named 'six'"


def test_the_summary_of_a_build_names_what_the_compiler_missed() -> None:
    said = (
        "building 'pkg._hull' extension\n"
        "src/wrap.cpp:19:10: fatal error: hull/hull.h: No such file or directory\n"
        "compilation terminated.\n"
        "error: command '/usr/bin/gcc' failed with exit code 1\n"
    )
    assert last_error(said) == "src/wrap.cpp:19:10: fatal error: hull/hull.h: No such file or directory"
    assert last_error("x " * 3_000_000 + "\nerror: command 'gcc' failed") == "error: command 'gcc' failed"


@pytest.mark.parametrize(
    ("reason", "names"),
    [
        ("could not import 'numpy': No module named 'numpy'", ("numpy",)),
        ("could not import 'yaml.nodes'", ("pyyaml",)),
        ("Requires cryptography library to be installed", ("cryptography",)),
        ("needs scikit-image, and NumPy", ("scikit-image", "numpy")),
        ("pytest is too old", ()),  # it is there
        ("could not import 'graph_of_somebody'", ()),  # nowhere in the project
        ("not on Windows", ()),
        ("", ()),
    ],
)
def test_what_a_skip_wants_is_what_the_project_names(reason: str, names: tuple[str, ...]) -> None:
    declared = {"numpy", "pyyaml", "cryptography", "scikit-image", "pytest"}
    assert wanted_by_skips([reason], declared, {"pytest"}) == names


def test_a_long_reason_is_read_in_linear_time() -> None:
    assert wanted_by_skips(["a.b-" * 500_000], {"numpy"}, ()) == ()
