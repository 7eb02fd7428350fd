"""Every round of every story with a unit that fails: by an error of ours, a bug, Ctrl-C, and a kill of the process.

    python -m benchmarks.fault_drill --work FOLDER [--story rebuild] [--round scrape] [--fault kill]

The rows of `undone` are the units that were not done, no more and no less; exit code and state say so; after all faults
the same command completes, and once more it finds everything done. A process that is killed writes nothing, so its
round stays open, and `undone_now` tells all that it was asked. Runs of tests are counted: none is made twice.
A line of a Markdown table for each round and fault, and one for the end of each story, as they come.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.faults import AT_ONCE, Faulty, disk_full
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.parameters import Request, read_request
from flows.run import LEFT, NOTHING, Summary, Threads, begin
from flows.settings import Settings, settings_from
from flows.snapshots import import_rows
from flows.stories import STORIES, teller
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import InfrastructureError
from tasks.domain.undone import FlowRound, Undone, Unit
from tasks.rehearsal.contract import HELPFUL
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.serve import listening
from tasks.rehearsal.local_github.world import World, open_repository
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step
from tasks.scrape.task import TOKEN_VARIABLES

LARDER = "rolling-swt-bench/larder"
TWO = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))
POOL = "one"
"""A snapshot of the demo's first instance alone."""
KILL = "kill"
FAULTS: dict[str, Callable[[], BaseException]] = {
    "ours": lambda: InfrastructureError("disk full"),
    "bug": lambda: ZeroDivisionError("a bug"),
    "Ctrl-C": KeyboardInterrupt,
    KILL: lambda: os.kill(os.getpid(), signal.SIGKILL) or KeyboardInterrupt(),
}
SLUGS = {"ours": "infrastructure", "bug": "bug", "Ctrl-C": "interrupted", KILL: "interrupted"}
HEAD = ("story", "round", "fault", "asked", "done", "undone", "ended as")


@dataclass(frozen=True)
class Drill:
    """A story, and the rounds that it has on the demo."""

    story: str
    asked: dict[str, Any]
    rounds: tuple[str, ...]
    before: tuple[str, ...] = ()
    """Stories to be told first, with the same request as far as it fits."""


JUDGED = ("environments", "runs", "guards")
OF_TWO = {"snapshot": SNAPSHOT, "instances": TWO}
WORK = {"methods": ("zero_shot_plus",), "models": ("scripted",), **OF_TWO}
MONTH = {"snapshot": "2025-08", "repositories_file": DEMO / "repositories.toml", "limit": 1}
VALIDATED = (*JUDGED, "leaks", "validation")

DRILLS = (
    Drill("evaluate", {"candidates": ("golden", "nop"), **OF_TWO}, JUDGED),
    Drill("validate", OF_TWO, VALIDATED),
    Drill(
        "strength",
        {"fixes": (str(DEMO / "repairs.demo-quick.jsonl"),), **OF_TWO},
        ("environments", "references", "fixes"),
        before=("evaluate",),
    ),
    Drill("localize", OF_TWO, ("retrieval",)),
    Drill("generate", WORK, ("environments", "retrieval", "generation")),
    Drill("rebuild", {"git": "", **MONTH}, ("reach", "scrape", "rows", "filter", *VALIDATED, "facts", "publish")),
)
MORE = (
    Drill("evaluate", {"candidates": ("golden",), "guards": False, **OF_TWO}, ("confirmations",)),
    Drill("validate", {"health": True, **OF_TWO}, ("health",)),
    Drill("sweep", WORK, ("environments", "retrieval", "generation", "runs", "guards")),
    Drill("freeze", {"pool": POOL, "snapshot": "frozen"}, (*VALIDATED, "facts", "publish")),
    Drill("rebuild", {"git": "{mirrors}/{repo}.git", **MONTH}, ("mirrors",)),
    Drill("rebuild", {"git": "", "since": datetime(2025, 7, 1, tzinfo=UTC), **MONTH}, ("issues", "rows of issues")),
)
"""What the script tries besides; these share their stage functions with the others."""


@dataclass(frozen=True)
class Outcome:
    """What a round with a fault came to."""

    asked: int
    done: int
    undone: int
    ended: str

    def row(self, drill: Drill, round_: str, fault: str) -> str:
        cells = (drill.story, round_, fault, self.asked, self.done, self.undone, self.ended)
        return "| " + " | ".join(map(str, cells)) + " |"


@contextmanager
def world(settings: Settings, folder: Path) -> Iterator[Settings]:
    """A provider of models, a GitHub, and a folder of mirrors on this machine."""
    mirror = build_demo_mirror(settings)
    links = folder / "mirrors" / f"{LARDER}.git"
    links.parent.mkdir(parents=True, exist_ok=True)
    if not links.exists():
        links.symlink_to(mirror)
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=folder / "github", license="MIT")
    hub = Hub(World({LARDER: served}, until=datetime(2025, 8, 15, tzinfo=UTC)))
    with listening(hub) as github, ScriptedProvider(lambda _: text_step(HELPFUL)).serve() as provider:
        yield replace(settings, github=f"{github}/graphql", environ={"SWT_SCRIPTED_BASE_URL": provider})


def tell(name: str, asked: dict[str, Any], settings: Settings, board: Faulty) -> Summary:
    story = next(story for story in STORIES if story.name == name)
    request: Request = read_request(story.request, asked)
    told: Summary = begin(
        name, request.title, Store(settings.store), board, lambda run: teller(story)(request, settings, run)
    )
    return told


class Victim:
    """The first unit that a round asks for fails, and no other."""

    def __init__(self, round_: str, error: Callable[[], BaseException]) -> None:
        self.round = round_
        self.error = error
        self.subject = ""

    def __call__(self, name: str, unit: Unit) -> BaseException | None:
        if name != self.round or self.subject not in ("", unit.subject):
            return None
        self.subject = unit.subject
        return self.error()


def sound() -> Faulty:
    """A board without a fault."""
    return Faulty(disk_full())


def prepared(drill: Drill, folder: Path) -> dict[str, Any]:
    """What the story is asked, with the folder of this machine."""
    git = drill.asked.get("git")
    return {**drill.asked, "git": git.replace("{mirrors}", str(folder / "mirrors"))} if git else drill.asked


def struck(drill: Drill, settings: Settings, folder: Path, round_: str, fault: str) -> Outcome:
    """One telling of the story with one fault in one round; `AssertionError` says what is not as it has to be."""
    store = Store(settings.store)
    before = {(row.flow_run, row.round, row.scope) for row in store.read(FlowRound)}
    keys = store.run_keys()
    board = Faulty(Victim(round_, FAULTS[fault]), Threads(1, AT_ONCE))
    asked_for = prepared(drill, folder)
    ended = _killed(drill, asked_for, settings, round_) if fault == KILL else _ended(drill, asked_for, settings, board)
    new = [row for row in store.read(FlowRound) if (row.flow_run, row.round, row.scope) not in before]
    hit = [row for row in new if row.round == round_]
    what = (drill.story, round_, fault)
    assert hit, (*what, "was never asked")
    asked = {subject for row in hit for subject in row.asked}
    done = {subject for row in hit for subject in row.done}
    rows = store.read(Undone, flow_run=tuple({row.flow_run for row in new}))
    missing = {(row.subject, row.error) for row in rows if row.round == round_ and row.unit}
    if fault == KILL:
        assert not missing, (*what, "nobody was there to write")
        assert {row.round for row in new if row.finished_at is None} == {round_}, what
        ensure_views(settings.store, settings.database, settings.sql)
        found = f"FROM undone_now WHERE round = '{round_}' AND flow_run IN ({', '.join(repr(r.flow_run) for r in hit)})"
        missing = {(row["subject"], row["error"]) for row in query(settings.database, found).to_pylist()}
    else:
        assert all(row.finished_at for row in new), what
        assert sum(board.made) <= len(store.run_keys() - keys), (*what, "a run was made twice")
    assert missing == {(subject, SLUGS[fault]) for subject in asked - done}, (*what, missing, asked, done)
    return Outcome(len(asked), len(done), len(missing), ended)


def _ended(drill: Drill, asked: dict[str, Any], settings: Settings, board: Faulty) -> str:
    """The exit code of a story with a fault."""
    try:
        code = tell(drill.story, asked, settings, board).exit_code
    except KeyboardInterrupt:
        return "130"
    assert code in (LEFT, NOTHING), (drill.story, code)
    return str(code)


def _killed(drill: Drill, asked: dict[str, Any], settings: Settings, round_: str) -> str:
    """The story in a process of its own, which is killed."""
    # Forked from a process that has no threads: a fork of this one would find locks that nobody gives back.
    child = multiprocessing.get_context("forkserver").Process(target=_die, args=(drill, asked, settings, round_))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL, (drill.story, "was not killed")
    return "killed"


def _die(drill: Drill, asked: dict[str, Any], settings: Settings, round_: str) -> None:
    """Tell the story up to the first unit of the round, which kills the process."""
    tell(drill.story, asked, settings, Faulty(Victim(round_, FAULTS[KILL]), Threads(1, AT_ONCE)))


def completed(drill: Drill, settings: Settings, folder: Path) -> int:
    """Tell the story without a fault, and once more. How many runs the first made; the second makes none."""
    store, asked = Store(settings.store), prepared(drill, folder)
    before, board = store.run_keys(), sound()
    assert tell(drill.story, asked, settings, board).exit_code == 0, drill.story
    after = store.run_keys()
    assert sum(board.made) <= len(after - before), (drill.story, "a run was made twice")
    assert tell(drill.story, asked, settings, sound()).exit_code == 0, drill.story
    assert store.run_keys() == after, (drill.story, "what is done was done again")
    assert store.check() == (), drill.story
    return len(after - before)


def prepare_for(drill: Drill, settings: Settings, folder: Path) -> None:
    """Tell the stories that this one needs, and import the pool that it names."""
    if drill.asked.get("pool") == POOL:
        first = folder / "one.jsonl"
        first.write_text((DEMO / "instances.jsonl").read_text("utf-8").splitlines()[0] + "\n", "utf-8")
        import_rows(settings, first, POOL)
    for name in drill.before:
        assert tell(name, {"candidates": ("golden", "nop"), **drill.asked}, settings, sound()).exit_code == 0


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder for stores and a cache")
    parser.add_argument("--story", action="append", help="only this one; may be repeated")
    parser.add_argument("--round", action="append", dest="rounds", help="only this one; may be repeated")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="only this one; may be repeated")
    asked = parser.parse_args(argv)
    os.environ.setdefault(TOKEN_VARIABLES[0], "any")
    print("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD), flush=True)
    for number, drill in enumerate((*DRILLS, *MORE)):
        if not asked.story or drill.story in asked.story:
            _drilled(drill, asked.work / str(number), asked.work / "cache", asked.rounds, asked.fault or list(FAULTS))


def _drilled(drill: Drill, folder: Path, cache: Path, rounds: Sequence[str] | None, faults: Sequence[str]) -> None:
    """One story, in a warehouse of its own."""
    here = {"SWT_STORE": str(folder / "store"), "SWT_CACHE": str(cache), "SWT_DATABASE": str(folder / "swt.duckdb")}
    settings = replace(settings_from(dict(os.environ) | here), trusted=True)
    build_demo_mirror(settings)
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    with world(settings, folder) as there:
        prepare_for(drill, there, folder)
        for round_ in drill.rounds:
            for fault in faults:
                if not rounds or round_ in rounds:
                    print(struck(drill, there, folder, round_, fault).row(drill, round_, fault), flush=True)
        made = completed(drill, there, folder)
    print(f"| {drill.story} | all | none, twice | | | 0 | 0; {made} runs, then none |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
