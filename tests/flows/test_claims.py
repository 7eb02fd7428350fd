"""Two who evaluate the same at the same time share the work: each run is made by one of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from tasks.adapters.store.tables.store import Store
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name

REQUEST = EvaluationRequest(candidates=("golden", "nop"), snapshot="demo", instances=("rolling-swt-bench__larder-3",))


@pytest.mark.slow
def test_two_at_once_make_each_run_once(settings: Settings) -> None:
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: run_flow(REQUEST, settings), range(2)))
    store = Store(settings.store)
    keys = [run.run_key for run in store.read(Run)]
    facts = [path for path in store.disk.paths(table_name(CaseOutcome)) if "/part-empty" not in path]
    assert len(facts) == len(set(keys)) == len(keys), "a run that was made twice has facts of both"
    assert [one.exit_code for one in done] == [0, 0]
    assert not list(store.disk.paths("claims")), "claims go with their runs"
    assert store.check() == ()
