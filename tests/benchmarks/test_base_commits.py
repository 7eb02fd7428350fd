"""Choosing base commits, and the table of what became of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from domain_rows import stability_row, task_instance, validation_row
from scratch_git import git

from benchmarks.base_commits import file_rows, history_rows, spread
from benchmarks.environment_inference import names_of
from benchmarks.environment_table import Judged, Measured, Spent, commits, table
from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.collect import Repository
from tasks.domain.names import CaseId, EnvId, RepoName
from tasks.domain.validation import InvalidReason

REPO = RepoName("owner/name")
TOY = Repository(repo=REPO, licence="MIT", default_branch="main", test_globs=(), source_globs=())


def commit(folder: Path, message: str, day: int, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", message, date=f"2020-01-{day:02}T12:00:00+00:00")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def bases(tmp_path: Path) -> tuple[Mirrors, dict[str, str]]:
    """A mirror, and the commits of its history by their subjects."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    made = {
        "start": commit(folder, "start", 1, source="a = 1\n", test_a="def test_a():\n    pass\n"),
        "no test": commit(folder, "Polish (#1)", 10, source="a = 2\n"),
        "fix": commit(folder, "Fix (#2)", 12, source="a = 3\n", test_a="def test_b():\n    pass\n"),
        "no number": commit(folder, "Fix", 20, source="a = 4\n", test_a="def test_c():\n    pass\n"),
        "last": commit(folder, "Fix (#4)", 30, source="a = 5\n", test_a="def test_d():\n    pass\n"),
    }
    mirrors = Mirrors(tmp_path / "mirrors")
    mirrors.add(REPO, folder)
    return mirrors, made


@pytest.mark.parametrize(
    ("count", "expected"), [(1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9]), (20, list(range(10))), (0, [])]
)
def test_items_are_taken_at_equal_distances(count: int, expected: list[int]) -> None:
    assert spread(range(10), count) == expected


def test_changes_with_both_halves_are_taken_from_the_history(bases: tuple[Mirrors, dict[str, str]]) -> None:
    mirrors, made = bases
    rows = history_rows(mirrors, TOY, 2, datetime(2020, 1, 1, tzinfo=UTC))
    assert [(row["instance_id"], row["base_commit"]) for row in rows] == [
        ("owner__name-2", made["no test"]),
        ("owner__name-4", made["no number"]),
    ]
    assert "+a = 3" in rows[0]["patch"]
    assert "test_b" not in rows[0]["patch"]
    assert "+def test_b" in rows[0]["test_patch"]


def test_rows_with_a_list_come_first_and_no_version_is_kept(
    bases: tuple[Mirrors, dict[str, str]], tmp_path: Path
) -> None:
    mirrors, made = bases
    rows = [
        {"instance_id": f"owner__name-{number}", "repo": REPO, "base_commit": sha, "version": "1.0"}
        for number, sha in enumerate(made.values())
    ]
    rows[3]["FAIL_TO_PASS"] = '["test_a"]'
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = file_rows(mirrors, [tmp_path / "rows.jsonl"], [REPO], 3)
    assert [row["instance_id"][-1] for row in chosen] == ["3", "0", "4"]
    assert not any("version" in row for row in chosen)


def judged(
    *, env_id: str = "e", reason: InvalidReason = InvalidReason.NONE, listed: int | None = 2, wall_s: float = 1
) -> Judged:
    measured = Measured(
        instance="owner__name-1",
        repo=REPO,
        date="2020-01-01",
        origin="dataset",
        env_id=env_id,
        python="3.8" if env_id else "",
        runner="pytest",
        rung="extras" if env_id else "",
        failed_rungs={} if env_id else {"bare": "no solution"},
        causes={} if env_id else {"bare": "build"},
        complaint="",
        build=Spent(wall_s=wall_s, cpu_s=1),
        check=Spent(wall_s=wall_s, cpu_s=1),
    )
    validation = validation_row(
        task_instance(), reason, env_id=EnvId(env_id) if env_id else None, fail_to_pass=2, pass_to_pass=3, runs=4
    )
    return Judged(measured=measured, validation=validation, listed=listed, contained=listed and 2)


@pytest.mark.parametrize(
    ("case_id", "label", "listed"),
    [
        ("tests/test_a.py::test_b[1]", "tests/test_a.py::test_b[1]", "tests/test_a.py::test_b[1]"),
        ("sympy/a/tests/test_b.py::test_c", "sympy/a/tests/test_b.py::test_c", "test_c"),
        ("a.tests.B.test_c", "test_c (a.tests.B.test_c)", "test_c (a.tests.B)"),
        ("a.tests.B.test_c", "test_c (a.tests.B)\nSays what it is.", "test_c (a.tests.B)"),
        ("a.tests.B.test_c", "test_c (a.tests.B)\nSays what it is.", "Says what it is."),
    ],
)
def test_a_case_is_known_by_the_datasets_name(case_id: str, label: str, listed: str) -> None:
    case = stability_row(case_id=CaseId(case_id), label=label)
    assert listed in names_of(case)


def test_the_table_counts_what_was_built_and_what_is_valid() -> None:
    some = [
        judged(wall_s=10),
        judged(wall_s=30),
        judged(listed=None, wall_s=20),
        judged(listed=3, wall_s=20),
        judged(env_id="", reason=InvalidReason.INSTALL_ERROR, listed=None, wall_s=500),
    ]
    assert table(some).splitlines()[-1] == (
        "| all | 5 | 2020–2020 | 4 | 4 | 4 | 3 | 3 | 2 of 3 | extras 4 | 20 (30) | 1 (1) | 20 (30) | 1 (1) "
        "| listed F2P missing 1, install_error 1 |"
    )
    assert commits(some).splitlines() == [
        "owner__name-1 (2020-01-01, 3.8, extras): listed F2P missing; F2P 2, P2P 3, 2 of 3 listed",
        "owner__name-1 (2020-01-01, -, -): install_error; F2P 2, P2P 3, no list",
        "    bare: no solution",
    ]
