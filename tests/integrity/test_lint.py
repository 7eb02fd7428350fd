"""Every rule has its case, honest code has no finding, and nothing crashes on what is no code."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from domain_rows import task_instance
from hypothesis import given
from hypothesis import strategies as st

from tasks.adapters.patch.render import added_lines
from tasks.adapters.store.views.sql_files import named_queries
from tasks.domain.candidate import Suite
from tasks.evaluate.intake.patch_filter import golden_suite
from tasks.integrity.lint.module import LintedModule
from tasks.integrity.lint.rules import lint, lint_rows

ROOT = Path(__file__).parents[2]
CASES = tomllib.loads((Path(__file__).parent / "cases" / "lint_rules.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    found = lint(case["code"], case.get("before"))
    assert [finding.rule for finding in found] == case["rules"]


def test_every_rule_that_costs_something_has_a_case() -> None:
    (policy,) = (query for query in named_queries(ROOT / "sql") if query.name == "lint_policy")
    named = {
        line.split("'")[1] for text in policy.statements for line in text.splitlines() if line.strip().startswith("('")
    }
    assert named == {rule for case in CASES for rule in case["rules"]}


def test_only_what_a_suite_adds_counts() -> None:
    before = "import os\n\ndef test_a():\n    os._exit(0)\n"
    after = before + "\ndef test_b():\n    assert True\n"
    assert lint(after, before) == ()
    worse = after + "\ndef test_c():\n    os._exit(1)\n"
    assert [(finding.line, finding.detail) for finding in lint(worse, before)] == [(10, "os._exit(1)")]


def test_a_call_over_several_lines_counts_if_one_of_them_is_added() -> None:
    before = "import subprocess\nsubprocess.run(\n    ['ls'],\n)\n"
    after = before.replace("'ls'", "'git', 'log'")
    assert [(finding.line, finding.rule) for finding in lint(after, before)] == [(3, "git-command")]


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_what_python_takes_for_no_new_line_moves_no_finding(mark: str) -> None:
    before = "import os\n" + "x = 1\n" * 30
    after = f"# {mark * 20}\n{before}os._exit(1)\n"
    assert [finding.line for finding in lint(after, before)] == [33]


def test_what_python_takes_for_a_new_line_is_one() -> None:
    before = "import os\r\rx = 1\r\n"
    after = before + "os._exit(1)\r"
    assert [finding.line for finding in lint(after, before)] == [4]


@pytest.mark.timeout(60)
def test_megabytes_of_empty_lines_are_read_in_a_moment() -> None:
    """An edit of a file that has some itself: comparing each with each took minutes."""
    before = "".join(f"x{number} = {number}\n\n" for number in range(1500))
    after = before.replace("x7 = 7\n", "\n" * 1_900_000) + "y = 1\n"
    assert len(added_lines(before, after)) >= 1_899_000


def test_looks_at_a_variable_are_looked_up_and_not_searched_for() -> None:
    """A candidate of ten thousand of them took minutes, in which nothing else was taken in."""
    code = "import os\n" + "".join(f"a{number} = os.environ['{number}']\n" for number in range(300)) + "assert a7\n"
    with patch.object(LintedModule, "in_condition", autospec=True, side_effect=LintedModule.in_condition) as asked:
        assert [finding.line for finding in lint(code, None)] == [9]
    assert asked.call_count < 4 * 300


@given(st.text())
def test_any_text_is_linted_without_a_crash(text: str) -> None:
    for finding in lint(text, None):
        assert finding.line >= 0


def added_suite(**files: str) -> Suite:
    """A suite that adds one-line files below `tests/`, by module name."""
    patch = "".join(f"--- /dev/null\n+++ b/tests/{name}.py\n@@ -0,0 +1 @@\n+{line}\n" for name, line in files.items())
    suite = golden_suite(task_instance(test_patch=patch), {}.get)
    assert isinstance(suite, Suite)
    return suite


def test_rows_name_the_suite_and_the_place() -> None:
    suite = added_suite(test_new="import os; os._exit(0); test_x = 1")
    (row,) = lint_rows(suite, {}.get)
    assert (row.suite_id, row.path, row.line, row.rule) == (suite.suite_id, "tests/test_new.py", 1, "process-exit")


def test_helpers_are_linted_as_well() -> None:
    suite = added_suite(test_new="def test_b(): pass", helper="import os; os._exit(0)")
    assert [row.path for row in lint_rows(suite, {}.get)] == ["tests/helper.py"]
