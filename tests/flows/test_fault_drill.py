"""Every round of every story with a unit that fails; which fault it is changes from round to round.

`python -m benchmarks.fault_drill` tries all of them in all rounds. It says as well what has to hold.
"""

from __future__ import annotations

import ast
from itertools import cycle
from pathlib import Path

import pytest

from benchmarks.drills import DRILLS, MORE, Drill, prepare_for, world
from benchmarks.fault_drill import FAULTS, completed, struck
from flows.interface.settings import Settings
from tasks.scrape.task import TOKEN_VARIABLES

FLOWS = Path(__file__).parents[2] / "flows"
ASKING = ("map_task", "make", "run_some")
"""Methods whose first argument is the name of a round."""
IN_CI = "evaluate"
"""The flow whose rounds fail in CI; all the others do in `make drills`."""


def test_every_round_is_drilled() -> None:
    """By the name that a flow gives it in its text."""
    calls = (
        node
        for path in sorted(FLOWS.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKING
    )
    named = {call.args[0].value for call in calls if call.args and isinstance(call.args[0], ast.Constant)}
    drilled = {round_ for drill in (*DRILLS, *MORE) for round_ in drill.rounds}
    assert named <= drilled
    assert len(named) > 20


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "drill",
    [pytest.param(one, marks=() if one.story == IN_CI else pytest.mark.drill, id=one.story) for one in DRILLS],
)
def test_a_unit_that_fails_is_a_row_and_the_same_again_completes(
    drill: Drill, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLES[0], "any")
    with world(settings, tmp_path) as there:
        prepare_for(drill, there, tmp_path)
        for round_, fault in zip(drill.rounds, cycle(FAULTS), strict=False):
            outcome = struck(drill, there, tmp_path, round_, fault)
            assert outcome.undone == outcome.asked - outcome.done > 0
        completed(drill, there, tmp_path)
