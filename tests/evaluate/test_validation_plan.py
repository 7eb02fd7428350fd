"""Which runs a validation makes: how many, under which conditions, and that what is drawn by lot can be drawn again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from domain_rows import SOME_DAY, run_row

from tasks.adapters.runner.launch import FIXED_ENV, other_seed
from tasks.adapters.uv.host_environment import host_environment
from tasks.domain.candidate import Suite
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.names import CaseId, FixId, RepoPath, RunKey, SuiteId
from tasks.domain.outcome import EDITED, CaseOrder, CodeState, RunStatus, RunVariant, SandboxKind, SuiteKind, Tracer
from tasks.domain.proposed_fix import ProposedFix
from tasks.domain.run import Limits, Run, RunSpec, files_key
from tasks.evaluate.runs.plan import DECOY_WALL_S, RunContext, guard_specs
from tasks.evaluate.runs.validation_plan import Repeats, doubt_specs, hangs, settling_specs, validation_specs
from tasks.scrape.dataset_rows import import_instances

DEMO = Path(__file__).parents[2] / "data" / "demo"
LIBRARY = "/usr/lib/faketime/libfaketime.so.1"


@pytest.fixture
def bench() -> RunContext:
    instance = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
    return RunContext(
        instance=instance,
        environment=host_environment(instance.repo).environment,
        watches={},
        sandbox=SandboxKind.PROCESS,
        limits=Limits(),
        runner_version="r",
    )


@pytest.fixture
def suite(bench: RunContext) -> Suite:
    files = (RepoPath("tests/test_recipe.py"),)
    return Suite(
        suite_id=SuiteId("s"),
        instance_key=bench.instance.instance_key,
        instance_id=bench.instance.instance_id,
        kind=SuiteKind.GOLDEN,
        patch=bench.instance.test_patch,
        files=files,
        files_key=files_key(files),
        base_files=files,
        base_files_key=files_key(files),
    )


def golden(specs: tuple[RunSpec, ...], state: CodeState) -> list[RunSpec]:
    return [spec for spec in specs if spec.suite_kind is SuiteKind.GOLDEN and spec.code_state is state]


def test_three_before_and_five_after_with_the_one_of_the_verdict(bench: RunContext, suite: Suite) -> None:
    """And two more of the golden tests on each side."""
    specs = validation_specs(bench, suite, Repeats(faketime=LIBRARY))
    variants = [RunVariant.REORDERED, RunVariant.RERUN, RunVariant.RESEEDED]

    assert [spec.variant for spec in golden(specs, CodeState.BEFORE)] == [*variants, RunVariant.RERUN]
    assert [spec.variant for spec in golden(specs, CodeState.AFTER)] == [
        *variants,
        RunVariant.LATER,
        RunVariant.RERUN,
        RunVariant.RERUN,
    ]
    assert Counter(spec.suite_kind for spec in specs) == {SuiteKind.GOLDEN: 10, SuiteKind.NONE: 6}
    assert {spec.tracer for spec in specs} == {Tracer.NONE}
    assert len({spec.run_key for spec in specs}) == 16


def test_another_order_is_drawn_for_each_run_and_the_same_for_the_same_run(bench: RunContext, suite: Suite) -> None:
    first, second = (validation_specs(bench, suite, Repeats()) for _ in range(2))
    drawn = [spec for spec in first if spec.variant is RunVariant.REORDERED]

    assert {spec.order for spec in drawn} == {CaseOrder.SHUFFLED}
    assert [spec.order_seed for spec in first] == [spec.order_seed for spec in second]
    assert len({spec.order_seed for spec in drawn}) == len(drawn) == 4
    assert all(spec.order_seed is None for spec in first if spec not in drawn)


def test_a_run_of_chosen_cases_is_another_run(bench: RunContext, suite: Suite) -> None:
    specs = validation_specs(bench, suite, Repeats())
    chosen = [replace(spec, cases=(CaseId("tests/test_a.py::test_b"),)) for spec in specs]
    others = [replace(spec, cases=(CaseId("tests/test_a.py::test_c"),)) for spec in specs]

    assert len({spec.run_key for spec in (*specs, *chosen, *others)}) == 3 * len(specs)


def test_all_checks_have_the_same_conditions(bench: RunContext, suite: Suite) -> None:
    """Reversed order and another hash seed; only runs on decoys have a shorter limit, since a mutant can loop."""
    edits = [
        GuardEdit(
            instance_key=suite.instance_key,
            instance_id=suite.instance_id,
            variant=variant,
            patch=patch,
            edited=(),
            skipped=(),
        )
        for variant, patch in zip(EDITED, ("p", "q", ""), strict=True)
    ]
    decoy = ProposedFix(
        fix_id=FixId("f"),
        instance_key=suite.instance_key,
        instance_id=suite.instance_id,
        patch="d",
        problem="",
        created_at=SOME_DAY,
    )
    specs = guard_specs(bench, suite, edits, [decoy])
    golden_patch = bench.instance.patch
    assert [(spec.variant, spec.code_state, spec.patches[:-1]) for spec in specs] == [
        (RunVariant.REPEAT, CodeState.BEFORE, ()),
        (RunVariant.REPEAT, CodeState.AFTER, (golden_patch,)),
        (RunVariant.PLACEBO, CodeState.BEFORE, ("p",)),
        (RunVariant.PARAPHRASE, CodeState.AFTER, (golden_patch, "q")),
        (RunVariant.PROPOSED, CodeState.BEFORE, ("d",)),
    ]
    assert {spec.patches[-1] for spec in specs} == {suite.patch}
    assert {(spec.order, spec.order_seed, spec.env, spec.tracer) for spec in specs} == {
        (CaseOrder.REVERSED, None, other_seed(FIXED_ENV, bench.environment.env), Tracer.NONE)
    }
    assert [spec.limits.wall_s for spec in specs] == [bench.limits.wall_s] * 4 + [DECOY_WALL_S]
    short = replace(bench, limits=replace(bench.limits, wall_s=1.0))
    assert {spec.limits.wall_s for spec in guard_specs(short, suite, edits, [decoy])} == {1.0}


def test_without_faketime_and_in_containers_the_year_is_left_out(bench: RunContext, suite: Suite) -> None:
    specs = validation_specs(bench, suite, Repeats())

    assert [spec.variant for spec in golden(specs, CodeState.AFTER)][-1] is RunVariant.RERUN
    assert len({spec.run_key for spec in specs}) == len(specs) == 16


def test_settling_repeats_what_was_not_run_yet(bench: RunContext, suite: Suite) -> None:
    made = {spec.run_key for spec in validation_specs(bench, suite, Repeats())}
    more = settling_specs(bench, suite, Repeats(more=10))

    assert len(more) == 40
    assert not made & {spec.run_key for spec in more}


def test_doubts_are_settled_with_a_network_and_without(bench: RunContext, suite: Suite) -> None:
    specs = doubt_specs(bench, suite)
    assert len({spec.run_key for spec in specs}) == 4
    assert [(spec.variant, spec.network) for spec in specs] == [
        (RunVariant.ONLINE, True),
        (RunVariant.ONLINE, True),
        (RunVariant.RERUN, False),
        (RunVariant.RERUN, False),
    ]


def ended(spec: RunSpec, number: int, *, status: RunStatus = RunStatus.TIMEOUT, wall_s: float = 1_800.0) -> Run:
    """A run as `spec` says, as the store has it."""
    return replace(
        run_row(run_key=RunKey(f"{spec.run_key}-{number}"), status=status, wall_s=wall_s),
        **{name: getattr(spec, name) for name in ("env_id", "runner_version", "suite_kind", "suite_id", "code_state")},
        files=spec.files,
        variant=spec.variant,
    )


def test_what_ran_into_the_time_limit_twice_on_one_code_state_hangs(bench: RunContext, suite: Suite) -> None:
    specs = validation_specs(bench, suite, Repeats())
    before, after = (golden(specs, state) for state in (CodeState.BEFORE, CodeState.AFTER))
    once, twice = [ended(before[0], 1)], [ended(before[0], 1), ended(before[1], 2)]

    assert all(hangs(spec, twice) for spec in before)
    assert not any(hangs(spec, once) for spec in before)
    assert not any(hangs(spec, twice) for spec in after)
    assert not any(hangs(spec, twice) for spec in specs if spec.suite_kind is SuiteKind.NONE)


@pytest.mark.parametrize(
    "columns",
    [
        {"status": RunStatus.COMPLETED},
        {"wall_s": 300.0},
        {"runner_version": "older"},
        {"variant": RunVariant.PLACEBO},
        {"files": (RepoPath("tests/test_other.py"),)},
    ],
    ids=lambda columns: next(iter(columns)),
)
def test_other_runs_do_not_say_that_it_hangs(bench: RunContext, suite: Suite, columns: dict[str, Any]) -> None:
    """Those that ended, under a shorter limit, of an older runner, on edited code, of other files."""
    spec, *_ = golden(validation_specs(bench, suite, Repeats()), CodeState.BEFORE)

    assert not hangs(spec, [replace(ended(spec, number), **columns) for number in range(5)])
