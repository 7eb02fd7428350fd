"""The evaluation from end to end, on the bundled project."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from flows.demo import DEMO, SNAPSHOT
from flows.evaluate import EvaluationSummary
from flows.interface.commands.queries import show_log
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import PROJECT, Settings
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.candidate import Candidate, EditedDefinition, Submission, Suite
from tasks.domain.errors import BadInput, NotFound, UsageError
from tasks.domain.guards import LintFinding
from tasks.domain.outcome import Policy
from tasks.evaluate.intake.load import LoadedCandidates, take_candidates
from tasks.evaluate.intake.submissions import intake_version
from tasks.evaluate.task import choose_instances

pytestmark = pytest.mark.slow

STEADY = ("3", "5", "7", "8", "10", "12", "14", "15")
"""Instances of the demo whose tests have one outcome."""
INSTANCES = tuple(f"rolling-swt-bench__larder-{number}" for number in STEADY)
FEW = INSTANCES[:3]
PREDICTIONS = tuple(sorted(str(path) for path in DEMO.glob("predictions.*.jsonl")))

ROWS = """
    SELECT r.instance_id, r.suite_kind, r.suite_id, r.code_state, r.files, r.tracer, r.status, r.cases,
           o.case_id, o.outcome, o.phase
    FROM run AS r LEFT JOIN case_outcome AS o USING (run_key) ORDER BY ALL
"""
"""What a run says, without times and without what a candidate left to chance."""


def judge(
    settings: Settings, *candidates: str, instances: tuple[str, ...] = INSTANCES, **more: Any
) -> EvaluationSummary:
    settled = {"confirm": False, "guards": False, **more}
    request = EvaluationRequest(candidates=candidates, snapshot=SNAPSHOT, instances=instances, **settled)
    return run_flow(request, settings)


def rows(settings: Settings, sql: str) -> list[dict[str, Any]]:
    return query(settings.database, sql).to_pylist()


def expected() -> list[dict[str, Any]]:
    """What the demo says of its own candidates, where no coin decides."""
    lines = (PROJECT / "tests" / "demo" / "candidates.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["solved"] is not None and row["instance_id"] in INSTANCES]


@pytest.fixture(scope="module")
def judged(shared_settings: Settings) -> Settings:
    """A warehouse with the verdicts of all recorded candidates."""
    judge(shared_settings, *PREDICTIONS, coverage=False)
    return shared_settings


def test_parts_do_the_work_of_the_whole(settings: Settings) -> None:
    """The parts in any order, one of them without a suite: then nothing is left to run, and all are judged."""
    asked = {"instances": FEW[:1], "coverage": False, "guards": True}
    parts = {part: judge(settings, "golden", "nop", *PREDICTIONS, part=f"{part}/9", **asked) for part in (9, 2, 1)}
    assert {one.exit_code for one in parts.values()} == {0}
    assert parts[9].ran.executed == 0
    assert all("not solved" not in one.text for one in parts.values())
    for part in range(3, 9):
        judge(settings, "golden", "nop", *PREDICTIONS, part=f"{part}/9", **asked)
    whole = judge(settings, "golden", "nop", *PREDICTIONS, **asked)
    assert whole.ran.executed == 0
    assert whole.ran.reused > 4
    assert not rows(settings, "SELECT * FROM paper WHERE solved IS NULL")


def test_golden_tests_that_are_not_solved_are_the_last_lines_and_name_a_run_whose_log_can_be_read(
    settings: Settings,
) -> None:
    name = "rolling-swt-bench__larder-18"
    said = judge(settings, "golden", instances=(*FEW, name), coverage=False).text.splitlines()
    assert [line for line in said if "not solved" in line] == said[-1:]
    assert said[-1].startswith(f"golden not solved: {name}: ")
    run = said[-1].partition("(swt log ")[2].rstrip(")")
    out = BytesIO()
    assert f"{name} golden after" in show_log(settings, run, out)
    assert b"test session starts" in out.getvalue()
    with pytest.raises(NotFound, match="there is no run 'zz'"):
        show_log(settings, "zz", out)
    with pytest.raises(UsageError, match="several runs"):
        show_log(settings, "", out)


def test_golden_solves_every_sound_instance_and_nop_none(settings: Settings) -> None:
    judge(settings, "golden", "nop")
    found = rows(settings, "SELECT method, count(*) FILTER (solved) AS solved, count(*) AS n FROM paper GROUP BY ALL")
    assert {row["method"]: (row["solved"], row["n"]) for row in found} == {"golden": (8, 8), "nop": (0, 8)}


def test_every_recorded_candidate_gets_the_verdict_that_the_demo_states(judged: Settings) -> None:
    found = rows(judged, "SELECT instance_id, method, well_formed, solved FROM paper WHERE policy = 'tests-only'")
    verdicts = {(row["instance_id"], row["method"]): (row["well_formed"], row["solved"]) for row in found}
    stated = {(row["instance_id"], row["method"]): (row["well_formed"], row["solved"]) for row in expected()}
    assert {key: verdicts[key] for key in stated} == stated


def methods_and_n(summary: EvaluationSummary) -> dict[str, int]:
    return {row["method"]: row["n"] for row in summary.rows}


def test_a_method_that_was_not_asked_for_is_in_the_table_only_where_something_was_measured_of_it(
    settings: Settings,
) -> None:
    careful, cheater = PREDICTIONS[:2]
    chosen = choose_instances(settings.places, SNAPSHOT, FEW[:1])
    take_candidates(settings.places, ("golden",), chosen, Policy.TESTS_ONLY, references=True)  # and then it was killed
    first = judge(settings, careful, instances=FEW[:1], coverage=False)
    assert methods_and_n(first) == {"demo-careful": 1}
    assert "golden" not in first.text
    assert methods_and_n(judge(settings, cheater, instances=FEW[:1], coverage=False)) == {
        "demo-careful": 1,
        "demo-cheater": 1,
    }
    assert methods_and_n(judge(settings, "golden", instances=FEW[:1]))["golden"] == 1


def test_the_table_is_about_the_policy_asked_for(settings: Settings) -> None:
    said = judge(settings, PREDICTIONS[0], instances=FEW[:1], policy=Policy.AS_SUBMITTED)
    assert methods_and_n(said) == {"demo-careful": 1}
    assert "`swt query \"FROM table2_by('paper', 'as-submitted')\"` counts all of demo" in said.text
    answered = rows(settings, "FROM table2_by('paper', 'as-submitted')")
    assert [row["method"] for row in answered] == ["demo-careful"]


def test_the_same_request_twice_starts_no_process(settings: Settings) -> None:
    first = judge(settings, "golden", *PREDICTIONS, instances=FEW, confirm=True, guards=True)
    made = rows(settings, "SELECT run_key FROM run ORDER BY ALL")
    again = judge(settings, "golden", *PREDICTIONS, instances=FEW, confirm=True, guards=True)
    assert first.ran.executed > 0
    assert (again.ran.executed, again.undone) == (0, ())
    assert rows(settings, "SELECT run_key FROM run ORDER BY ALL") == made, "runs of golden tests on decoys as well"
    assert again.rows == first.rows


def test_candidates_are_judged_again_only_by_other_code_or_as_other_ones(settings: Settings) -> None:
    store = Store(settings.store)
    chosen = choose_instances(settings.places, SNAPSHOT, FEW)
    tables = (Candidate, Submission, Suite, EditedDefinition, LintFinding)

    def take(*sources: str) -> LoadedCandidates:
        return take_candidates(settings.places, sources, chosen, Policy.TESTS_ONLY, references=True)

    first = take("golden", "nop")
    before = store.version(tables)
    assert take("golden", "nop") == first
    assert store.version(tables) == before, "nothing was written"
    store.write([replace(row, judged_by="other") for row in store.read(Submission)])
    assert take("golden", "nop") == first
    assert {row.judged_by for row in store.read(Submission)} == {intake_version()}
    assert take("nop").suites == {name: suites[:1] for name, suites in first.suites.items()}


def test_what_was_traced_answers_for_an_untraced_request(settings: Settings) -> None:
    traced = judge(settings, "golden", instances=FEW)
    untraced = judge(settings, "golden", instances=FEW, coverage=False)
    assert traced.ran.executed > 0
    assert (untraced.ran.executed, untraced.ran.reused) == (0, traced.ran.executed)
    assert untraced.rows == traced.rows


def test_a_confirmation_is_made_untraced_all_the_same(settings: Settings) -> None:
    judge(settings, "golden", instances=FEW)
    before = rows(settings, "SELECT count(*) AS n FROM run WHERE tracer = 'none'")
    judge(settings, "golden", instances=FEW, confirm=True)
    assert rows(settings, "SELECT count(*) AS n FROM run WHERE tracer = 'none'") != before


def test_a_candidate_equal_to_the_golden_tests_costs_nothing(settings: Settings, tmp_path: Path) -> None:
    instance = json.loads((DEMO / "instances.jsonl").read_text().splitlines()[0])
    copy = {"instance_id": instance["instance_id"], "model_name_or_path": "copy", "model_patch": instance["test_patch"]}
    file = tmp_path / "copy.jsonl"
    file.write_text(json.dumps(copy))
    judge(settings, "golden", instances=INSTANCES[:1])
    assert judge(settings, str(file), instances=INSTANCES[:1]).ran.executed == 0


def test_rows_that_were_not_asked_for_are_counted_and_unknown_ones_named(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "preds.jsonl"
    names = (*INSTANCES, "rolling-swt-bench__larder-999")
    row = {"model_name_or_path": "m", "model_patch": ""}
    file.write_text("".join(json.dumps({"instance_id": name, **row}) + "\n" for name in names))
    assert judge(settings, str(file), instances=INSTANCES[:1]).problems == (
        "preds.jsonl: 7 rows are of instances that were not asked for",
        "preds.jsonl:9: rolling-swt-bench__larder-999: there is no such instance in the snapshot",
    )


def test_the_table_divides_by_the_instances_asked_for(settings: Settings) -> None:
    everything = "n counts all 10 instances of demo"
    assert judge(settings, "nop", instances=()).text.splitlines()[-2] == everything
    few = judge(settings, "golden", instances=FEW)
    assert [(row["method"], row["n"], row["S"]) for row in few.rows] == [("golden", 3, 100.0), ("nop", 3, 0.0)]
    assert few.text.splitlines()[-2] == "n counts the 3 instances asked for; `swt query table2` counts all of demo"


def test_files_of_one_system_are_told_apart_by_names(settings: Settings, tmp_path: Path) -> None:
    files = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    for number, file in enumerate(files):
        row = {"instance_id": INSTANCES[0], "model_name_or_path": "system", "model_patch": "x" * number}
        file.write_text(json.dumps(row))
    first, second = map(str, files)
    with pytest.raises(BadInput, match="different patches of 'system'"):
        judge(settings, first, second, instances=FEW)
    judge(settings, first, instances=FEW)
    with pytest.raises(BadInput, match="has 1 other patches of 'system'"):
        judge(settings, second, instances=FEW)
    judge(settings, first, second, instances=FEW, method=("second.jsonl=other",))
    assert {row["method"] for row in rows(settings, "FROM table2")} == {"system", "other"}
    with pytest.raises(BadInput, match="calls its method 'golden'"):
        judge(settings, first, instances=FEW, method=("golden",))
    files[0].write_text(files[1].read_text())
    again = judge(settings, first, instances=FEW).problems
    assert again == ("first.jsonl: 1 predictions of 'system' replace what first.jsonl held before",)


def test_both_policies_of_one_candidate_are_kept(settings: Settings) -> None:
    for policy in (Policy.TESTS_ONLY, Policy.AS_SUBMITTED):
        judge(settings, *PREDICTIONS, policy=policy, instances=FEW, coverage=False)
    found = rows(settings, "SELECT policy, count(*) AS n FROM submission GROUP BY policy")
    counts = {row["policy"]: row["n"] for row in found}
    assert counts["tests-only"] == counts["as-submitted"]


def test_a_changed_grader_rescores_everything_without_a_run(judged: Settings, tmp_path: Path) -> None:
    before = rows(judged, "SELECT count(*) FILTER (solved) AS n FROM paper")
    sql = tmp_path / "sql"
    _copy_sql(sql, lambda text: text.replace("t.fail_to_pass AND NOT t.fails_after", "NOT t.fails_after"))
    from tasks.adapters.store.views.database import build_views

    other = replace(judged, database=tmp_path / "other.duckdb")
    build_views(other.store, other.database, sql)
    after = rows(other, "SELECT count(*) FILTER (solved) AS n FROM paper")
    assert after[0]["n"] > before[0]["n"]


def _copy_sql(into: Path, change: Any) -> None:
    for path in (PROJECT / "sql").rglob("*.sql"):
        target = into / path.relative_to(PROJECT / "sql")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        target.write_text(change(text) if path.name == "paper.sql" else text)


@pytest.mark.slow
def test_killed_five_times_it_ends_with_the_rows_of_an_undisturbed_run(
    settings: Settings, fresh_copy: Settings
) -> None:
    judge(settings, "golden", *PREDICTIONS, instances=FEW)
    whole = rows(settings, ROWS)
    chance, left = random.Random(20), set[str]()
    for _ in range(5):
        _start_and_kill(fresh_copy, after=chance.uniform(0.0, 1.0))
        left |= {path.name for path in fresh_copy.scratch.glob("*")}
    judge(fresh_copy, "golden", *PREDICTIONS, instances=FEW)
    assert rows(fresh_copy, ROWS) == whole
    assert rows(fresh_copy, "FROM audit_two_settled_runs") == []
    assert left, "a kill in the middle of a run leaves its folders"
    assert not list(fresh_copy.scratch.iterdir()), "and the next start takes them away"


def _start_and_kill(settings: Settings, *, after: float) -> None:
    """Evaluate in a process of its own, and kill it without warning so many seconds after its first run began."""
    code = (
        "import os, sys; from pathlib import Path; from flows.interface.settings import settings_from; "
        "from flows.interface.pipelines import run_flow; from flows.interface.requests import *; "
        "request = EvaluationRequest(candidates=tuple(sys.argv[2:]), snapshot=sys.argv[1], "
        f"instances={FEW!r}, confirm=False, guards=False); "
        "from dataclasses import replace; from tasks.domain.run import Limits; "
        f"run_flow(request, replace(settings_from(os.environ), limits=Limits(**{_limits(settings)!r})))"
    )
    environ = dict(os.environ) | {
        "SWT_STORE": settings.store,
        "SWT_CACHE": str(settings.cache),
        "SWT_DATABASE": str(settings.database),
        "SWT_SCRATCH": str(settings.scratch),
        "SWT_SANDBOX": str(settings.sandbox),
        "SWT_TRUSTED": "1",
        "SWT_WORKERS": str(settings.workers),
    }
    argv = [sys.executable, "-c", code, SNAPSHOT, "golden", *PREDICTIONS]
    process = subprocess.Popen(argv, env=environ, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = set(settings.scratch.glob("*"))
    while process.poll() is None and not set(settings.scratch.glob("*")) - before:
        time.sleep(0.01)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()


def _limits(settings: Settings) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(settings.limits)
