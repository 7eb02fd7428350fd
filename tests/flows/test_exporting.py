"""What is asked in docs/asking.md, rated, exported and taken back, on the demo's own candidates."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import altair as alt
import duckdb
import pandas as pd
import pytest
from typer.testing import CliRunner

from flows.demo import DEMO, SNAPSHOT
from flows.engine.units import ThreadExecutor, start_flow
from flows.interface.cli import app
from flows.interface.commands.queries import ask, export
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import PROJECT, Settings
from flows.interface.snapshot_requests import RateRequest, ReportRequest
from flows.report import rate_methods, report_folder
from flows.snapshots import import_rows
from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.sandbox.select import available
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.errors import NotFound, UsageError
from tasks.domain.instance import TaskInstance
from tasks.evaluate.intake.file_check import check_submission
from tasks.evaluate.intake.predictions import read_predictions
from tasks.report.exports import swe_bench_row

ASKED = re.findall(r"^## (\d+)\. .*?```sql\n(.*?);?\n```", (PROJECT / "docs" / "asking.md").read_text(), re.S | re.M)
MAY_BE_EMPTY = {"3", "8", "9", "10", "12", "13"}
FEW = ("rolling-swt-bench__larder-12", "rolling-swt-bench__larder-14")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> Settings:
    """Two instances of the demo with golden and two recorded methods."""
    place = tmp_path_factory.mktemp("judged")
    settings = Settings(
        store=str(place / "store"),
        cache=demo_cache,
        database=place / "swt.duckdb",
        sandbox=next(probe.kind for probe in available() if probe.usable),
        trusted=True,
        workers=2,
    )
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    files = [str(DEMO / f"predictions.demo-{name}.jsonl") for name in ("careful", "hasty")]
    candidates = ("golden", *files)
    request = EvaluationRequest(candidates=candidates, snapshot=SNAPSHOT, instances=FEW, guards=False, confirm=False)
    run_flow(request, settings)
    return settings


def test_there_are_fifteen_worked_questions() -> None:
    assert [number for number, _ in ASKED] == [str(number) for number in range(1, 16)]


@pytest.mark.slow
def test_every_worked_question_is_answered(judged: Settings) -> None:
    for number, question in ASKED:
        out = BytesIO()
        ask(judged, question, "json", out)
        assert json.loads(out.getvalue()) or number in MAY_BE_EMPTY, question


@pytest.mark.slow
def test_the_notebook_runs_on_the_demo(judged: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell, in one namespace as a kernel has it; every frame has rows and every chart can be drawn."""
    monkeypatch.setenv("SWT_DATABASE", str(judged.database))
    notebook = json.loads((PROJECT / "docs" / "asking.ipynb").read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["outputs"] for cell in code] == [[]] * len(code), "clear the outputs: they are of one machine's rows"
    seen: dict[str, Any] = {}
    try:
        for cell in code:
            exec(compile("".join(cell["source"]), cell["id"], "exec"), seen)
    finally:
        seen["warehouse"].close()  # it has other settings than ours, and both cannot be open in one process
    frames = {name: value for name, value in seen.items() if isinstance(value, pd.DataFrame)}
    assert {name: len(frame) > 0 for name, frame in frames.items()} == dict.fromkeys(frames, True)
    assert set(frames) == {"board", "cells", "solved", "pairs", "covered", "moved"}
    assert set(frames["board"]["method"]) == {"golden", "demo-careful", "demo-hasty"}
    charts = {name: value for name, value in seen.items() if isinstance(value, alt.TopLevelMixin)}
    assert set(charts) >= {"scores", "matrix", "coverage", "moves"}
    for chart in charts.values():
        chart.to_dict(validate=True)


def test_abilities_stand_beside_the_scores(judged: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWT_STORE", judged.store)
    ran = CliRunner().invoke(app, ["rate", "--times", "20"])
    assert ran.exit_code == 0, ran.output
    rows = query(judged.database, "SELECT method, S, ability, ability_low, ability_high, part FROM ability").to_pylist()
    assert {row["method"] for row in rows} == {"demo-careful", "demo-hasty"}
    by_score = sorted(rows, key=lambda row: row["S"])
    assert by_score == sorted(rows, key=lambda row: row["ability"])
    assert all(row["ability_low"] <= row["ability"] <= row["ability_high"] and row["part"] == 0 for row in rows)


def test_an_unknown_grader_is_said(judged: Settings, caplog: pytest.LogCaptureFixture) -> None:
    run = partial(rate_methods, RateRequest(grader="mine"), judged)
    assert start_flow("rate", "rate", Store(judged.store), ThreadExecutor(1), run).exit_code == 3
    assert "there is no grader mine" in caplog.text


@pytest.mark.parametrize("name", ["lite.jsonl", "lite.parquet"])
def test_instances_come_back_as_they_went(judged: Settings, tmp_path: Path, name: str) -> None:
    export(judged, "swe-bench", tmp_path / name, SNAPSHOT)
    other = replace(judged, store=str(tmp_path / "other"))
    import_rows(other, tmp_path / name, SNAPSHOT)
    then, now = ({row.instance_id: row for row in Store(one.store).read(TaskInstance)} for one in (judged, other))
    assert {key: replace(row, source="") for key, row in now.items()} == {
        key: replace(row, source="", problem_statement_mode="") for key, row in then.items()
    }
    card = (tmp_path / "README.md").read_text()
    assert f"path: {name}" in card
    assert f"swt export swe-bench {name} --snapshot demo" in card


@pytest.mark.datasets
@pytest.mark.parametrize("name", ["lite.jsonl", "lite.parquet"])
def test_a_data_set_is_the_same_rows_in_datasets(judged: Settings, tmp_path: Path, name: str) -> None:
    """By its data card and by its file: every row and column as our own instances have them. Of JSON lines `datasets`
    makes times where a text looks like one, in UTC and without saying so."""
    export(judged, "swe-bench", tmp_path / name, SNAPSHOT)
    rows = sorted(Store(judged.store).read(TaskInstance, snapshot=SNAPSHOT), key=lambda row: row.instance_id)
    expected = [swe_bench_row(row) for row in rows]
    kind = "json" if name.endswith("jsonl") else "parquet"
    for asked in ({"path": str(tmp_path)}, {"path": kind, "data_files": {"test": str(tmp_path / name)}}):
        assert _in_datasets(asked, tmp_path / "cache") == expected


@pytest.mark.datasets
def test_predictions_are_the_same_rows_in_datasets(judged: Settings, tmp_path: Path) -> None:
    export(judged, "predictions", tmp_path / "preds.jsonl", SNAPSHOT)
    rows = [json.loads(line) for line in (tmp_path / "preds.jsonl").read_text().splitlines()]
    names = {name: None for row in rows for name in row}
    found = _in_datasets({"path": "json", "data_files": {"test": str(tmp_path / "preds.jsonl")}}, tmp_path / "cache")
    assert {row["model_name_or_path"] for row in rows} == {"demo-careful", "demo-hasty"}
    assert found == [names | row for row in rows]


@pytest.mark.swebench
@pytest.mark.parametrize("name", ["lite.jsonl", "lite.parquet"])
def test_a_data_set_and_predictions_are_the_same_rows_in_swebench(judged: Settings, tmp_path: Path, name: str) -> None:
    """By the loaders of the harness's own package."""
    export(judged, "swe-bench", tmp_path / name, SNAPSHOT)
    export(judged, "predictions", tmp_path / "preds.jsonl", SNAPSHOT)
    rows = sorted(Store(judged.store).read(TaskInstance, snapshot=SNAPSHOT), key=lambda row: row.instance_id)
    code = (
        "import json, sys\nfrom swebench.harness.utils import get_predictions_from_file, load_swebench_dataset\n"
        "data, preds = sys.argv[1:]\n"
        "print(json.dumps([load_swebench_dataset(data), get_predictions_from_file(preds, data, 'test')]))"
    )
    loaded, predictions = _elsewhere("swebench", code, str(tmp_path / name), str(tmp_path / "preds.jsonl"))
    assert loaded == [swe_bench_row(row) for row in rows]
    assert predictions == [json.loads(line) for line in (tmp_path / "preds.jsonl").read_text().splitlines()]


@pytest.mark.harbor
def test_harbor_reads_its_tasks_and_finds_nothing_wrong(judged: Settings, tmp_path: Path) -> None:
    """By its own model of a task, and by `harbor lint`."""
    export(judged, "harbor", tmp_path / "tasks", SNAPSHOT)
    code = (
        "import json, subprocess, sys\nfrom pathlib import Path\nfrom harbor.models.task.task import Task\n"
        "folders = sorted(Path(sys.argv[1]).iterdir())\n"
        "tasks = [(Task.is_valid_dir(one), Task(one)) for one in folders]\n"
        "lint = [str(Path(sys.executable).with_name('harbor')), 'lint', '--json', *map(str, folders)]\n"
        "found = json.loads(subprocess.run(lint, capture_output=True, text=True).stdout)\n"
        "print(json.dumps([[valid, task.name, task.instruction, task.config.verifier.environment_mode.value] "
        "for valid, task in tasks] + [found]))"
    )
    *tasks, found = _elsewhere("harbor", code, str(tmp_path / "tasks"))
    assert found == []
    statements = {row.instance_id: row.problem_statement for row in Store(judged.store).read(TaskInstance)}
    assert [name for _, name, _, _ in tasks] == [f"rolling-swt-bench/{one}" for one in sorted(FEW)]
    for valid, name, instruction, mode in tasks:
        assert (valid, mode) == (True, "separate")
        assert statements[name.partition("/")[2]].strip() in instruction


@pytest.mark.slow
def test_a_task_of_harbor_is_judged_as_the_grader_does(judged: Settings, tmp_path: Path) -> None:
    """Its own judge on the tree that it brings along, for golden and recorded candidates and for none."""
    said = export(judged, "harbor", tmp_path / "tasks", SNAPSHOT)
    assert said.count("left out: ") == 8
    assert "no environment yet" in said
    verdicts = query(
        judged.database,
        "SELECT c.method, c.patch, v.solved, v.fail_to_pass, v.fail_to_any FROM verdict AS v "
        "JOIN counted_candidate AS c ON c.candidate_id = v.candidate_id "
        f"WHERE v.grader = 'swt_bench' AND v.policy = 'tests-only' AND v.instance_id = '{FEW[0]}'",
    ).to_pylist()
    assert {row["method"] for row in verdicts} == {"golden", "demo-careful", "demo-hasty"}
    none = {"method": "nop", "patch": "", "solved": False, "fail_to_pass": False, "fail_to_any": False}
    task, testbed = tmp_path / "tasks" / FEW[0], tmp_path / "testbed"
    testbed.mkdir()
    subprocess.run(["tar", "-xzf", task / "environment" / "tree.tar.gz"], cwd=testbed, check=True)
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "b"]
    for argv in (["init", "-q"], ["add", "-A", "-f"], commit):
        subprocess.run(["git", *argv], cwd=testbed, check=True)
    config = json.loads((task / "tests" / "config.json").read_text())
    config |= {"testbed": str(testbed), "fix": str(task / "tests/fix.patch"), "runner": str(task / "tests/runner")}
    config["job"]["pythonpath"] = True
    (tmp_path / "config.json").write_text(json.dumps(config))
    for row in [*verdicts, none]:
        (tmp_path / "candidate.patch").write_text(row["patch"])
        paths = [str(tmp_path / name) for name in ("config.json", "candidate.patch", "reward.json")]
        subprocess.run([sys.executable, task / "tests" / "judge.py", *paths], check=True, capture_output=True)
        rewards = json.loads((tmp_path / "reward.json").read_text())
        assert [rewards[name] for name in ("reward", "fail_to_pass", "fail_to_any")] == [
            row[name] for name in ("solved", "fail_to_pass", "fail_to_any")
        ], row["method"]


@pytest.mark.playwright
def test_the_report_sorts_and_filters_by_keyboard_and_says_nothing_in_the_console(judged: Settings) -> None:
    """In a headless Chromium, wide and narrow, light and dark; no page is wider than its window."""
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium on the PATH")
    assert run_flow(ReportRequest(snapshot=SNAPSHOT), judged).exit_code == 0
    site = report_folder(judged, SNAPSHOT)
    told = _elsewhere("playwright", BROWSE, str(site), str(shutil.which("chromium")))
    assert told["said"] == []
    assert told["wide"] == []
    assert told["first"] == sorted(told["first"])
    assert told["turned"] == told["first"][::-1]
    assert told["found"] == ["demo-hasty"]


BROWSE = """
import json, sys
from pathlib import Path
from playwright.sync_api import sync_playwright
site, said, wide = Path(sys.argv[1]), [], []
names = "() => [...document.querySelector('table[data-sort]').tBodies[0].rows].filter(row => !row.hidden)"
names += ".map(row => row.cells[0].querySelector('a').textContent)"
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=sys.argv[2], args=["--no-sandbox", "--disable-gpu"])
    for width, scheme in ((1400, "light"), (390, "dark")):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        for path in [*sorted(site.glob("*.html")), *sorted(site.glob("instance/*.html"))[:1]]:
            page.goto(path.as_uri())
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append([width, path.name])
    page.goto((site / "index.html").as_uri())
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('thead th')?.textContent.trim() === 'Method'"):
            break
    page.keyboard.press("Enter")
    first = page.evaluate(names)
    page.keyboard.press("Enter")
    turned = page.evaluate(names)
    page.focus("input[type=search]")
    page.keyboard.type("hasty")
    print(json.dumps({"said": said, "wide": wide, "first": first, "turned": turned, "found": page.evaluate(names)}))
    browser.close()
"""
"""What is done in the browser, with the keyboard alone."""


def _elsewhere(package: str, code: str, *arguments: str, **extra: str) -> Any:
    """What `code` prints as JSON, in the interpreter that `SWT_<PACKAGE>` names or in this one; skipped where it has no
    such package."""
    variable = f"SWT_{package.upper()}"
    python = os.environ.get(variable, sys.executable)
    if subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode:
        pytest.skip(f"`{package}` is not installed: name an interpreter that has it, {variable}=…/bin/python")
    env = {**os.environ, "HF_HUB_OFFLINE": "1", **extra}
    done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _in_datasets(asked: Mapping[str, object], cache: Path) -> list[dict[str, object]]:
    """The rows that `load_dataset` gives."""
    code = (
        "import json, sys, datasets; asked = json.loads(sys.argv[1])\n"
        "rows = datasets.load_dataset(**asked, split='test').to_list()\n"
        "print(json.dumps(rows, default=lambda time: time.isoformat() + '+00:00'))"
    )
    call = json.dumps({**asked, "cache_dir": str(cache)})
    rows: list[dict[str, object]] = _elsewhere("datasets", code, call, HF_HOME=str(cache / "home"))
    return rows


def test_predictions_come_back_as_they_went(judged: Settings, tmp_path: Path) -> None:
    export(judged, "predictions", tmp_path / "preds.jsonl", SNAPSHOT)
    instances = Store(judged.store).read(TaskInstance, snapshot=SNAPSHOT)
    asked = f"FROM counted_candidate WHERE snapshot = '{SNAPSHOT}' AND method <> 'golden'"
    known = query(judged.database, f"SELECT candidate_id, created_at {asked}").to_pylist()
    back = read_predictions(tmp_path / "preds.jsonl", instances, created_at=known[0]["created_at"])
    assert back.problems == ()
    assert {one.candidate_id for one in back.candidates} == {row["candidate_id"] for row in known}
    text, clean = check_submission(
        Store(judged.store), read_models(judged.models / "models.toml"), tmp_path / "preds.jsonl", SNAPSHOT
    )
    assert clean, text
    with pytest.raises(NotFound):
        export(judged, "predictions", tmp_path / "none.jsonl", SNAPSHOT, method="nobody")


def test_reports_count_as_the_leaderboard_does(judged: Settings, tmp_path: Path) -> None:
    export(judged, "reports", tmp_path / "reports", SNAPSHOT)
    told = {path.name.removesuffix(".demo.json"): json.loads(path.read_text()) for path in tmp_path.glob("reports/*")}
    rows = query(judged.database, "SELECT method, solved FROM table2_by('swt_bench', 'tests-only')").to_pylist()
    assert {name: report["resolved_instances"] for name, report in told.items()} == {
        row["method"]: row["solved"] for row in rows
    }
    assert all(report["total_instances"] == 10 for report in told.values())


ALIKE = ("dup x", "dup_x", "dup/x", "Dup_x", "x" * 300, "é" * 200, "con", "..")


@pytest.mark.slow
def test_methods_with_names_that_are_alike_or_long_have_reports_and_pages_of_their_own(
    settings: Settings, tmp_path: Path
) -> None:
    name = "rolling-swt-bench__larder-3"
    rows = [{"instance_id": name, "model_name_or_path": method, "model_patch": ""} for method in ALIKE]
    (tmp_path / "preds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = EvaluationRequest(candidates=(str(tmp_path / "preds.jsonl"),), snapshot=SNAPSHOT, instances=(name,))
    run_flow(asked, settings)
    assert export(settings, "reports", tmp_path / "reports", SNAPSHOT).endswith(f": {len(ALIKE)} reports")
    reports = [json.loads(path.read_text()) for path in (tmp_path / "reports").iterdir()]
    assert sorted(report["method"] for report in reports) == sorted(ALIKE)
    run_flow(ReportRequest(), settings)
    pages = [path.stem for path in (report_folder(settings, SNAPSHOT) / "method").glob("*.html")]
    assert len({page.lower() for page in pages}) == len(ALIKE)


@pytest.mark.slow
def test_the_warehouse_answers_without_its_store(judged: Settings, tmp_path: Path) -> None:
    export(judged, "warehouse", tmp_path / "out.duckdb")
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        carried = connection.sql("FROM leaderboard").to_arrow_table().to_pylist()
        assert connection.sql("SELECT count(*) > 0 FROM case_outcome").fetchall() == [(True,)]
        (comment,) = connection.sql("SELECT comment FROM duckdb_views() WHERE view_name = 'leaderboard'").fetchall()
    assert carried == query(judged.database, "FROM leaderboard").to_pylist()
    assert comment[0].startswith("How often does each method write")


def test_a_question_as_markdown_and_latex(judged: Settings) -> None:
    out = {}
    for output in ("markdown", "latex"):
        out[output] = BytesIO()
        ask(judged, "SELECT 'a|b_c' AS name, 1.5::DOUBLE AS share, NULL::VARCHAR AS none", output, out[output])
    lines = ["| name | share | none |", "| --- | --: | --- |", "| a\\|b_c | 1.5 | - |"]
    assert out["markdown"].getvalue().decode().splitlines() == lines
    assert r"a|b\_c & 1.5 & - \\" in out["latex"].getvalue().decode()


def test_what_is_wrong_with_a_predictions_file_is_said(judged: Settings, tmp_path: Path) -> None:
    good = {"instance_id": FEW[0], "model_name_or_path": "m", "model_patch": "diff", "cost_usd": 0.5}
    bad = {**good, "sample": 1, "cost_usd": -1, "trajectory": "../secret", "note": "x", "model": "nobody-1"}
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, [good, bad, {**good, "instance_id": "a__b-1"}])))
    text, clean = check_submission(
        Store(judged.store), read_models(judged.models / "models.toml"), tmp_path / "p.jsonl", SNAPSHOT
    )
    assert not clean
    for said in ("no such instance", "cost_usd is -1", "'../secret'", "nothing reads note", "nobody-1 has no card"):
        assert said in text


@pytest.mark.parametrize(("kind", "snapshot", "error"), [("csv", "demo", UsageError), ("reports", "", UsageError)])
def test_a_wrong_export_is_refused(judged: Settings, tmp_path: Path, kind: str, snapshot: str, error: type) -> None:
    with pytest.raises(error):
        export(judged, kind, tmp_path / "out", snapshot)


def test_a_snapshot_that_is_not_there_is_named(judged: Settings, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no snapshot"):
        export(judged, "swe-bench", tmp_path / "x.parquet", "none")
    assert not list(tmp_path.glob("*.parquet"))
