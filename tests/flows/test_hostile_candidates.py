"""Candidates and inputs that do harm: the evaluation goes on, the row says what happened, nothing is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.demo import SNAPSHOT
from flows.evaluate import EvaluationSummary
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from tasks.adapters.runner import report
from tasks.adapters.store.views.database import query
from tasks.domain.errors import NotFound

pytestmark = pytest.mark.slow

INSTANCE = "rolling-swt-bench__larder-3"
OTHER = "rolling-swt-bench__larder-5"

HOSTILE = {
    "never_ends": (
        "import signal, time\n    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "    while True: time.sleep(1)",
        {"timeout"},
    ),
    "fills_memory": ("x = []\n    while True: x.append(bytearray(1 << 24))", {"limit", "crashed"}),
    "fills_disk": (
        "f = open('filler', 'wb')\n    while True: f.write(bytes(1 << 20)); f.flush()",
        {"limit", "completed"},
    ),
    "forks_a_thousand": (
        "import os, time\n    for _ in range(1000):\n"
        "        if os.fork() == 0:\n            time.sleep(60); os._exit(0)\n"
        "    time.sleep(60)",  # who ends before the processes are counted is only a test that passed
        {"limit", "completed"},
    ),
    "kills_its_parent": ("import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)", {"crashed"}),
    "leaves_at_once": ("import os\n    os._exit(0)", {"crashed"}),
    "prints_a_gigabyte": (
        "import os\n    chunk = b'x' * (1 << 20)\n    for _ in range(1024): os.write(1, chunk)",
        {"limit"},
    ),
}
"""Body of the only test, and the statuses that its runs may end with. pytest keeps what is printed in a file, so that
a gigabyte meets the disk limit; printing past pytest is a matter for the sandbox's own tests."""

TO_THE_END_S = 15.0
"""What a test that waits for it may take. One that never ends sleeps, so that this is cheap."""

LONG_S = 120.0
"""For all others, which something else ends: a busy machine needs ten seconds to start pytest."""


def new_file(path: str, text: str) -> str:
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}"


def prediction(instance: str, patch: str | None, method: str = "hostile") -> dict[str, Any]:
    return {"instance_id": instance, "model_name_or_path": method, "model_patch": patch}


def judge(settings: Settings, file: Path, *instances: str) -> EvaluationSummary:
    request = EvaluationRequest(
        candidates=(str(file),), snapshot=SNAPSHOT, instances=instances, coverage=False, guards=False
    )
    return run_flow(request, settings)


def ask(settings: Settings, sql: str) -> list[dict[str, Any]]:
    return query(settings.database, sql).to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_test_ends_contained_and_its_row_says_how(settings: Settings, tmp_path: Path, name: str) -> None:
    body, statuses = HOSTILE[name]
    honest = "from larder.recipe import Recipe\n\n\ndef test_nothing():\n    assert Recipe\n"
    hostile = f"def test_hostile():\n    {body}\n"
    file = tmp_path / "preds.jsonl"
    lines = [
        prediction(INSTANCE, new_file("tests/test_hostile.py", hostile)),
        prediction(OTHER, new_file("tests/test_honest.py", honest)),
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    wall_s = TO_THE_END_S if statuses == {"timeout"} else LONG_S
    tight = replace(settings, limits=replace(settings.limits, wall_s=wall_s, memory_mb=512, processes=64))
    summary = judge(tight, file, INSTANCE, OTHER)
    assert summary.ran.left == ()
    runs = ask(tight, "SELECT instance_id, status, detail FROM run WHERE suite_kind = 'candidate'")
    assert {run["status"] for run in runs if run["instance_id"] == INSTANCE} <= statuses
    assert [run["status"] for run in runs if run["instance_id"] == OTHER] == ["completed", "completed"]
    verdict = ask(tight, f"SELECT measured, solved FROM paper WHERE instance_id = '{INSTANCE}'")
    assert verdict == [{"measured": True, "solved": False}]


def test_a_failure_behind_more_cases_than_are_kept_is_no_success(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_CASES", 3)
    shown = "from larder.recipe import Recipe\n\n\ndef test_a():\n    assert Recipe\n"
    hidden = "".join(f"def test_b{number}():\n    assert {number < 2}\n" for number in range(4))
    file = tmp_path / "preds.jsonl"
    file.write_text(json.dumps(prediction(INSTANCE, new_file("tests/test_hostile.py", f"{shown}{hidden}"))))
    judge(settings, file, INSTANCE)
    runs = ask(settings, "SELECT DISTINCT status, detail FROM run WHERE suite_kind = 'candidate'")
    assert runs == [{"status": "limit", "detail": "more cases than are kept"}]
    case = "SELECT DISTINCT outcome FROM case_outcome WHERE case_id = 'tests/test_hostile.py'"
    assert ask(settings, case) == [{"outcome": "error"}]
    assert ask(settings, "SELECT measured, solved FROM paper") == [{"measured": True, "solved": False}]


BAD_PATCHES = {
    "empty": ("", "empty"),
    "null": (None, "empty"),
    "prose": ("I would add a test that checks the amounts.", "no-diff"),
    "climbing": (new_file("../outside/test_x.py", "def test_x(): pass"), "climbing-path"),
    "absolute": (new_file("/etc/test_x.py", "def test_x(): pass"), "climbing-path"),
    "source_only": (new_file("larder/new.py", "x = 1"), "nothing-left"),
    "conftest_only": (new_file("tests/conftest.py", "x = 1"), "nothing-left"),
}


@pytest.mark.parametrize("name", BAD_PATCHES)
def test_a_patch_that_cannot_be_run_is_not_well_formed_and_costs_no_process(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    patch, reason = BAD_PATCHES[name]
    file = tmp_path / "preds.jsonl"
    file.write_text(json.dumps(prediction(INSTANCE, patch)))
    judge(replace(settings, workers=1), file, INSTANCE)
    (row,) = ask(settings, "SELECT well_formed, reason FROM submission")
    assert row == {"well_formed": False, "reason": reason}
    assert ask(settings, "SELECT * FROM run WHERE suite_kind = 'candidate'") == []


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_line_endings_of_a_patch_do_not_matter(settings: Settings, tmp_path: Path, newline: str) -> None:
    text = new_file("tests/test_new.py", "def test_new():\n    assert True").replace("\n", newline)
    file = tmp_path / "preds.jsonl"
    file.write_text(json.dumps(prediction(INSTANCE, text)))
    judge(settings, file, INSTANCE)
    found = ask(settings, "SELECT DISTINCT outcome FROM case_outcome WHERE path = 'tests/test_new.py'")
    assert found == [{"outcome": "passed"}]


def test_latin_1_bytes_in_a_predictions_file_reach_the_test_file(settings: Settings, tmp_path: Path) -> None:
    source = "# -*- coding: latin-1 -*-\ndef test_word():\n    assert len('caf\u00e9') == 4"
    line = json.dumps(prediction(INSTANCE, new_file("tests/test_latin.py", source)), ensure_ascii=False)
    file = tmp_path / "preds.jsonl"
    file.write_bytes(line.encode("latin-1"))
    judge(settings, file, INSTANCE)
    found = ask(settings, "SELECT DISTINCT outcome FROM case_outcome WHERE path = 'tests/test_latin.py'")
    assert found == [{"outcome": "passed"}]


def test_half_a_file_an_unknown_instance_and_a_second_prediction(settings: Settings, tmp_path: Path) -> None:
    good = prediction(INSTANCE, new_file("tests/test_a.py", "def test_a(): pass"))
    second = prediction(INSTANCE, new_file("tests/test_b.py", "def test_b(): pass"))
    unknown = prediction("nobody__nothing-1", "")
    file = tmp_path / "preds.jsonl"
    cut = json.dumps(prediction(OTHER, "x"))[:40]
    file.write_text("\n".join([json.dumps(good), json.dumps(second), json.dumps(unknown), cut]))
    summary = judge(settings, file, INSTANCE, OTHER)
    assert [line.split(":")[1] for line in summary.problems] == ["2", "3", "4"]
    (row,) = ask(settings, "SELECT n, W FROM table2 WHERE method = 'hostile'")
    assert row["n"] == 10
    assert row["W"] == 10.0


def test_a_torn_parquet_file_is_moved_aside_and_the_rest_is_answered(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "preds.jsonl"
    file.write_text(json.dumps(prediction(INSTANCE, new_file("tests/test_a.py", "def test_a(): pass"))))
    judge(settings, file, INSTANCE)
    runs = sorted(path for path in Path(settings.store, "run").rglob("part-*.parquet") if "schema=" not in str(path))
    runs[0].write_bytes(runs[0].read_bytes()[:100])
    summary = judge(settings, file, INSTANCE)
    assert summary.ran.executed == 1
    assert list(Path(settings.store).rglob("*.torn"))


def test_a_mirror_without_the_commit_is_named_and_the_rest_goes_on(settings: Settings, tmp_path: Path) -> None:
    from flows.demo import DEMO
    from flows.snapshots import import_rows

    first, second = (json.loads(line) for line in (DEMO / "instances.jsonl").read_text().splitlines()[:2])
    broken = first | {"base_commit": "0" * 40}
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(broken) + "\n" + json.dumps(second))
    import_rows(settings, rows, "half")
    request = EvaluationRequest(candidates=("golden",), snapshot="half", confirm=False, guards=False)
    summary = run_flow(request, settings)
    assert any(first["instance_id"] in problem and "0" * 8 in problem for problem in summary.problems)
    assert summary.exit_code == 1
    solved = ask(settings, "SELECT instance_id FROM paper WHERE snapshot = 'half' AND solved")
    assert solved == [{"instance_id": second["instance_id"]}]


def test_an_unknown_snapshot_says_what_to_do(settings: Settings) -> None:
    request = EvaluationRequest(candidates=("golden",), snapshot="nowhere")
    with pytest.raises(NotFound, match="nowhere") as caught:
        run_flow(request, settings)
    assert "swt import" in caught.value.hint
