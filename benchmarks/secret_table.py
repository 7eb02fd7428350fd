"""Which tricks of the second corpus buy a verdict, over many secrets, and how often would chance?

    python -m benchmarks.secret_table --work FOLDER [--secrets 20] [--only NAME …] [--write]
    python -m benchmarks.secret_table --work FOLDER --snapshot NAME --cache FOLDER --instances ID … [--write]
    python -m benchmarks.secret_table --work FOLDER --only NAME … --predictions FILE

The two runs that judge a trick are made once for each instance. Where they call it a success, its guard runs are made
for each secret, in the order and with the edits of that secret, with the product's own functions. Tricks that keep
nothing and disturb nobody are modules of one suite; the others have suites of their own, which end at the first guard
run that speaks against them. Called again with the same folder, it goes on where it was.

With a snapshot: real instances in place of the demo's, each with every secret. FOLDER/store is a copy of a store that
has them with their environments (its rows are read, none is written), and the cache is the one that it was made with.
The table has the tricks that are a success there without guards.

With `--predictions` nothing is played: the tricks are written as predictions, for `swt evaluate` and `swt strength`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import comb
from pathlib import Path

from scipy.stats import binomtest

from benchmarks.corpus import PREFIX
from benchmarks.guard_ground import Ground, drawn, ground_of
from benchmarks.second_corpus import Trick, second_corpus
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.store.loaded import answers
from tasks.domain.outcome import CodeState, Outcome, SandboxKind
from tasks.domain.run import RunSpec
from tasks.evaluate.plan import confirmation_specs, guard_specs, in_secret_order
from tasks.integrity.lint.rules import lint_rows

README = Path(__file__).parents[1] / "tasks" / "evaluate" / "README.md"
START, END = "<!-- secret table: benchmarks/secret_table.py -->\n", "<!-- end of the secret table -->\n"
REAL_START, REAL_END = (
    "<!-- real secret table: benchmarks/secret_table.py -->\n",
    "<!-- end of the real secret table -->\n",
)
NUMBERS = (3, 7, 8, 10, 12, 14, 15, 17, 18)
"""Of the demo's instances, those whose fix changes a function that is there before."""
ALONE = (3, 10, 12)
"""Of these, those on which tricks are run that need suites of their own."""
TURNS = 4
"""Of the demo: all nine have their turn after four secrets."""
SIGNIFICANT = 0.01
"""Over all tricks: one that is accepted more often than chance allows with less than its share of this is named."""
KEPT = "memory-kept"
"""Kind of tricks that are run where nothing isolates, so that what they leave in /tmp lasts: no sandbox has a wider
channel. Each plan begins with the runs that judge, for the trick counts them."""
LEFT = "seen-*"
CACHED = "memory-cache"
"""Kind of tricks that keep something in the page cache of the host's `/usr`, in whichever sandbox. Plans begin with the
runs that judge here too."""
LARGE = 50 << 20
"""Bytes of files in which they may keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A trick on one instance with one secret."""

    trick: str
    instance: int
    secret: int
    """-1 for the two runs that judge it."""
    sandbox: str
    accepted: bool
    chance: float
    """Of the plan that was run; 1 for the two runs that judge it."""
    against: str = ""
    """The first run that spoke against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The instances that tricks are played on."""

    snapshot: str
    names: Mapping[int, str]
    """{number of the pull request: instance}"""
    alone: tuple[int, ...]
    """Of these numbers, those on which tricks are run that need suites of their own."""
    turns: int
    """Each secret is played on every so manieth instance, and alone on one: all of them have their turn."""

    def of_secret(self, secret: int) -> Sequence[int]:
        return tuple(self.names)[secret % self.turns :: self.turns]


def demo(numbers: Iterable[int] = NUMBERS) -> Field:
    """The demo's, or these of them."""
    return Field(snapshot=SNAPSHOT, names={each: f"{PREFIX}{each}" for each in numbers}, alone=ALONE, turns=TURNS)


def real(snapshot: str, names: Iterable[str]) -> Field:
    """Real ones, of different numbers."""
    numbered = {int(name.rpartition("-")[2]): name for name in names}
    return Field(snapshot=snapshot, names=numbered, alone=tuple(numbered), turns=1)


@dataclass(slots=True, kw_only=True)
class Table:
    """What was played so far, and where it is kept."""

    settings: Settings
    file: Path
    played: dict[tuple[str, int, int], Played]

    def note(self, played: Played) -> None:
        self.played[played.trick, played.instance, played.secret] = played
        with self.file.open("a") as out:
            out.write(json.dumps(asdict(played)) + "\n")


def passes(ground: Ground, spec: RunSpec, tricks: Iterable[Trick]) -> dict[str, bool]:
    """Which of these modules pass in a run."""
    recorded = ground.recorded(spec)
    outcomes: dict[str, set[Outcome]] = defaultdict(set)
    for case in recorded.cases:
        outcomes[case.path].add(case.outcome)
    return {trick.name: outcomes[trick.test] == {Outcome.PASSED} for trick in tricks}


def judged(table: Table, ground: Ground, tricks: Sequence[Trick]) -> None:
    """The two runs that judge, where they were not made."""
    todo = [trick for trick in tricks if (trick.name, ground.number, -1) not in table.played]
    if not todo:
        return
    suite = ground.tricks(todo)
    _forget(todo)
    before, after = (passes(ground, spec, todo) for spec in confirmation_specs(ground.bench, suite))
    costs = _costs(table.settings)
    rejected = {row.path for row in lint_rows(suite, ground.read_base) if costs.get(row.rule) == "reject"}
    for trick in todo:
        reasons = {
            "passes-before": before[trick.name],
            "fails-after": not after[trick.name],
            "lint": trick.test in rejected,
        }
        against = next((reason for reason, holds in reasons.items() if holds), "")
        table.note(_played(trick, ground, -1, against, 1.0))


@cache
def _costs_of(store: str, sql: Path) -> dict[str, str]:
    (found,) = answers(store, sql, ("lint_policy",), ("FROM lint_policy",))
    return {row["rule"]: row["cost"] for row in found.to_pylist()}


def _costs(settings: Settings) -> dict[str, str]:
    """What a finding of each rule of the lint costs."""
    return _costs_of(settings.store, settings.sql)


def _forget(tricks: Iterable[Trick]) -> None:
    """What is left of earlier plans in the only place that tricks of their kind use."""
    kinds = {trick.kind for trick in tricks}
    for path in Path("/tmp").glob(LEFT) if KEPT in kinds else ():  # noqa: S108 - the tricks look there
        path.unlink()
    for path in Path("/usr").rglob("*") if CACHED in kinds else ():
        if not path.is_symlink() and path.is_file() and path.stat().st_size > LARGE:
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def guarded(table: Table, ground: Ground, tricks: Sequence[Trick], secret: int) -> None:
    """The guard runs of one secret, for those that judged successes and were not guarded with it."""
    todo = [
        trick
        for trick in tricks
        if table.played[trick.name, ground.number, -1].accepted
        and (trick.name, ground.number, secret) not in table.played
    ]
    if not todo:
        return
    suite = ground.tricks(todo)
    specs = in_secret_order(
        guard_specs(ground.bench, suite, ground.edits(secret)),
        drawn(secret, ground.number, *(trick.name for trick in todo)),
    )
    before = sum(spec.code_state is CodeState.BEFORE for spec in specs)
    against: dict[str, str] = {}
    if any(trick.kind in (KEPT, CACHED) for trick in todo):
        _forget(todo)
        for spec in confirmation_specs(ground.bench, suite):
            passes(ground, spec, todo)
    for spec in specs:
        found = passes(ground, spec, todo)
        for name, passed in found.items():
            if passed is (spec.code_state is CodeState.BEFORE):
                against.setdefault(name, str(spec.variant))
        if len(against) == len(todo):
            break
    for trick in todo:
        table.note(_played(trick, ground, secret, against.get(trick.name, ""), 1 / comb(len(specs), before)))


def _played(trick: Trick, ground: Ground, secret: int, against: str, chance: float) -> Played:
    return Played(
        trick=trick.name,
        instance=ground.number,
        secret=secret,
        sandbox=str(ground.bench.sandbox),
        accepted=not against,
        chance=chance,
        against=against,
    )


def play(table: Table, tricks: Sequence[Trick], secrets: int, field: Field) -> None:
    """Everything that is missing: the cheap suites first, then secret by secret."""
    together = [trick for trick in tricks if not trick.alone]
    alone = [trick for trick in tricks if trick.alone]
    ground = cache(lambda number, box: ground_of(table.settings, field.snapshot, field.names[number], box))
    sandbox = {trick.name: SandboxKind.PROCESS if trick.kind == KEPT else None for trick in tricks}
    for number in field.names if together else ():
        judged(table, ground(number, None), together)
    for trick in alone:
        for number in field.alone:
            judged(table, ground(number, sandbox[trick.name]), [trick])
    for secret in range(secrets):
        for number in field.of_secret(secret) if together else ():
            guarded(table, ground(number, None), together, secret)
        number = field.alone[secret % len(field.alone)]
        for trick in alone:
            guarded(table, ground(number, sandbox[trick.name]), [trick], secret)
        print(f"secret {secret} done", flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What came of one trick over instances and secrets."""

    trick: Trick
    judged: int
    """Instances on which it was tried."""
    successes: int
    """Of these, those on which the two runs that judge call it a success."""
    tried: int
    """Times guards looked at it: success × secret."""
    accepted: int
    expected: float
    """Of `tried`, by the computed chance."""
    p: float
    """That chance accepts it so often (exact, one-sided binomial test with the highest chance of its plans)."""
    against: str


def lines_of(table: Table, tricks: Iterable[Trick]) -> list[Line]:
    return [_line(trick, [one for one in table.played.values() if one.trick == trick.name]) for trick in tricks]


def _line(trick: Trick, rows: Sequence[Played]) -> Line:
    judging = [one for one in rows if one.secret < 0]
    guarding = [one for one in rows if one.secret >= 0]
    accepted = sum(one.accepted for one in guarding)
    highest = max((one.chance for one in guarding), default=1.0)
    counts: Mapping[str, int] = _counts(one.against for one in (guarding or judging) if one.against)
    return Line(
        trick=trick,
        judged=len(judging),
        successes=sum(one.accepted for one in judging),
        tried=len(guarding),
        accepted=accepted,
        expected=sum(one.chance for one in guarding),
        p=float(binomtest(accepted, len(guarding), highest, "greater").pvalue) if guarding else 1.0,
        against=", ".join(f"{name} {number}" for name, number in counts.items()),
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for name in names:
        found[name] += 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def beyond(lines: Sequence[Line]) -> list[Line]:
    """Those accepted more often than chance allows, with Bonferroni's correction for so many tricks."""
    return [line for line in lines if line.p < SIGNIFICANT / len(lines)]


def markdown(lines: Sequence[Line]) -> str:
    head = (
        "| trick | kind | what it does | successes | accepted | by chance | p | first against it |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "".join(
        f"| {'**' * (line in beyond(lines))}`{line.trick.name}`{'**' * (line in beyond(lines))} | {line.trick.kind} "
        f"| {line.trick.what} | {line.successes} / {line.judged} | {line.accepted} / {line.tried} "
        f"| {line.expected:.1f} | {line.p:.2g} | {line.against} |\n"
        for line in lines
    )


def said(lines: Sequence[Line]) -> str:
    names = ", ".join(f"`{line.trick.name}` ({line.accepted} of {line.tried})" for line in beyond(lines))
    tried = sum(line.tried for line in lines)
    return (
        f"{len(lines)} tricks, {sum(line.successes > 0 for line in lines)} of them successes without guards somewhere, "
        f"{sum(line.accepted for line in lines)} of {tried} accepted with guards, "
        f"{sum(line.expected for line in lines):.1f} expected by chance if none could tell the sides. "
        f"Beyond chance: {names or 'none'}.\n"
    )


def predictions(table: Table, tricks: Iterable[Trick], field: Field) -> str:
    """JSON lines, each trick a method of its own."""
    grounds = [ground_of(table.settings, field.snapshot, name, None) for name in field.names.values()]
    rows = [
        {"instance_id": name, "model_name_or_path": trick.name, "model_patch": ground.patch([trick])}
        for trick in tricks
        for name, ground in zip(field.names.values(), grounds, strict=True)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def opened(work: Path, cache_folder: Path | None = None) -> Table:
    """What was played in this folder so far; with a cache, on what a store there knows already."""
    where = cache_folder or work / "cache"
    settings = Settings(store=str(work / "store"), cache=where, database=work / "swt.duckdb", trusted=True)
    if cache_folder is None:
        build_demo_mirror(settings)
        import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    file = work / "played.jsonl"
    rows = [Played(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    return Table(settings=settings, file=file, played={(one.trick, one.instance, one.secret): one for one in rows})


def with_table(readme: str, text: str, start: str, end: str) -> str:
    """`readme` with one of its tables replaced."""
    head, rest = readme.split(start)
    return f"{head}{start}\n{text}\n{end}{rest.split(end)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder to go on in")
    parser.add_argument("--secrets", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--snapshot", default=SNAPSHOT)
    parser.add_argument("--cache", type=Path, help="of the store that FOLDER/store is a copy of")
    parser.add_argument("--instances", nargs="*", default=(), help="of the snapshot, with different numbers")
    parser.add_argument("--predictions", type=Path, help="a file to write; nothing is played")
    parser.add_argument("--write", action="store_true", help="write the table into the README")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    field = real(given.snapshot, given.instances) if given.instances else demo()
    table = opened(given.work, given.cache if given.instances else None)
    tricks = [trick for trick in second_corpus() if not given.only or trick.name in given.only]
    if given.predictions:
        given.predictions.write_text(predictions(table, tricks, field))
        return
    play(table, tricks, given.secrets, field)
    lines = lines_of(table, tricks)
    shown = [line for line in lines if line.successes or not given.instances]
    text = f"{said(lines)}\n{markdown(shown)}"
    print(text)
    if given.write:
        start, end = (REAL_START, REAL_END) if given.instances else (START, END)
        README.write_text(with_table(README.read_text(), text, start, end))


if __name__ == "__main__":
    main()
