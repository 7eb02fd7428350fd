"""Health, size and choice of instances, on hand-written rows."""

from __future__ import annotations

from datetime import timedelta

from sql_store import START, SqlStore

LITE = {
    "statement_words": 60,
    "patch_files": 1,
    "patch_hunks": 2,
    "patch_added": 10,
    "patch_removed": 4,
    "test_files": 1,
    "test_added": 8,
}


def fact(store: SqlStore, name: str, **values: int) -> None:
    store.add("instance_fact", instance_key=name, instance_id=name, **(LITE | values))


def validation(store: SqlStore, name: str, reason: str, day: int, **values: int) -> None:
    store.add(
        "validation",
        instance_key=name,
        instance_id=name,
        snapshot="s",
        env_id="e",
        valid=not reason,
        reason=reason,
        validated_at=START + timedelta(days=day),
        **values,
    )


def test_the_latest_word_that_is_not_a_failure_of_ours_is_the_health(store: SqlStore) -> None:
    for name in "abcd":
        store.instance(name)
    validation(store, "a", "", 0, fail_to_pass=2)
    validation(store, "a", "flaky", 1)
    validation(store, "b", "", 0, fail_to_pass=1, pass_to_pass=3)
    validation(store, "b", "infrastructure", 1)
    validation(store, "c", "infrastructure", 0)

    assert store.rows(
        "SELECT instance_id, health, f2p, p2p, validations FROM instance_health ORDER BY instance_id"
    ) == [
        ("a", "flaky", 0, 0, 2),
        ("b", "valid", 1, 3, 2),
        ("c", "infrastructure", 0, 0, 1),
        ("d", "unknown", None, None, None),
    ]


def test_the_flake_bound_is_that_of_the_worst_f2p_case_in_the_environment_in_use(store: SqlStore) -> None:
    store.instance("a")
    validation(store, "a", "", 0)
    for case, stability, env, upper in (
        ("one", "fail_to_pass", "e", 0.25),
        ("two", "fail_to_pass", "e", 0.5),
        ("three", "flaky", "e", 0.9),
        ("four", "fail_to_pass", "other", 0.95),
    ):
        store.add(
            "case_stability",
            instance_key="a",
            env_id=env,
            suite_kind="golden",
            case_id=case,
            stability=stability,
            flake_upper=upper,
        )

    assert store.value("SELECT flake_upper FROM instance_health") == 0.5


def test_lite_keeps_what_keeps_every_rule(store: SqlStore) -> None:
    broken = {
        "short": {"statement_words": 39},
        "long": {"statement_words": 1001},
        "image": {"images": 1},
        "link": {"links": 1},
        "commit": {"commits": 1},
        "reference": {"references": 1},
        "two_files": {"patch_files": 2},
        "new_file": {"patch_new_files": 1},
        "hunks": {"patch_hunks": 4},
        "lines": {"patch_added": 47},
        "tests": {"test_files": 3},
    }
    store.instance("good")
    store.instance("uncounted")
    fact(store, "good")
    for name, values in broken.items():
        store.instance(name)
        fact(store, name, **values)

    assert store.rows("SELECT instance_id FROM lite_instance") == [("good",)]


def test_table1_counts_what_there_is(store: SqlStore) -> None:
    store.instance("a", golden_base=["test_a.py"])
    store.instance("b")
    fact(store, "a", statement_words=100)
    fact(store, "b", statement_words=300)
    store.judged(
        "a",
        "golden",
        base=["test_a.py"],
        cells={"test_a.py::old": "passed passed passed passed", "test_a.py::new": "- - failed passed"},
    )

    found = {row[0]: row[1:] for row in store.rows("SELECT fact, instances, mean, max FROM table1")}

    assert found["statement words"] == (2, 200.0, 300)
    assert found["patch lines"] == (2, 14.0, 14)
    assert found["golden F2P"] == (1, 1.0, 1)
    assert found["golden P2P"] == (1, 1.0, 1)
    assert found["golden cases"] == (1, 2.0, 2)
    assert found["existing cases"] == (1, 1.0, 1)


def test_a_window_is_counted_in_months_and_holds_its_last_day(store: SqlStore) -> None:
    for name, day in (("early", -40), ("inside", -20), ("last", 0), ("later", 1)):
        store.instance(name, created_at=START + timedelta(days=day, hours=23))

    assert store.rows("SELECT instance_id FROM instance_window('s', 1, DATE '2026-11-01') ORDER BY instance_id") == [
        ("inside",),
        ("last",),
    ]


def test_a_trial_is_on_no_scale(store: SqlStore) -> None:
    """Its statement was put together from a git history, and may know the fix."""
    for name, mode in (("real", "restored"), ("trial", "reconstructed")):
        store.instance(name, problem_statement_mode=mode)
        store.candidate(name, "m", model="gpt")
    assert store.rows("SELECT instance_id, solved FROM ability_cell('paper', false)") == [("real", False)]
