"""Which runs a validation makes: how many, under which conditions, and that what is drawn by lot can be drawn again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tasks.adapters.uv.host import host_environment
from tasks.domain.candidate import Suite
from tasks.domain.guard_edit import EDITS
from tasks.domain.names import RepoPath, SuiteId
from tasks.domain.outcome import CaseOrder, CodeState, RunVariant, SandboxKind, SuiteKind, Tracer
from tasks.domain.run import Limits, RunSpec, files_key
from tasks.evaluate.plan import Bench, guard_specs
from tasks.evaluate.validation_plan import Repeats, doubt_specs, settling_specs, validation_specs
from tasks.scrape.swe_bench_rows import import_instances

DEMO = Path(__file__).parents[2] / "data" / "demo"
LIBRARY = "/usr/lib/faketime/libfaketime.so.1"


@pytest.fixture
def bench() -> Bench:
    instance = import_instances(DEMO / "instances.jsonl", snapshot="demo").instances[0]
    return Bench(
        instance=instance,
        environment=host_environment(instance.repo).environment,
        watches={},
        sandbox=SandboxKind.PROCESS,
        limits=Limits(),
        runner_version="r",
    )


@pytest.fixture
def suite(bench: Bench) -> Suite:
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


def test_three_before_and_five_after_with_the_one_of_the_verdict(bench: Bench, suite: Suite) -> None:
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


def test_another_order_is_drawn_for_each_run_and_the_same_for_the_same_run(bench: Bench, suite: Suite) -> None:
    first, second = (validation_specs(bench, suite, Repeats()) for _ in range(2))
    drawn = [spec for spec in first if spec.variant is RunVariant.REORDERED]

    assert {spec.order for spec in drawn} == {CaseOrder.SHUFFLED}
    assert [spec.order_seed for spec in first] == [spec.order_seed for spec in second]
    assert len({spec.order_seed for spec in drawn}) == len(drawn) == 4
    assert all(spec.order_seed is None for spec in first if spec not in drawn)


def test_guards_take_the_cases_in_reversed_order_on_both_sides(bench: Bench, suite: Suite) -> None:
    forms = [(spec.code_state, spec.order, spec.order_seed) for spec in guard_specs(bench, suite, ())]

    assert sorted(forms) == sorted((state, CaseOrder.REVERSED, None) for state in CodeState for _ in range(EDITS))


def test_without_faketime_and_in_containers_the_year_is_left_out(bench: Bench, suite: Suite) -> None:
    specs = validation_specs(bench, suite, Repeats())

    assert [spec.variant for spec in golden(specs, CodeState.AFTER)][-1] is RunVariant.RERUN
    assert len({spec.run_key for spec in specs}) == len(specs) == 16


def test_settling_repeats_what_was_not_run_yet(bench: Bench, suite: Suite) -> None:
    made = {spec.run_key for spec in validation_specs(bench, suite, Repeats())}
    more = settling_specs(bench, suite, Repeats(more=10))

    assert len(more) == 40
    assert not made & {spec.run_key for spec in more}


def test_doubts_are_settled_with_a_network_and_without(bench: Bench, suite: Suite) -> None:
    specs = doubt_specs(bench, suite)
    assert len({spec.run_key for spec in specs}) == 4
    assert [(spec.variant, spec.network) for spec in specs] == [
        (RunVariant.ONLINE, True),
        (RunVariant.ONLINE, True),
        (RunVariant.RERUN, False),
        (RunVariant.RERUN, False),
    ]
