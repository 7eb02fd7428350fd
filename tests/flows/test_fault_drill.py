"""Every round of every story with a unit that fails: by an error of ours, by a bug, by an interruption.

The rows of `undone` are the units that were not done, no more and no less; the exit code says so; the same again
completes, and nothing that was done before is done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from faults import AT_ONCE, Faulty

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.parameters import Request, read_request
from flows.run import LEFT, NOTHING, Summary, Threads, begin
from flows.settings import Settings
from flows.stories import STORIES, teller
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import InfrastructureError, TerminalError
from tasks.domain.undone import FlowRound, Undone, Unit
from tasks.rehearsal.contract import HELPFUL
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.serve import listening
from tasks.rehearsal.local_github.world import World, open_repository
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step
from tasks.scrape.task import TOKEN_VARIABLES

LARDER = "rolling-swt-bench/larder"
TWO = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))
FAULTS: dict[str, Callable[[], BaseException]] = {
    "ours": lambda: InfrastructureError("disk full"),
    "terminal": lambda: TerminalError("over"),
    "bug": lambda: ZeroDivisionError("a bug"),
    "kill": KeyboardInterrupt,
}
SLUGS = {"ours": "infrastructure", "terminal": "terminal", "bug": "bug", "kill": "interrupted"}


@dataclass(frozen=True)
class Drill:
    """A story, and the rounds that it has on the demo."""

    story: str
    asked: dict[str, Any]
    rounds: tuple[str, ...]
    before: tuple[str, ...] = ()
    """Stories to be told first, with the same request as far as it fits."""


DRILLS = (
    Drill(
        "evaluate",
        {"candidates": ("golden", "nop"), "snapshot": SNAPSHOT, "instances": TWO},
        ("environments", "runs", "guards"),
    ),
    Drill(
        "validate", {"snapshot": SNAPSHOT, "instances": TWO}, ("environments", "runs", "guards", "leaks", "validation")
    ),
    Drill(
        "strength",
        {"fixes": (str(DEMO / "repairs.demo-quick.jsonl"),), "snapshot": SNAPSHOT, "instances": TWO},
        ("environments", "references", "fixes"),
        before=("evaluate",),
    ),
    Drill("localize", {"snapshot": SNAPSHOT, "instances": TWO}, ("retrieval",)),
    Drill(
        "generate",
        {"methods": ("zero_shot_plus",), "models": ("scripted",), "snapshot": SNAPSHOT, "instances": TWO},
        ("environments", "retrieval", "generation"),
    ),
    Drill(
        "rebuild",
        {"snapshot": "2025-08", "repositories_file": DEMO / "repositories.toml", "limit": 1, "git": ""},
        (
            "reach",
            "scrape",
            "rows",
            "filter",
            "environments",
            "runs",
            "guards",
            "leaks",
            "validation",
            "facts",
            "publish",
        ),
    ),
)


@contextmanager
def world(settings: Settings, folder: Path) -> Iterator[Settings]:
    """A provider of models and a GitHub on this machine."""
    mirror = build_demo_mirror(settings)
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=folder / "github", license="MIT")
    hub = Hub(World({LARDER: served}, until=datetime(2025, 8, 15, tzinfo=UTC)))
    with listening(hub) as github, ScriptedProvider(lambda _: text_step(HELPFUL)).serve() as provider:
        yield replace(settings, github=f"{github}/graphql", environ={"SWT_SCRIPTED_BASE_URL": provider})


def tell(name: str, asked: dict[str, Any], settings: Settings, board: Faulty) -> Summary:
    story = next(story for story in STORIES if story.name == name)
    request: Request = read_request(story.request, asked)
    store = Store(settings.store)
    told: Summary = begin(name, request.title, store, board, lambda run: teller(story)(request, settings, run))
    return told


class Victim:
    """The first unit that a round asks for fails, and no other."""

    def __init__(self, round_: str, error: Callable[[], BaseException] | None) -> None:
        self.round = round_
        self.error = error
        self.subject = ""

    def __call__(self, name: str, unit: Unit) -> BaseException | None:
        if self.error is None or name != self.round or self.subject not in ("", unit.subject):
            return None
        self.subject = unit.subject
        return self.error()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.story)
def test_a_unit_that_fails_is_a_row_and_the_same_again_completes(
    drill: Drill, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLES[0], "any")
    store = Store(settings.store)
    with world(settings, tmp_path) as there:
        for name in drill.before:
            asked = {"candidates": ("golden", "nop"), **drill.asked}
            assert tell(name, asked, there, Faulty(Victim("", None))).exit_code == 0
        for round_ in drill.rounds:
            for fault, error in FAULTS.items():
                check(drill, there, store, round_, fault, error)
        assert tell(drill.story, drill.asked, there, Faulty(Victim("", None))).exit_code == 0
        keys = store.run_keys()
        assert tell(drill.story, drill.asked, there, Faulty(Victim("", None))).exit_code == 0
        assert store.run_keys() == keys, "nothing is run twice"
    assert store.check() == ()


def check(
    drill: Drill, settings: Settings, store: Store, round_: str, fault: str, error: Callable[[], BaseException]
) -> None:
    """One story with one fault in one round."""
    before = {(row.flow_run, row.round, row.scope) for row in store.read(FlowRound)}
    victim = Victim(round_, error)
    with pytest.raises(KeyboardInterrupt) if fault == "kill" else nullcontext():
        summary = tell(drill.story, drill.asked, settings, Faulty(victim, Threads(1, AT_ONCE)))
        assert summary.exit_code in (LEFT, NOTHING), (round_, fault)
    assert victim.subject, f"{round_} was never asked"
    new = [row for row in store.read(FlowRound) if (row.flow_run, row.round, row.scope) not in before]
    rows = [row for row in store.read(Undone) if row.flow_run in {one.flow_run for one in new}]
    struck = [row for row in rows if row.round == round_ and row.unit]
    missing = {subject for one in new if one.round == round_ for subject in set(one.asked) - set(one.done)}
    assert {row.subject for row in struck} == missing, (round_, fault)
    assert {row.error for row in struck} == {SLUGS[fault]}, (round_, fault)
    assert all(row.finished_at for row in new)
    print(f"{drill.story} | {round_} | {fault} | {len(struck)}")
