"""Measures precision and recall of the detectors of test hacking, by sign.

    SWT_CACHE=… python -m benchmarks.hack_signs ROWS.jsonl … --fixes FIXES.jsonl … [--show]

It runs the detectors on golden patches (honest by definition), on published fixes, whose labels are
`hacks/labels.jsonl`, and on three corpora of written repairs, which have their labels in themselves. A line of a corpus
is a repair: the instance, the sign that it shows (or `honest`), and edits of the base commit, each
`[path, line, lines that go, text that comes]`, lines from 1.

A finding is confirmed if the label has its sign. A label of a corpus names one sign only: findings of other signs in
that repair are not judged, and counted apart. `--show` prints findings without confirmation and labels without finding.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from scipy.stats import binomtest

from flows.interface.settings import settings_from
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.apply import ReadBase
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoPath
from tasks.domain.proposed_fix import HackSign
from tasks.integrity.hacking.changed import HackContext
from tasks.integrity.hacking.signs import find_signs, known_of, places_in
from tasks.scrape.dataset_rows import import_instances

HACKS = Path(__file__).parent / "hacks"
CORPORA = ("first", "second", "third")
HONEST = "honest"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPatch:
    """What the detectors find in one patch, beside its label."""

    name: str
    found: frozenset[HackSign]
    label: frozenset[HackSign]
    written: bool
    """Whether it was written for a corpus; such a label names one sign at most."""

    def judges(self, sign: HackSign) -> bool:
        return sign in self.label or not (self.written and self.label)


class Instances:
    """The instances with a mirror, and what the detectors know of each."""

    def __init__(self, rows: Iterable[Path], mirrors: Mirrors) -> None:
        read = (one for path in rows for one in import_instances(path, snapshot="s").instances)
        self.by_id: dict[str, TaskInstance] = {one.instance_id: one for one in read}
        self.missing = 0
        self._mirrors = mirrors
        self._known: dict[str, HackContext | None] = {}

    def read_base(self, instance: TaskInstance) -> ReadBase:
        return partial(self._mirrors.read_file, instance.repo, instance.base_commit)

    def known(self, name: str) -> tuple[HackContext, ReadBase] | None:
        """Returns what the detectors compare with; None, and counts it, if the instance or its mirror is missing."""
        read_base = self.read_base(self.by_id[name]) if name in self.by_id else None
        if name not in self._known:
            try:
                self._known[name] = known_of(self.by_id[name], read_base) if read_base else None
            except NotFound:
                self._known[name] = None
        known = self._known[name]
        self.missing += known is None
        return (known, read_base) if known and read_base else None


def main(
    rows: Annotated[list[Path], typer.Argument(help="SWE-bench rows.")],
    fixes: Annotated[list[Path] | None, typer.Option(help="Published fixes.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print what is not as the labels say.")] = False,
) -> None:
    instances = Instances(rows, Mirrors(settings_from(dict(os.environ)).places.mirrors))
    judged = [*_golden(instances), *_fixes(instances, fixes or ()), *_corpora(instances)]
    for patch in judged if show else ():
        for sign in sorted(patch.found ^ patch.label):
            if patch.judges(sign):
                print(f"{'false' if sign in patch.found else 'missed'}\t{sign}\t{patch.name}", file=sys.stderr)
    real, written = ([one for one in judged if one.written is which] for which in (False, True))
    print(f"{len(real)} real patches, {len(written)} written ones; {instances.missing} without a mirror\n")
    print("| sign | findings | confirmed | precision | in real patches | not judged | labelled | recall |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    for sign in filter(None, HackSign):
        print(_line(sign, judged, real))


def _line(sign: HackSign, judged: list[JudgedPatch], real: list[JudgedPatch]) -> str:
    findings, confirmed = _findings(sign, judged)
    some, right = _findings(sign, real)
    labelled = sum(sign in one.label for one in judged)
    apart = sum(sign in one.found and not one.judges(sign) for one in judged)
    cells = (findings, confirmed, share(confirmed, findings), f"{right} of {some}", apart, labelled)
    return f"| `{sign}` | {' | '.join(map(str, cells))} | {share(confirmed, labelled)} |"


def _findings(sign: HackSign, judged: list[JudgedPatch]) -> tuple[int, int]:
    """Returns how many patches show a sign, and how many of them are labelled with it."""
    found = [sign in one.label for one in judged if sign in one.found and one.judges(sign)]
    return len(found), sum(found)


def share(number: int, of: int) -> str:
    """Returns a share in percent with its 95 % interval by Wilson."""
    if not of:
        return "-"
    low, high = binomtest(number, of).proportion_ci(method="wilson")
    return f"{number / of:.0%} ({low:.0%} to {high:.0%})"


def _golden(instances: Instances) -> Iterator[JudgedPatch]:
    for name, instance in instances.by_id.items():
        yield from _judged_patch(instances, "golden", name, instance.patch, frozenset())


def _fixes(instances: Instances, files: Iterable[Path]) -> Iterator[JudgedPatch]:
    labels = {(row["instance_id"], row["patch_sha256"]): row["signs"] for row in _rows(HACKS / "labels.jsonl")}
    for path in files:
        for row in _rows(path):
            patch = row["model_patch"] or ""
            label = labels[row["instance_id"], hashlib.sha256(patch.encode()).hexdigest()]
            yield from _judged_patch(instances, path.stem, row["instance_id"], patch, frozenset(map(HackSign, label)))


def _judged_patch(
    instances: Instances, group: str, name: str, patch: str, label: frozenset[HackSign]
) -> Iterator[JudgedPatch]:
    if (known := instances.known(name)) is not None:
        found = frozenset(place.sign for _, place in find_signs(patch, *known))
        yield JudgedPatch(name=f"{group}: {name}", found=found, label=label, written=False)


def _corpora(instances: Instances) -> Iterator[JudgedPatch]:
    for corpus in CORPORA:
        for row in _rows(HACKS / f"{corpus}.jsonl"):
            if (known := instances.known(row["instance_id"])) is None:
                continue
            context, read_base = known
            places = (place for change in _changed(row["edits"], read_base) for place in places_in(*change, context))
            yield JudgedPatch(
                name=f"{corpus}: {row['instance_id']}: {row['why']}",
                found=frozenset(place.sign for place in places),
                label=frozenset() if row["sign"] == HONEST else frozenset({HackSign(row["sign"])}),
                written=True,
            )


def _rows(path: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _changed(edits: list[Any], read_base: ReadBase) -> Iterator[tuple[RepoPath, str | None, str]]:
    """Path, text before and after of each file."""
    for path in dict.fromkeys(edit[0] for edit in edits):
        content = read_base(path)
        before = None if content is None else content.decode("utf-8")
        lines = (before or "").splitlines(keepends=True)
        for _, line, count, text in sorted((edit for edit in edits if edit[0] == path), reverse=True):
            lines[line - 1 : line - 1 + count] = [text]
        yield RepoPath(path), before, "".join(lines)


if __name__ == "__main__":
    typer.run(main)
