"""The sweep that `swt demo` makes, with the replies that are recorded in it."""

from __future__ import annotations

import pytest

from flows.demo import sweep_demo
from flows.interface.settings import Settings
from tasks.adapters.store.views.database import query


@pytest.mark.slow
def test_the_recorded_replies_of_the_demo_make_methods_differ(settings: Settings) -> None:
    done = sweep_demo(settings)
    assert (done.exit_code, done.left, done.unpriced) == (0, 0, done.calls)
    scores = query(settings.database, "SELECT method, solved FROM table2 WHERE model = 'scripted-demo'")
    assert {row["method"]: row["solved"] for row in scores.to_pylist()} == {
        "zero_shot": 0,
        "zero_shot_plus": 2,
        "auto_code_rover": 3,
        "agent": 3,
    }
