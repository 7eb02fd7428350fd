"""The repair of the demo: recorded replies, real tests, a real debugger."""

from __future__ import annotations

import pytest

from flows.demo import REPAIRED, repair_demo
from flows.interface.settings import Settings
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.generation import Generation
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.repair import RepairAttempt, RepairAudit, RepairPatch


@pytest.mark.slow
def test_every_sub_agent_has_its_part_and_the_second_patch_is_right(settings: Settings) -> None:
    done = repair_demo(settings)
    assert (done.exit_code, done.problems) == (0, ())
    asked = "SELECT iteration, who, did, what FROM repair_story WHERE instance_id = "
    told = query(settings.database, f"{asked}'{REPAIRED}' ORDER BY position").to_pylist()
    assert [tuple(row.values()) for row in told] == [
        (0, "generate-tests", "evaluate_tests, submit_tests", "handed in"),
        (1, "explore-files", "view_file, submit_patch", "handed in"),
        (1, "revise-patch", "submit_patch", "handed in"),
        (1, "tests", "", "1 of 2 targets pass"),
        (1, "debug-one", "debugger, debugger, debugger, submit_report", "handed in"),
        (2, "explore-files", "submit_patch", "handed in"),
        (2, "tests", "", "2 of 2 targets pass"),
    ]
    store = Store(settings.store)
    first, second = sorted(store.read(RepairPatch), key=lambda row: row.iteration)
    assert (first.revised, first.rung, second.revised, second.rung) == (True, "exact", False, "exact")
    (attempt,), (written,) = store.read(RepairAttempt), store.read(Generation)
    assert (written.variant, written.calls, written.status) == (attempt.method, 2, "proposed")
    assert all(store.open_file(one.trajectory or "").read() for one in (attempt, written))
    assert (store.read(TrajectoryAudit), store.read(RepairAudit)) == ((), ()), "nobody looked where nobody should"
    (rate,) = query(settings.database, "SELECT resolved, attempted, strict_rate FROM repair_rate").to_pylist()
    assert tuple(rate.values()) == (1, 1, 100.0), "golden tests find it right, and no detector minds it"
    (bad,) = query(settings.database, "SELECT btr, n, resolved FROM repair_by_bad_tests").to_pylist()
    assert tuple(bad.values()) == (0.0, 1, 1)
