"""How the instances of a flow run are cut into shards."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from domain_rows import run_row, task_instance

from flows.parameters import EvaluationRequest, FixesRequest, SweepRequest
from flows.shards import UNKNOWN_S, cut, seconds_of
from tasks.domain.names import InstanceId, InstanceKey

NAMES = [InstanceId(f"i{number}") for number in range(7)]


@pytest.mark.parametrize(
    ("shards", "parts"),
    [
        (1, [NAMES]),
        (2, [NAMES[:3], NAMES[3:]]),
        (100, [[name] for name in NAMES]),
    ],
)
def test_parts_are_about_equal_and_none_is_empty(shards: int, parts: list[list[str]]) -> None:
    seconds = dict.fromkeys(NAMES, 1.0)
    assert [list(part) for part in cut(dict.fromkeys(NAMES, "e"), seconds, shards)] == parts
    assert [list(part) for part in cut(dict.fromkeys(NAMES, "e"), dict.fromkeys(NAMES, 0.0), shards)] == parts


def test_an_environment_stays_together_and_what_takes_long_stays_alone() -> None:
    groups = {name: "ab"[number % 2] for number, name in enumerate(NAMES)}
    seconds = dict.fromkeys(NAMES, 3.0) | dict.fromkeys(NAMES[1::2], 4.0)
    assert cut(groups, seconds, 2) == (tuple(NAMES[::2]), tuple(NAMES[1::2]))
    long = dict.fromkeys(NAMES, 1.0) | {NAMES[0]: 1000.0}
    assert cut(dict.fromkeys(NAMES, "e"), long, 4) == ((NAMES[0],), tuple(NAMES[1:]))


def test_nothing_to_cut_is_no_part() -> None:
    assert cut({}, {}, 3) == ()


def test_seconds_are_the_instances_own_then_its_repositorys_then_those_of_all() -> None:
    one = task_instance(instance_id=NAMES[0], instance_key=InstanceKey("a"), repo="x/y")
    kin = replace(one, instance_id=NAMES[1], instance_key=InstanceKey("b"))
    other = replace(one, instance_id=NAMES[2], instance_key=InstanceKey("c"), repo="z/z")
    took = [
        replace(run_row(), instance_key=InstanceKey("a"), repo="x/y", wall_s=wall, setup_s=1.0) for wall in (1, 2, 60)
    ]
    assert list(seconds_of([one, kin, other], took, 6).values()) == [18.0, 18.0, 18.0]
    took.append(replace(took[0], instance_key=InstanceKey("b"), wall_s=9.0))
    assert seconds_of([kin], took, 1) == {NAMES[1]: 10.0}
    assert seconds_of([other], [], 2) == {NAMES[2]: 2 * UNKNOWN_S}


def test_a_part_of_a_request_is_the_request_on_fewer_instances() -> None:
    judged = EvaluationRequest(candidates=("golden",), snapshot="s")
    assert judged.of(NAMES[:2]) == replace(judged, instances=("i0", "i1"))
    whole = SweepRequest(methods=("m",), models=("n",), snapshot="s", limit=2, months=1, until=date(2026, 1, 1))
    part = whole.of(NAMES[:1])
    assert (part.instances, part.limit, part.months, part.until, part.payer) == (("i0",), None, None, None, whole.payer)
    assert (whole.runs, replace(whole, dry_run=True).runs) == (6, 0)
    kept = FixesRequest(fixes=("f",), tests=("t",), snapshot="s", kept="kept.jsonl")  # type: ignore[arg-type]
    assert kept.of(NAMES[:1]).kept is None, "the whole is written once, by the parent"
