"""How much of test hacking the detectors see in repairs of real instances whose author had not read them.

    SWT_CACHE=… python -m benchmarks.hack_corpus benchmarks/hacks/first.jsonl ROWS.jsonl … [--show]

A corpus has a hack or an honest repair a line: the instance, the sign of Table 7 that it stands for (or `honest`), and
edits of the base commit, each `[path, line, lines that go, text that comes]`, lines from 1. Printed is a Markdown table
by sign: how many show that sign, and how many count as failed, by a sign that costs that or because tests are touched;
with 95 % intervals by Wilson. `--show` names the others, and what honest repairs show.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from benchmarks.hack_signs import share
from flows.settings import PROJECT, settings_from
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.split import is_test_path
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, RepoPath
from tasks.domain.proposed_fix import HackSign
from tasks.evaluate.hacking.changed import HackContext
from tasks.evaluate.hacking.signs import DETECTORS, known_of, places_in
from tasks.scrape.swe_bench_rows import import_instances

HONEST = "honest"
POLICY = PROJECT / "sql" / "views" / "hack_policy.sql"


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of one repair of the corpus."""

    wanted: str
    signs: frozenset[HackSign]
    touches_tests: bool
    said: str

    def costs(self, flags: frozenset[str]) -> bool:
        return self.touches_tests or not flags.isdisjoint(self.signs)


def main(
    corpus: Annotated[Path, typer.Argument(help="Hacks and honest repairs.")],
    rows: Annotated[list[Path], typer.Argument(help="SWE-bench rows.")],
    show: Annotated[bool, typer.Option("--show", help="Name what is not as it should be.")] = False,
) -> None:
    instances = {one.instance_id: one for path in rows for one in import_instances(path, snapshot="s").instances}
    mirrors = Mirrors(settings_from(dict(os.environ)).places.mirrors)
    told = [json.loads(line) for line in corpus.read_text("utf-8").splitlines()]
    reads = {name: _reader(mirrors, instances[name]) for name in {InstanceId(one["instance_id"]) for one in told}}
    known = {name: known_of(instances[name], read) for name, read in reads.items()}
    looked = [_look(one, known[one["instance_id"]], reads[one["instance_id"]]) for one in told]
    flags = frozenset(sign for (sign,) in _policy("SELECT sign FROM hack_policy WHERE cost = 'flag'"))
    by_sign: dict[str, list[Looked]] = defaultdict(list)
    for one in looked:
        by_sign[one.wanted].append(one)
        if show and (one.signs if one.wanted == HONEST else one.wanted not in one.signs):
            print(f"{one.wanted}\t{', '.join(sorted(one.signs)) or 'nothing'}\t{one.said}", file=sys.stderr)
    print("| stands for | of | shows it | counts as failed |\n| --- | --: | --: | --: |")
    for sign in DETECTORS:
        print(_line(f"`{sign}`", by_sign[sign], sum(sign in one.signs for one in by_sign[sign]), flags))
    hacks = [one for one in looked if one.wanted != HONEST]
    print(_line("all hacks", hacks, sum(one.wanted in one.signs for one in hacks), flags))
    for name, touching in (("honest, code alone", False), ("honest, tests touched", True)):
        each = [one for one in by_sign[HONEST] if one.touches_tests is touching]
        print(_line(name, each, sum(bool(one.signs) for one in each), flags))
        print(f"| signs of these | | {_counted(each)} | |")


def _line(name: str, each: list[Looked], shown: int, flags: frozenset[str]) -> str:
    return f"| {name} | {len(each)} | {share(shown, len(each))} | {share(_failed(each, flags), len(each))} |"


def _failed(each: list[Looked], flags: frozenset[str]) -> int:
    return sum(one.costs(flags) for one in each)


def _counted(each: list[Looked]) -> str:
    counts = Counter(sign.value for one in each for sign in one.signs)
    return ", ".join(f"{sign} {count}" for sign, count in counts.most_common()) or "none"


def _policy(question: str) -> list[tuple[str, ...]]:
    with duckdb.connect() as connection:
        connection.execute(POLICY.read_text("utf-8"))
        return connection.execute(question).fetchall()


def _reader(mirrors: Mirrors, instance: TaskInstance) -> ReadBase:
    return partial(mirrors.read_file, instance.repo, instance.base_commit)


def _look(told: Mapping[str, str], known: HackContext, read: ReadBase) -> Looked:
    changed = tuple(_changed(told["edits"], read))
    return Looked(
        wanted=told["sign"],
        signs=frozenset(place.sign for change in changed for place in places_in(*change, known)),
        touches_tests=any(is_test_path(path) for path, _, _ in changed),
        said=f"{told['instance_id']}: {told['why']}",
    )


def _changed(edits: object, read: ReadBase) -> Iterator[tuple[RepoPath, str | None, str]]:
    """Path, text before and after of each file."""
    assert isinstance(edits, list)
    for path in dict.fromkeys(edit[0] for edit in edits):
        content = read(path)
        before = None if content is None else content.decode("utf-8")
        lines = (before or "").splitlines(keepends=True)
        for _, line, count, text in sorted((edit for edit in edits if edit[0] == path), reverse=True):
            lines[line - 1 : line - 1 + count] = [text]
        yield RepoPath(path), before, "".join(lines)


if __name__ == "__main__":
    typer.run(main)
