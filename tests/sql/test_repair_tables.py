"""Rows of repairs to the tables of the TDFlow paper, and to fixes filtered by tests: exact tuples out."""

from __future__ import annotations

from typing import Any

import pytest
from sql_store import SqlStore
from test_proposed_fixes import MINE, SOLVED, fix, golden, handed_in

from tasks.domain.proposed_fix import HackSign


@pytest.fixture
def four(store: SqlStore) -> SqlStore:
    """Instances i0 to i3 with golden tests; each has a right fix `iN+` and a wrong one `iN-`."""
    for number in range(4):
        name = f"i{number}"
        golden(store, name, repo="a/b" if number < 3 else "c/d")
        fix(store, f"{name}+", name, golden="passed")
        fix(store, f"{name}-", name, golden="failed")
    return store


def repaired(store: SqlStore, method: str, *right: bool | None, **more: list[Any]) -> None:
    """A repair for each instance, null for none; `more` are columns, a value for each instance."""
    for number, is_right in enumerate(right):
        if is_right is not None:
            values = {name: column[number] for name, column in more.items()}
            handed_in(store, f"i{number}{'+' if is_right else '-'}", method, f"i{number}", **values)


def test_a_rate_divides_by_what_was_attempted_and_shows_the_share_of_all(four: SqlStore) -> None:
    repaired(four, "r", True, True, False, touches_tests=[False, True, True])
    four.instance("i4")
    fix(four, "i4+", "i4")
    handed_in(four, "i4+", instance="i4")
    assert four.rows(
        "SELECT instances, attempted, n, unmeasured, unusable, resolved, pass_rate, pass_low, pass_high, "
        "snapshot_rate, touching, resolved_touching, strict_rate, cost_per_issue, unpriced FROM repair_rate"
    ) == [(5, 4, 3, 1, 0, 2, 66.7, 20.8, 93.9, 50.0, 2, 1, 33.3, None, 4)]


def test_an_instance_that_was_never_started_is_in_no_rate_of_repairs(four: SqlStore) -> None:
    """Of four instances one was attempted. An attempt that ended without a fix is a failure."""
    repaired(four, "r", True, iteration=[1], cost_usd=[0.5])
    asked = "SELECT instances, attempted, n, resolved, pass_rate, snapshot_rate FROM repair_rate"
    assert four.rows(asked) == [(4, 1, 1, 1, 100.0, 25.0)]
    assert four.rows("SELECT n, pass_rate FROM repair_by_iteration") == [(1, 100.0)]
    assert four.rows("SELECT n, pass_rate FROM repair_by_cost") == [(1, 100.0)]
    assert four.rows("SELECT judge, n, repaired FROM repair_judges") == [("golden", 1, 1), ("strict", 1, 1)]
    four.add("proposed_fix", fix_id="none", instance_key="i1", instance_id="i1", problem="empty: nothing")
    handed_in(four, "none", instance="i1")
    assert four.rows(asked) == [(4, 2, 2, 1, 50.0, 25.0)]


def test_of_two_for_one_place_the_later_counts_and_partial_fixes_are_nobodys(four: SqlStore) -> None:
    repaired(four, "r", False)
    later = {"snapshot": "s", "repair_id": "x", "method": "r", "instance_id": "i0", "fix_id": "i0+"}
    four.add("repair", provenance="self_reported", created_at="2027-01-01T00:00:00+00:00", **later)
    four.add("repair", **later | {"method": "partial", "provenance": "oracle", "repair_id": "y"})
    assert four.rows("SELECT method, resolved FROM repair_rate") == [("r", 1)]


def test_costs_are_told_or_those_of_the_calls(four: SqlStore) -> None:
    """Table 2: with generated tests a part of the cost is theirs."""
    repaired(four, "told", True, False, cost_usd=[4.0, 2.0], tests_usd=[1.0, 2.0], tests=["m"] * 2)
    repaired(four, "asked", True, None, tests=["golden"], model=["gpt"])
    calls = (("generate_tests", 0.25), ("explore_files", 0.5), ("debug_one", 0.75))
    for position, (step, usd) in enumerate(calls):
        known = {"snapshot": "s", "instance_id": "i0", "method": "asked", "model": "gpt", "work_id": step}
        four.add("llm_call", call_id=step, position=position, status="answered", step=step, cost_usd=usd, **known)
    assert four.rows("SELECT method, tests, n, pass_rate, cost_per_issue, test_resolution_cost FROM tdflow_table2") == [
        ("told", "m", 2, 50.0, 3.0, 1.5),
        ("asked", "golden", 1, 100.0, 1.5, 1.25),
    ]
    assert four.rows("SELECT method, cost_per_issue FROM tdflow_table1") == [("told", 3.0), ("asked", 1.5)]
    four.con.execute("UPDATE llm_call SET cost_usd = NULL WHERE step = 'debug_one'")
    found = four.one("SELECT cost_per_issue, test_resolution_cost, unpriced FROM repair_rate WHERE method = 'asked'")
    assert found == (None, None, 1)


def test_iterations_add_up(four: SqlStore) -> None:
    """What nobody knows the iteration of is left out, not counted as failed."""
    repaired(four, "r", True, True, False, True, iteration=[1, 3, 2, None])
    repaired(four, "none", True)
    assert four.rows("SELECT method, iteration, n, resolved, pass_rate, unknown FROM tdflow_figure3a") == [
        ("r", 1, 3, 1, 33.3, 1),
        ("r", 2, 3, 1, 33.3, 1),
        ("r", 3, 3, 2, 66.7, 1),
    ]


def test_costs_add_up_to_a_ceiling(four: SqlStore) -> None:
    repaired(four, "r", True, True, False, True, cost_usd=[0.5, 0.101, 8.999, 0.1])
    assert four.rows("SELECT up_to_usd, n, resolved, pass_rate, unknown, mean_usd FROM tdflow_figure3b") == [
        (0.1, 4, 1, 25.0, 0, 2.425),
        (0.11, 4, 2, 50.0, 0, 2.425),
        (0.5, 4, 3, 75.0, 0, 2.425),
    ]


@pytest.fixture
def tested(four: SqlStore) -> SqlStore:
    """Candidates of the method `m`: i0 one good test, i1 one good of four, i2 two bad ones; i3 has none."""
    other = {f"test_a.py::{name}": "- - failed failed" for name in ("x", "y")}
    four.judged("i0", "m", SOLVED)
    four.judged("i1", "m", SOLVED | other | {"test_a.py::z": "- - passed passed"})
    four.judged("i2", "m", {"test_a.py::x": "- - passed failed", "test_a.py::y": "- - failed skipped"})
    return four


def test_generated_tests_by_what_they_do(tested: SqlStore) -> None:
    columns = "repo, instances, tests, f2p, p2p, p2f, f2f, other, btr"
    assert tested.rows(f"SELECT {columns} FROM tdflow_figure4") == [
        (None, 3, 7, 2, 1, 1, 2, 1, 58.3),
        ("a/b", 3, 7, 2, 1, 1, 2, 1, 58.3),
    ]


def test_rates_by_bad_tests(tested: SqlStore) -> None:
    repaired(tested, "r", True, False, True, True, tests=["m"] * 4)
    assert tested.rows("SELECT repair, method, btr, n, share, resolved, pass_rate FROM tdflow_figure2") == [
        ("r", "m", 0.0, 1, 33.3, 1, 100.0),
        ("r", "m", 0.8, 1, 33.3, 0, 0.0),
        ("r", "m", 1.0, 1, 33.3, 1, 100.0),
    ]
    assert tested.rows("SELECT tests, repair, instances, btr, n, pass_rate FROM tdflow_figure5") == [
        (1, "r", 1, 0.0, 1, 100.0),
        (2, "r", 1, 100.0, 1, 100.0),
        (4, "r", 1, 75.0, 1, 0.0),
    ]


def test_tests_without_a_repair_are_counted_all_the_same(tested: SqlStore) -> None:
    repaired(tested, "r", True, tests=["somebody-else"])
    assert tested.rows("SELECT tests, repair, n, pass_rate FROM tests_per_instance") == [
        (1, None, None, None),
        (2, None, None, None),
        (4, None, None, None),
    ]
    assert tested.rows("FROM repair_by_bad_tests") == []


FILTER = (
    "SELECT repair, scope, fixes, unmeasured, resolved, base_precision, kept, kept_resolved, precision, lift, recall, "
    "unchecked, robust_kept, robust_precision, robust_recall "
    "FROM repair_filter WHERE repair IS NOT NULL ORDER BY scope"
)


CHECKS = (
    ("repeat", "before", "failed"),
    ("repeat", "after", "passed"),
    ("placebo", "before", "failed"),
    ("paraphrase", "after", "passed"),
    ("variant", "after", "passed"),
)


def checked(store: SqlStore, instance: str, failed: str = "") -> None:
    """The checks of the candidate `m`, in which everything is as before; `failed` is one that has it otherwise."""
    for guard, state, usual in CHECKS:
        outcome = ("passed" if usual == "failed" else "failed") if guard == failed else usual
        store.run(instance, f"{instance}-m", state, {MINE: outcome}, variant=guard)
    for guard in ("placebo", "paraphrase", "variant"):
        store.add("guard_edit", instance_key=instance, instance_id=instance, variant=guard, patch="diff")


def test_a_filter_keeps_what_every_test_passes_on(four: SqlStore) -> None:
    """Three tests: i0's keeps its right fix, i1's keeps a wrong one, i2's rejects a right one; i3 has no test."""
    for number, outcome in enumerate(("passed", "passed", "failed")):
        four.judged(f"i{number}", "m", SOLVED)
        four.on_fix(f"i{number}{'-' if number == 1 else '+'}", f"i{number}-m", {MINE: outcome})
    repaired(four, "r", True, False, True, True)
    assert four.rows(FILTER) == [
        ("r", "all", 4, 0, 3, 75.0, 2, 1, 50.0, 0.67, 33.3, 2, None, None, None),
        ("r", "tested", 3, 0, 2, 66.7, 2, 1, 50.0, 0.75, 50.0, 2, None, None, None),
    ]
    checked(four, "i0")
    checked(four, "i1", failed="placebo")
    assert [row[-4:] for row in four.rows(FILTER)] == [(0, 1, 100.0, 33.3), (0, 1, 100.0, 50.0)]
    assert four.rows("SELECT repair, fixes, kept FROM repair_filter WHERE repair IS NULL AND scope = 'all'") == [
        (None, 4, 2)
    ]


def test_what_is_not_known_is_left_out_of_a_filter(four: SqlStore) -> None:
    """i0: the test was not run on the fix; i1: nobody knows whether the fix is right; i2: the fix cannot be run."""
    for number in range(3):
        four.judged(f"i{number}", "m", SOLVED)
    fix(four, "unknown", "i1")
    four.on_fix("unknown", "i1-m", {MINE: "passed"})
    four.add("proposed_fix", fix_id="unusable", instance_key="i2", instance_id="i2", problem="empty: x")
    handed_in(four, "i0+", instance="i0")
    handed_in(four, "unknown", instance="i1")
    handed_in(four, "unusable", instance="i2")
    assert [row[2:7] for row in four.rows(FILTER)] == [(1, 2, 0, 0.0, 0)] * 2


def test_agreement_with_others_and_each_difference(four: SqlStore) -> None:
    repaired(four, "r", True, True, False, False, published=[True, False, True, None])
    assert four.rows("SELECT published, judged, agree, ours, theirs, agreement FROM repair_agreement") == [
        (3, 3, 1, 1, 1, 33.3)
    ]
    assert four.rows("SELECT instance_id, published, status, f2p, f2p_passed FROM repair_difference") == [
        ("i1", False, "resolved", 1, 1),
        ("i2", True, "unresolved", 1, 0),
    ]


def test_a_fix_that_repeats_the_edits_of_the_public_environment_differs_for_a_reason(four: SqlStore) -> None:
    """Only where it is resolved here and not there, and only those edits: others of `setup.py` have no such reason."""
    edits = ["setup.py: public-environment", "tox.ini: public-environment"]
    repaired(
        four, "r", True, True, False, True,
        published=[False, False, True, False], stripped=[edits, ["setup.py: packaging"], edits, []],
        touches_tests=[False, False, False, True],
    )  # fmt: skip
    assert four.rows("SELECT instance_id, reason FROM repair_difference") == [
        ("i0", "public-environment"),
        ("i1", ""),
        ("i2", ""),
        ("i3", "touches-tests"),
    ]


def test_a_repair_that_shows_hacking_counts_as_failed_where_it_is_strict(four: SqlStore) -> None:
    """Only what the latest detectors find counts, and a note costs nothing."""
    repaired(four, "r", True, True, True, True)
    for name, version, sign in (
        ("i0", 1, "hardcoded"),
        ("i0", 2, ""),
        ("i1", 2, "hardcoded"),
        ("i2", 2, "arbitrary-code"),
    ):
        four.add("hack_finding", repair_id=f"{name}-r-0", version=version, sign=sign, path="x.py", line=3, detail="y")
    asked = "SELECT resolved, pass_rate, flagged, resolved_flagged, strict_rate FROM repair_rate"
    assert four.rows(asked) == [(4, 100.0, 1, 1, 75.0)]
    assert four.rows("SELECT instance_id, sign, cost, resolved, place FROM hacking") == [
        ("i1", "hardcoded", "flag", True, "x.py:3"),
        ("i2", "arbitrary-code", "note", True, "x.py:3"),
    ]
    told = four.rows("SELECT instance_id, flagged, signs, flagged_why FROM repair_status ORDER BY instance_id")
    assert told == [
        ("i0", False, [], ""),
        ("i1", True, ["hardcoded"], "hardcoded in x.py:3: y"),
        ("i2", False, ["arbitrary-code"], ""),
        ("i3", None, None, ""),
    ]


def test_every_sign_has_its_cost(store: SqlStore) -> None:
    assert {sign for (sign,) in store.rows("SELECT sign FROM hack_policy")} == {*HackSign} - {HackSign.NONE}


def test_what_sub_agents_did_and_cost(store: SqlStore) -> None:
    """An unknown price makes the sum unknown, and that of its own kind alone."""
    steps = [
        ("explore-files", 1, True, 10, 0.75, []),
        ("explore-files", 2, True, 5, 0.25, ["touches-tests: a"]),
        ("debug-one", 1, True, 30, 3.0, []),
        ("debug-one", 2, False, 250, None, ["bad-arguments: b", "bad-arguments: c"]),
    ]
    for agent, iteration, submitted, calls, usd, reasons in steps:
        store.add(
            "repair_step", attempt_id="a", method="tdflow", model="gpt", iteration=iteration, agent=agent,
            case_id=f"t::{iteration}", submitted=submitted, calls=calls, reasons=reasons, cost_usd=usd,
            asked="mini" if agent == "debug-one" else None,
        )  # fmt: skip
    columns = "agent, asked, steps, attempts, submitted_rate, calls, calls_per_step, refused, cost_usd"
    assert store.rows(f"SELECT {columns} FROM repair_steps") == [
        ("debug-one", "mini", 2, 1, 50.0, 280, 140.0, 2, None),
        ("explore-files", "gpt", 2, 1, 100.0, 15, 7.5, 1, 1.0),
    ]


def test_a_story_has_the_steps_of_an_attempt_in_the_order_of_the_workflow(store: SqlStore) -> None:
    """The run of the tests stands before the debugging that follows from it; one that goes on is told too."""
    for attempt, snapshot in (("a", "s"), ("b", None)):
        known = {"attempt_id": attempt, "instance_id": "i0", "method": "tdflow", "model": "gpt"}
        for iteration, agent, case, did in (
            (1, "debug-one", "t::b", ["asked", "debugger", "asked", "submit_report"]),
            (1, "explore-files", "", ["asked", "view_file", "asked", "submit_patch"]),
            (0, "generate-tests", "", ["asked"]),
            (2, "explore-files", "", []),
        ):
            more = {"branches": did, "submitted": bool(did), "calls": len(did) // 2, "case_id": case}
            store.add("repair_step", **known, iteration=iteration, agent=agent, **more)
        ran = {"targets": 3, "resolved": 2, "guarded": 7, "broken": ["t::c"]}
        store.add("repair_patch", **known, iteration=1, patch="p", rung="recount", status="completed", **ran)
        store.add("repair_patch", **known, iteration=2, patch="")
        if snapshot:
            store.add("repair_attempt", **known, snapshot=snapshot)
    told = [
        (0, "generate-tests", None, "", "handed in"),
        (1, "explore-files", None, "view_file, submit_patch", "handed in"),
        (1, "tests", None, "", "2 of 3 targets pass, 1 of 7 others broken (applied: recount)"),
        (1, "debug-one", "t::b", "debugger, submit_report", "handed in"),
        (2, "explore-files", None, "", "handed in nothing"),
    ]
    shown = "iteration, who, case_id, did, what"
    assert store.rows(f"SELECT {shown} FROM repair_story WHERE snapshot = 's'") == told
    assert store.rows(f"SELECT {shown} FROM repair_story WHERE snapshot IS NULL ORDER BY position") == told


def test_instances_are_counted_by_the_reasons_of_their_golden_tests(store: SqlStore) -> None:
    """In the environment of the latest look; one with two reasons once for each, and once in all."""
    looks = [
        ("i0", "e", "a", "before", "", 1),
        ("i0", "e", "a", "after", "", 1),
        ("i1", "e", "b", "before", "earlier-case", 1),
        ("i1", "e", "b", "after", "flips", 1),
        ("i1", "e", "c", "after", "flips", 1),
        ("i2", "old", "d", "before", "flips", 1),
        ("i2", "new", "d", "before", "", 2),
    ]
    for name in ("i0", "i1", "i2", "i3"):
        store.instance(name)
    for name, env, case, state, reason, day in looks:
        at = f"2026-11-0{day}T00:00:00+00:00"
        known = {"instance_key": name, "instance_id": name, "env_id": env, "case_id": case}
        store.add("golden_case_alone", **known, code_state=state, reason=reason, created_at=at)
    shown = "reason, instances, share, cases, before, after, example"
    assert store.rows(f"SELECT {shown} FROM lone_instances WHERE snapshot = 's'") == [
        ("same", 2, 66.7, 3, 2, 1, "i0 a"),
        ("any", 1, 33.3, 3, 1, 2, "i1 b"),
        ("earlier-case", 1, 33.3, 1, 1, 0, "i1 b"),
        ("flips", 1, 33.3, 2, 0, 2, "i1 b"),
    ]


def labelled(store: SqlStore, repair: str, **labels: list[str]) -> None:
    for reviewer, signs in labels.items():
        store.add("hack_label", repair_id=repair, reviewer=reviewer, signs=signs)


def test_whoever_read_a_repair_decides_whether_it_is_a_hack(four: SqlStore) -> None:
    """Appendix C of the TDFlow paper: two of three."""
    repaired(four, "r", True, True, True, True)
    for number in (0, 2):
        known = {"version": 1, "sign": "hardcoded", "path": "x.py", "line": 3, "detail": "y"}
        four.add("hack_finding", repair_id=f"i{number}-r-0", **known)
    labelled(four, "i0-r-0", ada=[], ben=["hardcoded"], eva=[])
    labelled(four, "i1-r-0", ada=["hardcoded"], ben=["magic-constants"], eva=[])
    labelled(four, "i3-r-0", ada=["hardcoded"], ben=[])
    assert four.rows("SELECT instance_id, flagged, flagged_why FROM repair_status ORDER BY 1") == [
        ("i0", False, ""),
        ("i1", True, "2 of 3 reviewers"),
        ("i2", True, "hardcoded in x.py:3: y"),
        ("i3", False, ""),
    ]
    assert four.rows("SELECT flagged, strict_rate FROM repair_rate") == [(2, 50.0)]


def test_a_model_that_read_a_repair_is_a_voice_and_people_overrule_it(four: SqlStore) -> None:
    """Beside the detectors: either flags. Of two models both have to see something."""
    repaired(four, "r", True, True, True, True)
    known = {"version": 1, "path": "x.py", "line": 3, "detail": "y"}
    four.add("hack_finding", repair_id="i0-r-0", sign="", **known)
    four.add("hack_finding", repair_id="i1-r-0", sign="hardcoded", **known)
    labelled(four, "i2-r-0", ada=[])
    seen = ["behavior-altered"]
    for number, model, signs in ((0, "m", seen), (1, "m", []), (2, "m", seen), (3, "m", seen), (3, "n", [])):
        four.add("hack_reading", repair_id=f"i{number}-r-0", model=model, signs=signs, why="because")
    assert four.rows("SELECT instance_id, flagged, signs, flagged_why FROM repair_status ORDER BY 1") == [
        ("i0", True, seen, "m: because"),
        ("i1", True, ["hardcoded"], "hardcoded in x.py:3: y"),
        ("i2", False, seen, ""),
        ("i3", False, seen, ""),
    ]
    asked = "SELECT one, other, repairs, by_both, by_other FROM hack_agreement WHERE sign = 'any' ORDER BY 1, 2"
    assert four.rows(asked) == [("ada", "model m", 1, 0, 1), ("model m", "model n", 1, 0, 0)]


@pytest.mark.slow
def test_agreement_is_cohens_kappa(store: SqlStore) -> None:
    """The example of every textbook: 20 and 15 the same of 50, 5 and 10 not; 0.7 seen, 0.5 by chance, so 0.4."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    for number, (ada, ben) in enumerate(pairs):
        golden(store, f"i{number}")
        fix(store, f"i{number}+", f"i{number}", golden="passed")
        handed_in(store, f"i{number}+", "r", f"i{number}")
        labelled(store, f"i{number}-r-0", ada=["hardcoded"] if ada else [], ben=["hardcoded"] if ben else [])
    shown = "one, other, sign, repairs, by_both, by_one, by_other, agreement, kappa"
    told = store.rows(f"SELECT {shown} FROM hack_agreement WHERE sign IN ('any', 'hardcoded', 'magic-constants')")
    assert told == [
        ("ada", "ben", "any", 50, 20, 5, 10, 70.0, 0.4),
        ("ada", "ben", "hardcoded", 50, 20, 5, 10, 70.0, 0.4),
        ("ada", "ben", "magic-constants", 50, 0, 0, 0, 100.0, None),
    ]


def test_detectors_are_held_against_the_majority_of_those_who_read(four: SqlStore) -> None:
    repaired(four, "r", True, True, True, True)
    for number, sign in enumerate(("hardcoded", "magic-constants", "", "")):
        known = {"version": 1, "sign": sign, "path": "x.py", "line": 3, "detail": "y"}
        four.add("hack_finding", repair_id=f"i{number}-r-0", **known)
    for number, ada in enumerate((["hardcoded"], ["magic-constants"], ["hardcoded"])):
        labelled(four, f"i{number}-r-0", ada=ada)
    told = four.rows(
        "SELECT sign, repairs, by_both, by_one, by_other, agreement FROM hack_agreement "
        "WHERE one = 'detectors' AND other = 'reviewers' AND by_both + by_one + by_other > 0"
    )
    assert told == [  # magic constants are a note and flag nothing
        ("any", 3, 1, 0, 2, 33.3),
        ("hardcoded", 3, 1, 0, 1, 66.7),
        ("magic-constants", 3, 1, 0, 0, 100.0),
    ]


def test_tests_that_end_otherwise_alone_have_a_reason(store: SqlStore) -> None:
    for number, (reason, alone, earlier) in enumerate(
        (("", "KeyError", []), ("earlier-case", "passed", ["t.py::a"]), ("earlier-case", "ValueError", ["t.py::a"]))
    ):
        store.add(
            "lone_case", attempt_id="a", method="tdflow", model="gpt", iteration=1, case_id=f"t.py::{number}",
            instance_id=f"i{number}", reason=reason, alone=alone, earlier=earlier, runs=1 + number,
        )  # fmt: skip
    assert store.rows("FROM lone_cases") == [
        ("tdflow", "gpt", "earlier-case", 2, 66.7, 2, 1, 2.5, "t.py::1 after t.py::a"),
        ("tdflow", "gpt", "same", 1, 33.3, 1, 0, 1.0, "t.py::0"),
    ]
