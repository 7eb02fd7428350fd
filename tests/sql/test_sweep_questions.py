"""Cost, time, experiments and contamination from rows written by hand; the paper's own figures where it gives them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sql_store import START, SqlStore

F2P = {"test_a.py::new": "- - failed passed"}
F2F = {"test_a.py::new": "- - failed failed"}


def call(store: SqlStore, name: str, **more: object) -> None:
    """One answered call of `m` with model `x` on instance `a`, one dollar."""
    row: dict[str, object] = {
        "call_id": name,
        "work_id": "w",
        "status": "answered",
        "method": "m",
        "model": "x",
        "snapshot": "s",
        "instance_id": "a",
        "tokens_in": 100,
        "tokens_out": 10,
        "cost_usd": 1.0,
        "seconds": 2.0,
    }
    store.add("llm_call", **row | more)


def generation(store: SqlStore, instance: str, method: str = "m", **more: object) -> None:
    row: dict[str, object] = {
        "generation_id": f"{instance}-{method}-{more.get('given')}",
        "method": method,
        "model": "x",
        "snapshot": "s",
        "instance_id": instance,
        "instance_key": instance,
        "mode": "unit_test",
        "status": "proposed",
    }
    store.add("generation", **row | more)


def test_cost_counts_each_place_of_the_work_once(store: SqlStore) -> None:
    call(store, "1", position=0)
    call(store, "1 with other prompts", position=0, cost_usd=3.0, started_at=START + timedelta(hours=1))
    call(store, "2 replayed", position=1, status="replayed", cost_usd=0.5)
    call(store, "2 failed", position=1, status="failed", cost_usd=9.0)
    call(store, "2 cut", position=1, status="cut", cost_usd=None)
    call(store, "other", work_id="v", instance_id="b")
    assert store.rows("SELECT * FROM method_cost") == [("s", "m", "x", 2, 3, 300, 30, 4.5, 0, 4.5)]
    call(store, "unpriced", work_id="u", instance_id="b", cost_usd=None)
    assert store.one("SELECT known_usd, unpriced, cost_usd FROM method_cost") == (4.5, 1, None)


def test_tables_9_and_10_order_by_price(store: SqlStore) -> None:
    for number, (method, model, usd) in enumerate(
        [("m", "x", 2.0), ("m", "y", 1.0), ("n", "x", 1.5), ("n", "y", None)]
    ):
        call(store, str(number), work_id=str(number), method=method, model=model, cost_usd=usd)
    columns = "method, model, cost_usd, usd_per_instance, unpriced"
    assert store.rows(f"SELECT {columns} FROM table9") == [
        ("m", "y", 1.0, 1.0, 0),
        ("m", "x", 2.0, 2.0, 0),
        ("n", "x", 1.5, 1.5, 0),
        ("n", "y", None, None, 1),
    ]
    assert store.rows("SELECT model, method FROM table10") == [("x", "n"), ("x", "m"), ("y", "m"), ("y", "n")]


def test_the_cost_of_a_success(store: SqlStore) -> None:
    for name in "ab":
        store.instance(name)
        call(store, name, work_id=name, instance_id=name)
    store.judged("a", "m", F2P, model="x")
    store.judged("b", "m", F2F, model="x")
    store.judged("b", "m", F2P, model="x", sample=1)
    columns = "instances, calls, cost_usd, solved, robust, usd_per_success, usd_per_robust, tokens_per_success"
    assert store.one(f"SELECT {columns} FROM cost_per_success WHERE grader = 'paper'") == (
        *(2, 2, 2.0, 2, None, 1.0),
        *(None, 110.0),
    )


def test_time_counts_replayed_replies_as_long_as_they_took(store: SqlStore) -> None:
    for name, seconds in (("a", 10.0), ("b", 30.0)):
        store.instance(name)
        store.judged(name, "m", F2P, model="x")
        generation(store, name, candidate_id=f"{name}-m", seconds=seconds)
        call(store, f"{name}0", work_id=name, instance_id=name, seconds=4.0)
        call(store, f"{name}1", work_id=name, instance_id=name, position=1, status="replayed", seconds=6.0)
    early = START - timedelta(hours=1)
    call(store, "b2", work_id="b", instance_id="b", position=2, seconds=4.0, started_at=early)
    assert store.one("SELECT * FROM table11") == ("s", "m", "x", 2, 28.0, 28.0, 40.0, 42.9)


def test_table4_holds_models_side_by_side(store: SqlStore) -> None:
    for name in "ab":
        store.instance(name)
        store.judged(name, "golden", F2P)
        store.judged(name, "weak", F2F, model="x")
        store.judged(name, "m", F2P, model="y")
    store.con.execute("UPDATE candidate SET method = 'm' WHERE method = 'weak'")
    columns = "method, model, n, W, S, F_X, dc_all"
    assert store.rows(f"SELECT {columns} FROM table4") == [
        ("m", "y", 2, 100.0, 100.0, 100.0, None),
        ("m", "x", 2, 100.0, 0.0, 100.0, None),
    ]


def test_table5_compares_variants_on_the_instances_that_all_were_tried_on(store: SqlStore) -> None:
    told = ["golden-patch", "modified-files"]
    for name in "abc":
        store.instance(name)
        store.judged(name, "m", F2F if name == "a" else F2P, model="x")
        generation(store, name, given=[], candidate_id=f"{name}-m")
        if name != "c":
            label = "m+golden-patch+modified-files"
            store.judged(name, label, F2P, model="x")
            generation(store, name, given=told, candidate_id=f"{name}-{label}")
    assert store.rows("SELECT * EXCLUDE (dc_all) FROM table5") == [
        ("s", "m", "x", False, "retrieved", None, 2, 100.0, 50.0, 100.0),
        ("s", "m", "x", False, "modified", "golden", 2, 100.0, 100.0, 100.0),
    ]


def test_table5_holds_each_experiment_against_itself(store: SqlStore) -> None:
    """With other parameters a method is another experiment: it is no further row of the method as it is."""
    store.instance("a")
    for variant, told, cases in (
        ("m", [], F2F),
        ("m[temperature=0.7]", [], F2P),
        ("m[temperature=0.7]", ["golden-patch"], F2P),
    ):
        label = "+".join([variant, *told])
        store.judged("a", label, cases, model="x")
        name = f"a-{label}"
        generation(store, "a", generation_id=name, variant=variant, given=told, candidate_id=name)
    assert store.rows("SELECT method, patch, n, S FROM table5") == [
        ("m", None, 1, 0.0),
        ("m[temperature=0.7]", None, 1, 100.0),
        ("m[temperature=0.7]", "golden", 1, 100.0),
    ]


def test_what_a_killed_process_was_asked_is_undone_until_a_later_round_does_it(store: SqlStore) -> None:
    asked = {"story": "evaluate", "round": "runs", "scope": "s"}
    store.add("flow_round", flow_run="killed", asked=["a", "b"], **asked)
    assert store.rows("SELECT subject, error, may_pass FROM undone_now ORDER BY subject") == [
        ("a", "interrupted", True),
        ("b", "interrupted", True),
    ]
    later = START + timedelta(hours=1)
    store.add(
        "flow_round", flow_run="later", asked=["a", "b"], done=["a"], started_at=later, finished_at=later, **asked
    )
    store.add("undone", flow_run="later", subject="b", error="sandbox", detail="lost", at=later, **asked)
    assert store.rows("SELECT subject, error FROM undone_now ORDER BY ALL") == [("b", "sandbox")]


def test_what_the_provider_left_undone_is_nobodys_failure(store: SqlStore) -> None:
    for name in "abc":
        store.instance(name)
    store.judged("a", "m", F2P, model="x")
    generation(store, "a", candidate_id="a-m")
    generation(store, "b", status="infrastructure", reasons=["provider: 500"])
    assert store.rows("FROM left_undone") == [("s", "m", "x", "b", "provider: 500")]
    assert store.one("SELECT n, unmeasured, S, W FROM table2 WHERE method = 'm'") == (2, 1, 50.0, 50.0)
    assert store.one("SELECT n, unmeasured, pass_at_k FROM pass_at_k WHERE grader = 'paper'") == (2, 1, 50.0)
    generation(store, "b", status="nothing", candidate_id="b-m", given=["again"])
    store.candidate("b", "m", model="x")
    assert store.one("SELECT n, unmeasured FROM table2 WHERE method = 'm'") == (3, 0)


def test_table_7_of_the_paper_and_every_model_by_its_own_cutoff(store: SqlStore) -> None:
    """5 of 83 before April 2023 ended and 4 of 83 after: p = 36.6 %. Another model has another cutoff."""
    last = datetime(2023, 4, 30, 23, 59, tzinfo=UTC)
    for side, created, hits in (("b", last, 5), ("a", last + timedelta(minutes=1), 4)):
        for number in range(83):
            store.add(
                "task_instance",
                snapshot="s",
                instance_id=f"{side}{number}",
                instance_key=f"{side}{number}",
                created_at=created,
            )
            if number < hits:
                store.judged(f"{side}{number}", "m", F2P, model="gpt")
    store.judged("b0", "m2", F2P, model="later")
    store.judged("b0", "m3", F2P, model="nobody-knows")
    store.add("model_fact", model="gpt", cutoff=datetime(2023, 5, 1, tzinfo=UTC))
    store.add("model_fact", model="later", cutoff=datetime(2024, 1, 1, tzinfo=UTC))
    store.add("model_fact", model="nobody-knows", cutoff=None)
    columns = "model, CAST(cutoff AS VARCHAR), n_before, solved_before, S_before, n_after, solved_after, S_after"
    assert store.rows(f"SELECT {columns} FROM contamination WHERE grader = 'paper'") == [
        ("gpt", "2023-04-30", 83, 5, 6.0, 83, 4, 4.8),
        ("later", "2023-12-31", 166, 1, 0.6, 0, 0, None),
    ]
    statistics = "difference, p_z, p_exact, detectable, needed, undated, unmeasured"
    found = store.one(f"SELECT {statistics} FROM contamination WHERE grader = 'paper' AND model = 'gpt'")
    # Fisher: the hypergeometric tail of 5 or more of 9 successes among 83 of 166. 8.7 points: 2.486 · sqrt(2pq/83).
    assert found == (1.2, 0.3659, 0.5, 8.7, 4368, 0, 0)
    assert store.one(f"SELECT {statistics} FROM contamination WHERE grader = 'paper' AND model = 'later'") == (
        *(None, None, None),
        *(None, None, 0, 0),
    )
    assert store.value("SELECT count(DISTINCT grader) FROM contamination") == 3
