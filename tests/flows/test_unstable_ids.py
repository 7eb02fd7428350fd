"""Ids that differ in every process, skips beside a good case, and sessions that crash: from a test to its verdicts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from domain_rows import task_instance
from scratch_git import git

from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest, ValidationRequest
from flows.interface.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import InstanceId, RepoName, Sha, SnapshotName
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits
from tasks.domain.validation import CaseStability

REPO = RepoName("rolling-swt-bench/larder")
"""The one whose recipe is the interpreter that runs this."""
FILES = {
    "pyproject.toml": '[project]\nname = "widget"\nversion = "0.1"\n[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "widget.py": "def add(a, b):\n    return a - b\n",
}
FIX = {"widget.py": "def add(a, b):\n    return a + b\n"}
HEAD = "import os, random, sys, tempfile, time, uuid\nimport pytest\nfrom widget import add\n\n\n"
GOOD = "def test_add():\n    assert add(1, 2) == 3\n"
GOLDEN = HEAD + (
    '@pytest.mark.parametrize("token", [str(uuid.uuid4()), "kept", str(time.time())])\n'
    "def test_add(token):\n    assert add(1, 2) == 3\n"
)
ADDRESS = HEAD + (
    "class Num(int):\n    def __repr__(self):\n        return object.__repr__(self)\n\n\n"
    '@pytest.mark.parametrize("a", [Num(1)], ids=repr)\ndef test_add(a):\n    assert add(a, 2) == 3\n'
)
DRAWN = HEAD + (
    '@pytest.mark.parametrize("a", [random.randint(1, 10**9) for _ in range(3)] + [os.getpid(), 7])\n'
    "def test_add(a):\n    assert add(a, 2) == a + 2\n"
)
OTHER_NUMBER = HEAD + (
    '@pytest.mark.parametrize("a", [uuid.uuid4().hex for _ in range(1 + add(1, 1))])\n'
    + "def test_add(a):\n    assert add(1, 2) == 3\n"
)
SKIPS = (
    HEAD
    + GOOD
    + (
        '\n\n@pytest.mark.skipif(sys.platform != "win32", reason="only there")\ndef test_windows():\n    assert 0\n\n\n'
        '@pytest.mark.xfail(reason="another issue")\ndef test_known():\n    assert 0\n\n\n'
        '@pytest.mark.xfail(reason="gone")\ndef test_unexpected():\n    pass\n'
    )
)
STRICT = HEAD + GOOD + '\n\n@pytest.mark.xfail(strict=True, reason="gone")\ndef test_unexpected():\n    pass\n'
CRASHES = HEAD + GOOD + "\n\ndef test_leaves():\n    os._exit(0)\n"
EXPECTED = {
    "golden": (True, True, False),
    "address": (True, True, False),
    "drawn": (True, True, False),
    "other_number": (False, True, False),
    "skips": (True, True, False),
    "strict": (False, False, False),
    "crashes": (False, False, False),
}
"""Solved by `paper`, `swt_bench` and `swt_bench_2024`, which know ids alone and no case of a session that crashed."""


def diff(folder: Path, state: dict[str, str]) -> str:
    """What puts these files into the fixed project, as a patch; the project stays as it is."""
    for path, text in state.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "-A")
    patch = git(folder, "diff", "--cached", "--no-renames") + "\n"
    git(folder, "reset", "-q", "--hard")
    return patch


@pytest.fixture
def widget(tmp_path: Path, best_sandbox: SandboxKind) -> tuple[Settings, Path]:
    """A warehouse with one instance, and its project."""
    settings = Settings(
        store=str(tmp_path / "store"),
        cache=tmp_path / "cache",
        database=tmp_path / "swt.duckdb",
        scratch=tmp_path / "scratch",
        sandbox=best_sandbox,
        trusted=True,
        workers=1,
        limits=Limits(wall_s=60.0),
    )
    folder = tmp_path / "project"
    git(tmp_path, "init", "-q", str(folder))
    shas = []
    for state in (FILES, FIX):
        for path, text in state.items():
            (folder / path).write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x")
        shas.append(git(folder, "rev-parse", "HEAD"))
    ((base, fixed),) = pairwise(shas)
    patch, test_patch = git(folder, "diff", base, fixed) + "\n", diff(folder, {"tests/test_golden.py": GOLDEN})
    Mirrors(settings.places.mirrors).add(REPO, folder)
    row = task_instance(
        repo=REPO,
        instance_id=InstanceId("a__b-1"),
        base_commit=Sha(base),
        patch=patch,
        test_patch=test_patch,
        version="0.1",
        snapshot=SnapshotName("s"),
        instance_key=TaskInstance.key_of(REPO, base, patch, test_patch),
    )
    made = Snapshot(
        snapshot=row.snapshot, instances=1, content="", source="", created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    Store(settings.store).write([row])
    Store(settings.store).write([made])
    return settings, folder


@pytest.mark.slow
def test_verdicts_of_suites_with_ids_that_differ_with_skips_and_with_crashes(widget: tuple[Settings, Path]) -> None:
    settings, folder = widget
    texts = {
        "address": ADDRESS,
        "drawn": DRAWN,
        "other_number": OTHER_NUMBER,
        "skips": SKIPS,
        "strict": STRICT,
        "crashes": CRASHES,
    }
    lines = [
        json.dumps(
            {
                "instance_id": "a__b-1",
                "model_name_or_path": name,
                "model_patch": diff(folder, {"tests/test_it.py": text}),
            }
        )
        for name, text in texts.items()
    ]
    (folder.parent / "preds.jsonl").write_text("\n".join(lines))
    candidates = ("golden", str(folder.parent / "preds.jsonl"))
    request = EvaluationRequest(candidates=candidates, snapshot="s", coverage=False, guards=False)
    assert run_flow(request, settings).exit_code == 0
    rows = query(
        settings.database,
        "PIVOT (SELECT method, grader, solved FROM verdict) ON grader USING bool_or(solved) ORDER BY method",
    ).to_pylist()
    found = {row["method"]: (row["paper"], row["swt_bench"], row["swt_bench_2024"]) for row in rows}
    assert found == EXPECTED
    pairs = "SELECT case_id, pair FROM case_matrix WHERE method = '{}' AND in_t ORDER BY case_id"
    golden = query(settings.database, pairs.format("golden")).to_pylist()
    assert [row["pair"] for row in golden if "[kept]" not in row["case_id"]] == ["place", "place"]
    assert [row["pair"] for row in golden if "[kept]" in row["case_id"]] == ["id"]
    other = query(settings.database, pairs.format("other_number")).to_pylist()
    assert {row["pair"] for row in other} == {"ambiguous"}


@pytest.mark.slow
def test_guards_coverage_and_validation_pair_by_place_as_well(widget: tuple[Settings, Path]) -> None:
    settings, _ = widget
    assert run_flow(ValidationRequest(snapshot="s"), settings).valid == ("a__b-1",)
    rows = Store(settings.store).read(CaseStability)
    assert sorted((row.label, row.stability) for row in rows) == [
        ("tests/test_golden.py::test_add[#0]", "fail_to_pass"),
        ("tests/test_golden.py::test_add[#2]", "fail_to_pass"),
        ("tests/test_golden.py::test_add[kept]", "fail_to_pass"),
    ]
    run_flow(EvaluationRequest(candidates=("golden",), snapshot="s"), settings)
    checked = query(
        settings.database,
        "SELECT solved, robust, failed_guards FROM robust_verdict WHERE grader = 'paper' AND method = 'golden'",
    ).to_pylist()
    assert checked == [{"solved": True, "robust": True, "failed_guards": []}]
    covered = query(
        settings.database, "SELECT delta_c FROM change_coverage WHERE definition = 'paper' AND method = 'golden'"
    ).to_pylist()
    assert covered == [{"delta_c": 1.0}]
