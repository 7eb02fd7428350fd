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
import json
import multiprocessing
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.faults import AT_ONCE, Faulty, disk_full
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.options import Request, read_request
from flows.run import LEFT, NOTHING, Summary, Threads, begin
from flows.settings import Settings, settings_from
from flows.snapshots import import_rows
from flows.stories import STORIES, teller
from tasks.adapters.llm.dialects.spoken import Spoken
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import InfrastructureError
from tasks.domain.localization import Locator
from tasks.domain.undone import INTERRUPTED, FlowRound, Undone, Unit
from tasks.rehearsal.contract import HELPFUL
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.serve import listening
from tasks.rehearsal.local_github.world import World, open_repository
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step
from tasks.scrape.task import TOKEN_VARIABLES

LOCATING: dict[str, object] = {
    "extract_relevant()": {"function_call": "extract_relevant", "args": {}},
    "four keys": {"explanation": "scaling", "code": ["scaled"], "errors": [], "paths": []},
    "get_bm25_top10": {"function_call": "get_bm25_top10", "args": {}},
    "ranked_files": {"ranked_files": ["larder/recipe.py"], "confidence_scores": [9]},
}
"""What the agent that looks for files asks for, and what it is told."""
LARDER = "rolling-swt-bench/larder"
TWO = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))
POOL = "one"
"""A snapshot of the demo's first instance alone."""
ODD = "odd"
"""A snapshot of an instance with a golden test that depends on the order, and one whose golden test fails."""
POSITION = """\
diff --git a/tests/test_position.py b/tests/test_position.py
new file mode 100644
--- /dev/null
+++ b/tests/test_position.py
@@ -0,0 +1,12 @@
+import pytest
+
+before = []
+
+
+@pytest.mark.parametrize("number", range(50))
+def test_one_of_many(number):
+    before.append(number)
+
+
+def test_comes_last_or_first():
+    assert len(before) in (0, 50)
"""
"""It passes in the order of the file and in reverse, which is how a verdict is found, and not when it is shuffled."""
KILL, LATE = "kill", "late kill"
FAULTS: dict[str, Callable[[], BaseException]] = {
    "ours": lambda: InfrastructureError("disk full"),
    "bug": lambda: ZeroDivisionError("a bug"),
    "Ctrl-C": KeyboardInterrupt,
    KILL: lambda: os.kill(os.getpid(), signal.SIGKILL) or KeyboardInterrupt(),
    LATE: lambda: os.kill(os.getpid(), signal.SIGKILL) or KeyboardInterrupt(),
}
"""A late kill comes when the unit's work is done and in the store, and nobody was told of it yet."""
SLUGS = {"ours": "infrastructure", "bug": "bug"}
"""Of what fails and ends nothing; all else is `interrupted`."""
HEAD = ("story", "round", "fault", "asked", "done", "undone", "exit code", "state")
ENDED_BY_CTRL_C = 130
FAILED, OPEN = "Failed", "open"
ALL, NONE = "all", "none, twice"


@dataclass(frozen=True)
class Drill:
    """A story, and the rounds that it has on the demo."""

    story: str
    asked: dict[str, Any]
    rounds: tuple[str, ...]
    before: tuple[str, ...] = ()
    """Stories to be told first, on two instances of the demo."""
    how: str = ""
    """What is particular about it."""

    @property
    def title(self) -> str:
        return f"{self.story}, {self.how}" if self.how else self.story


JUDGED = ("environments", "runs", "guards")
OF_TWO = {"snapshot": SNAPSHOT, "instances": TWO}
WORK = {"methods": ("zero_shot_plus",), "models": ("scripted",), **OF_TWO}
MONTH = {"snapshot": "2025-08", "repositories_file": DEMO / "repositories.toml", "limit": 1}
CHECKED = (*JUDGED, "leaks", "validation")
AGENT = {"method": Locator.AGENT, "model": "scripted"}

DRILLS = (
    Drill("evaluate", {"candidates": ("golden", "nop"), **OF_TWO}, JUDGED),
    Drill("validate", {"snapshot": ODD}, (*CHECKED, "settling", "doubts")),
    Drill(
        "strength",
        {"fixes": (str(DEMO / "repairs.demo-quick.jsonl"),), **OF_TWO},
        ("environments", "references", "fixes"),
        before=("evaluate",),
    ),
    Drill("localize", OF_TWO, ("retrieval",)),
    Drill("generate", WORK, ("environments", "retrieval", "generation")),
    Drill("rebuild", {"git": "", **MONTH}, ("reach", "scrape", "rows", "filter", *CHECKED, "facts", "publish")),
)
MORE = (
    Drill(
        "fixes",
        {
            "fixes": (str(DEMO / "repairs.demo-quick.jsonl"),),
            "tests": (str(DEMO / "predictions.demo-careful.jsonl"),),
            **OF_TWO,
        },
        ("fixes", "guards"),
    ),
    Drill(
        "evaluate",
        {"candidates": ("golden",), "guards": False, **OF_TWO},
        ("confirmations",),
        how="no guards",
    ),
    Drill("validate", {"health": True, **OF_TWO}, ("health",), how="again"),
    Drill("sweep", WORK, ("environments", "retrieval", "generation", "runs", "guards")),
    Drill("generate", {"dry_run": True, **WORK}, ("retrieval",), how="dry run"),
    Drill("localize", {**AGENT, **OF_TWO}, ("localization",), how="agent"),
    Drill("freeze", {"pool": POOL, "snapshot": "frozen"}, (*CHECKED, "facts", "publish")),
    Drill("report", {"snapshot": SNAPSHOT}, ("pages",), before=("evaluate",)),
    Drill("rebuild", {"git": "{mirrors}/{repo}.git", **MONTH}, ("mirrors",), how="with mirrors"),
    Drill(
        "rebuild",
        {"git": "", "since": datetime(2025, 7, 1, tzinfo=UTC), **MONTH},
        ("issues", "rows of issues"),
        how="since July",
    ),
)
"""What the script tries besides; these share their stage functions with the others."""


@dataclass(frozen=True)
class Outcome:
    """What a round with a fault came to."""

    asked: int
    done: int
    undone: int
    exit_code: int
    state: str
    """What a server shows: `Failed` follows from the exit code; a flow run that was killed is open in the store."""


def replies(call: Spoken) -> Step:
    """Of a model that extracts, retrieves and ranks where it is asked for files, and writes a test elsewhere."""
    last = call.messages[-1].text
    said = next((said for asked, said in LOCATING.items() if asked in last), HELPFUL)
    return text_step(said if isinstance(said, str) else json.dumps(said))


@contextmanager
def world(settings: Settings, folder: Path) -> Iterator[Settings]:
    """A provider of models, a GitHub, and a folder of mirrors on this machine. At its end no model was asked twice."""
    mirror = build_demo_mirror(settings)
    links = folder / "mirrors" / f"{LARDER}.git"
    links.parent.mkdir(parents=True, exist_ok=True)
    if not links.exists():
        links.symlink_to(mirror)
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=folder / "github", license="MIT")
    hub = Hub(World({LARDER: served}, until=datetime(2025, 8, 15, tzinfo=UTC)))
    provider = ScriptedProvider(replies)
    with listening(hub) as github, provider.serve() as url:
        yield replace(settings, github=f"{github}/graphql", environ={"SWT_SCRIPTED_BASE_URL": url})
    said = Counter(repr(one.spoken) for one in provider.books if one.charged)
    assert not [one for one, times in said.items() if times > 1], "a model was asked twice"


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
    board = board_of(round_, fault)
    asked_for = prepared(drill, folder)
    killed = fault in (KILL, LATE)
    code = _killed(drill, asked_for, settings, round_, fault) if killed else _ended(drill, asked_for, settings, board)
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


def board_of(round_: str, fault: str) -> Faulty:
    """One on which the first unit of the round has this fault."""
    return Faulty(Victim(round_, FAULTS[fault]), Threads(1, AT_ONCE), late=fault == LATE)


def _ended(drill: Drill, asked: dict[str, Any], settings: Settings, board: Faulty) -> int:
    """The exit code of a story with a fault."""
    try:
        code = tell(drill.story, asked, settings, board).exit_code
    except KeyboardInterrupt:
        return ENDED_BY_CTRL_C
    assert code in (LEFT, NOTHING), (drill.story, code)
    return code


def _killed(drill: Drill, asked: dict[str, Any], settings: Settings, round_: str, fault: str) -> int:
    """The story in a process of its own, which is killed; its exit code as a shell has it."""
    # Forked from a process that has no threads: a fork of this one would find locks that nobody gives back.
    child = multiprocessing.get_context("forkserver").Process(target=_die, args=(drill, asked, settings, round_, fault))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL, (drill.story, "was not killed")
    return 128 - child.exitcode


def _die(drill: Drill, asked: dict[str, Any], settings: Settings, round_: str, fault: str) -> None:
    """Tell the story up to the first unit of the round, which kills the process."""
    tell(drill.story, asked, settings, board_of(round_, fault))


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
    rows = (DEMO / "instances.jsonl").read_text("utf-8").splitlines()
    if drill.asked.get("pool") == POOL:
        _import(settings, folder, POOL, rows[:1])
    if drill.asked["snapshot"] == ODD:
        first, last = json.loads(rows[0]), rows[-1]
        first["test_patch"] += POSITION
        _import(settings, folder, ODD, [json.dumps(first), last])
    for name in drill.before:
        controls = {"candidates": ("golden", "nop"), "snapshot": SNAPSHOT, "instances": TWO}
        assert tell(name, controls, settings, sound()).exit_code == 0


def _import(settings: Settings, folder: Path, name: str, rows: Iterable[str]) -> None:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    import_rows(settings, file, name)


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
    """One story, in a warehouse of its own."""
    title = drill.title
    if table.has(title, ALL):
        return
    here = {"SWT_STORE": str(folder / "store"), "SWT_CACHE": str(cache), "SWT_DATABASE": str(folder / "swt.duckdb")}
    settings = replace(settings_from(dict(os.environ) | here), trusted=True)
    build_demo_mirror(settings)
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    with world(settings, folder) as there:
        prepare_for(drill, there, folder)
        for round_, fault in ((round_, fault) for round_ in drill.rounds for fault in faults):
            if (not rounds or round_ in rounds) and not table.has(title, round_, fault):
                table.add(title, round_, fault, *astuple(struck(drill, there, folder, round_, fault)))
        made = completed(drill, there, folder)
    table.add(title, ALL, NONE, "", "", 0, 0, f"Completed: {made} runs, then none")


if __name__ == "__main__":
    sys.exit(main())
