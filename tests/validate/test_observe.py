"""What is read of the stored runs."""

from __future__ import annotations

from pathlib import Path

from domain_rows import run_row, task_instance

from tasks.adapters.store.warehouse import Store
from tasks.domain.names import InstanceId, InstanceKey, RunKey
from tasks.domain.outcome import SuiteKind
from tasks.validate.observe import slowest_first


def test_whose_golden_tests_took_longest_comes_first(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    pool = [task_instance(instance_id=InstanceId(name), instance_key=InstanceKey(name)) for name in "abcd"]
    took = {"a": [("golden", 2.0)], "b": [("golden", 1.0), ("golden", 9.0)], "c": [("golden", 3.0), ("none", 99.0)]}
    for one in pool:
        for number, (kind, seconds) in enumerate(took.get(one.instance_id, [])):
            run = run_row(
                run_key=RunKey(f"{one.instance_id}{number}"),
                instance_key=one.instance_key,
                suite_kind=SuiteKind(kind),
                wall_s=seconds,
            )
            store.write_run(run, [])
    assert [one.instance_id for one in slowest_first(store, reversed(pool))] == ["b", "c", "a", "d"]
    assert slowest_first(store, ()) == ()
