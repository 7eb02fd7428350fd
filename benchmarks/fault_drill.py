"""Every round of every story with a unit that fails: by an error of ours, a bug, Ctrl-C, and a kill of the process
before and after the unit's work.

    python -m benchmarks.fault_drill --work FOLDER [--story rebuild] [--round scrape] [--fault kill]

The same command goes on where it was ended: lines that are in `FOLDER/table.md` are not made again.

The rows of `undone` are the units that were not done, no more and no less; exit code and state say so; after all faults
the same command completes, and once more it finds everything done. A process that is killed writes nothing, so its
round stays open, and `undone_now` tells all that it was asked. Runs of tests and questions to models are counted: none
is made twice. A line of a Markdown table for each round and fault, and one for the end of each story, as they come; a
story in which something is not as it has to be ends there, standard error says what, and the next one begins.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from benchmarks.drills import DRILLS, MORE, Drill, prepare_for, prepared, tell, world
from benchmarks.faults import AT_ONCE, Faulty, disk_full
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.engine.units import LEFT, NOTHING, ThreadExecutor
from flows.interface.settings import Settings, settings_from
from flows.snapshots import import_rows
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import ensure_views, query
from tasks.domain.errors import InfrastructureError
from tasks.domain.undone import INTERRUPTED, FlowRound, Undone, Unit
from tasks.scrape.task import TOKEN_VARIABLES

KILL, LATE = "kill", "late kill"


def _ended_here() -> BaseException:
    """Nothing of this process goes on behind the signal."""
    os.kill(os.getpid(), signal.SIGKILL)
    return KeyboardInterrupt()


FAULTS: dict[str, Callable[[], BaseException]] = {
    "ours": lambda: InfrastructureError("disk full"),
    "bug": lambda: ZeroDivisionError("a bug"),
    "Ctrl-C": KeyboardInterrupt,
    KILL: _ended_here,
    LATE: _ended_here,
}
"""A late kill comes when the unit's work is done and in the store, and nobody was told of it yet."""
SLUGS = {"ours": "infrastructure", "bug": "bug"}
"""Of what fails and ends nothing; all else is `interrupted`."""
HEAD = ("story", "round", "fault", "asked", "done", "undone", "exit code", "state")
ENDED_BY_CTRL_C = 130
FAILED, OPEN = "Failed", "open"
ALL, NONE = "all", "none, twice"


@dataclass(frozen=True)
class Outcome:
    """What a round with a fault came to."""

    asked: int
    done: int
    undone: int
    exit_code: int
    state: str
    """What a server shows: `Failed` follows from the exit code; a flow run that was killed is open in the store."""


class Victim:
    """One unit of a round fails, and no other: that of the subject at this place of the first round of the name."""

    def __init__(self, round_: str, error: Callable[[], BaseException], place: int = 0) -> None:
        self.round = round_
        self.error = error
        self.place = place
        self.asked: list[tuple[str, str]] = []
        """As the board notes it: round and subject of every unit, before the first of them is tried."""
        self.subject = ""

    def __call__(self, name: str, unit: Unit) -> BaseException | None:
        if name != self.round:
            return None
        if not self.subject:
            self.subject = [subject for round_, subject in self.asked if round_ == name][self.place]
        return self.error() if unit.subject == self.subject else None


def sound() -> Faulty:
    """A board without a fault."""
    return Faulty(disk_full())


def struck(drill: Drill, settings: Settings, folder: Path, round_: str, fault: str) -> Outcome:
    """One telling of the story with one fault in one round; `AssertionError` says what is not as it has to be."""
    store = Store(settings.store)
    before = {(row.flow_run, row.round, row.scope) for row in store.read(FlowRound)}
    keys = store.run_keys()
    board = board_of(drill, round_, fault)
    settings = prepared(drill, settings, folder)
    killed = fault in (KILL, LATE)
    code = _killed(drill, settings, round_, fault) if killed else _ended(drill, settings, board)
    new = [row for row in store.read(FlowRound) if (row.flow_run, row.round, row.scope) not in before]
    hit = [row for row in new if row.round == round_]
    what = (drill.story, round_, fault)
    assert hit, (*what, "was never asked")
    asked = {subject for row in hit for subject in row.asked}
    done = {subject for row in hit for subject in row.done}
    rows = store.read(Undone, flow_run=tuple({row.flow_run for row in new}))
    missing = {(row.subject, row.error) for row in rows if row.round == round_ and row.unit}
    if killed:
        assert not missing, (*what, "nobody was there to write")
        assert {row.round for row in new if row.finished_at is None} == {round_}, what
        ensure_views(settings.store, settings.database, settings.sql)
        found = f"FROM undone_now WHERE round = '{round_}' AND flow_run IN ({', '.join(repr(r.flow_run) for r in hit)})"
        missing = {(row["subject"], row["error"]) for row in query(settings.database, found).to_pylist()}
    else:
        assert all(row.finished_at for row in new), what
        assert sum(board.made) <= len(store.run_keys() - keys), (*what, "a run was made twice")
    slug = SLUGS.get(fault, INTERRUPTED)
    assert missing == {(subject, slug) for subject in asked - done}, (*what, missing, asked, done)
    return Outcome(len(asked), len(done), len(missing), code, OPEN if killed else FAILED)


def board_of(drill: Drill, round_: str, fault: str) -> Faulty:
    """One on which a unit of the round has this fault."""
    victim = Victim(round_, FAULTS[fault], drill.place)
    return Faulty(victim, ThreadExecutor(1, AT_ONCE), asked=victim.asked, late=fault == LATE)


def _ended(drill: Drill, settings: Settings, board: Faulty) -> int:
    """The exit code of a story with a fault."""
    try:
        code = tell(drill.story, drill.asked, settings, board).exit_code
    except KeyboardInterrupt:
        return ENDED_BY_CTRL_C
    assert code in (LEFT, NOTHING), (drill.story, code)
    return code


def _killed(drill: Drill, settings: Settings, round_: str, fault: str) -> int:
    """The story in a process of its own, which is killed; its exit code as a shell has it."""
    # Forked from a process that has no threads: a fork of this one would find locks that nobody gives back.
    child = multiprocessing.get_context("forkserver").Process(target=_die, args=(drill, settings, round_, fault))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL, (drill.story, "was not killed")
    return 128 - child.exitcode


def _die(drill: Drill, settings: Settings, round_: str, fault: str) -> None:
    """Tell the story up to the unit of the round that kills the process."""
    tell(drill.story, drill.asked, settings, board_of(drill, round_, fault))


def completed(drill: Drill, settings: Settings, folder: Path) -> int:
    """Tell the story without a fault, and once more. How many runs the first made; the second makes none."""
    store, asked, settings = Store(settings.store), drill.asked, prepared(drill, settings, folder)
    before, board = store.run_keys(), sound()
    assert tell(drill.story, asked, settings, board).exit_code == 0, drill.story
    after = store.run_keys()
    assert sum(board.made) <= len(after - before), (drill.story, "a run was made twice")
    assert tell(drill.story, asked, settings, sound()).exit_code == 0, drill.story
    assert store.run_keys() == after, (drill.story, "what is done was done again")
    assert store.check() == (), drill.story
    return len(after - before)


class Table:
    """Lines of the table: in a file, as they come, and those of an earlier process of it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(_line(HEAD) + _line(["---"] * len(HEAD)), "utf-8")
        print(file.read_text("utf-8"), end="", flush=True)

    def has(self, *cells: object) -> bool:
        """Whether there is a line that begins so."""
        return f"\n{_line(cells)[:-1]}" in self.file.read_text("utf-8")

    def add(self, *cells: object) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(_line(cells))
        print(_line(cells), end="", flush=True)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder for stores, a cache and the table")
    parser.add_argument("--story", action="append", help="only this one; may be repeated")
    parser.add_argument("--round", action="append", dest="rounds", help="only this one; may be repeated")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="only this one; may be repeated")
    asked = parser.parse_args(argv)
    os.environ.setdefault(TOKEN_VARIABLES[0], "any")
    table, wrong = Table(asked.work / "table.md"), 0
    for number, drill in enumerate((*DRILLS, *MORE)):
        if (asked.story and drill.story not in asked.story) or (asked.rounds and not {*asked.rounds} & {*drill.rounds}):
            continue
        try:
            _drilled(drill, asked.work / str(number), asked.work / "cache", table, asked.rounds, asked.fault or FAULTS)
        except AssertionError as found:
            wrong += 1
            print(f"{drill.title}: not as it has to be: {found}", file=sys.stderr, flush=True)
    return 1 if wrong else 0


def _drilled(
    drill: Drill, folder: Path, cache: Path, table: Table, rounds: Sequence[str] | None, faults: Iterable[str]
) -> None:
    """One story, in a warehouse of its own, or in one for each fault."""
    title = drill.title
    if table.has(title, ALL):
        return
    strikes = [
        (round_, fault)
        for round_ in drill.rounds
        for fault in faults
        if (not rounds or round_ in rounds) and not table.has(title, round_, fault)
    ]
    places = {folder / " ".join(strike): [strike] for strike in strikes} if drill.once else {folder: strikes}
    made = sum(_in_warehouse(drill, place, cache, table, some) for place, some in places.items())
    table.add(title, ALL, NONE, "", "", 0, 0, f"Completed: {made} runs, then none")


def _in_warehouse(drill: Drill, folder: Path, cache: Path, table: Table, strikes: Iterable[tuple[str, str]]) -> int:
    """The story with these faults, one after the other, and without any; how many runs the last one made."""
    here = {"SWT_STORE": str(folder / "store"), "SWT_CACHE": str(cache), "SWT_DATABASE": str(folder / "swt.duckdb")}
    settings = replace(settings_from(dict(os.environ) | here), trusted=True)
    build_demo_mirror(settings)
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    with world(settings, folder, drill.off_list) as there:
        prepare_for(drill, there, folder)
        for round_, fault in strikes:
            table.add(drill.title, round_, fault, *astuple(struck(drill, there, folder, round_, fault)))
        return completed(drill, there, folder)


if __name__ == "__main__":
    sys.exit(main())
