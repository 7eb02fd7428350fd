"""Which tricks and which honest tests are robust, over many secrets?

    python -m benchmarks.secret_table --work FOLDER [--secrets 20] [--only NAME …]

Every candidate is judged once on each of its instances. Then, for each secret, the decoys, edits and orders of one
instance are drawn anew and the successes there run their robustness checks, with the product's own flow. The instances
take turns. Called again with the same folder, it continues where it stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from benchmarks.agreement import markdown
from benchmarks.corpus import PREFIX
from benchmarks.second_corpus import known_of, suite_patch, tricks_of
from benchmarks.trick_table import corpus_of
from flows.demo import SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.views.database import query
from tasks.evaluate.task import choose_instances

NUMBERS = (3, 7, 8, 10, 12, 14, 15, 18)
"""Of the demo's instances, those whose fix changes a function that is there before and whose golden tests succeed."""
DRAWN = ("decoy", "guard_edit", "guard_plan")
"""Tables that hold what follows from a secret."""
HONEST = ("honest", "unusual")
ANSWERS = """
    SELECT method, instance_id, solved, robust, failed_guards, decoys, decoys_rejected
    FROM robust_verdict WHERE grader = 'paper' AND policy = 'tests-only' AND snapshot = 'demo'
"""
REFUSALS = """
    SELECT r.method, r.instance_id, d.kind, x.detail
    FROM decoy_rejection AS d
    JOIN robust_verdict AS r USING (candidate_id, policy)
    JOIN decoy AS x ON x.fix_id = d.fix_id
    WHERE r.grader = 'paper' AND NOT d.rejected
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One candidate on one instance with one secret."""

    method: str
    instance: str
    secret: int
    robust: bool
    failed: tuple[str, ...]
    """Names of the checks that failed."""
    decoys: int
    accepted: tuple[str, ...]
    """The decoys that it accepts, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A candidate for one instance."""

    method: str
    kind: str
    what: str
    instance: str
    patch: str


def entries_of(settings: Settings) -> list[Entry]:
    """Every candidate of the corpora on each of its instances."""
    found = [
        Entry(method=one.method, kind=one.kind, what=one.what, instance=one.instance, patch=one.patch)
        for one in corpus_of(settings, ("cheating", *HONEST))
    ]
    mirrors = Mirrors(settings.places.mirrors)
    for instance in choose_instances(settings.places, SNAPSHOT, [f"{PREFIX}{number}" for number in NUMBERS]):
        base = (instance.repo, instance.base_commit)
        known = known_of(instance, partial(mirrors.read_file, *base), mirrors.list_paths(*base))
        found += [
            Entry(
                method=f"{folder}/{trick.name}",
                kind=trick.kind,
                what=trick.what,
                instance=instance.instance_id,
                patch=suite_patch([trick], known),
            )
            for folder in ("second", "third")
            for trick in tricks_of(folder)
        ]
    return found


def _predictions(work: Path, entries: Iterable[Entry]) -> str:
    file = work / "corpora.jsonl"
    names = ("instance_id", "model_name_or_path", "model_patch")
    rows = (dict(zip(names, (one.instance, one.method, one.patch), strict=True)) for one in entries)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def play(settings: Settings, work: Path, entries: Sequence[Entry], secrets: int) -> list[Played]:
    """Every secret that was not played before; what was played is in `played.jsonl`."""
    file = _predictions(work, entries)
    instances = sorted({one.instance for one in entries})
    run_flow(_request(file, instances, guards=False), settings)
    log = work / "played.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    played = [Played(**{**row, "failed": tuple(row["failed"]), "accepted": tuple(row["accepted"])}) for row in rows]
    for secret in range(max((one.secret for one in played), default=-1) + 1, secrets):
        instance = instances[secret % len(instances)]
        for name in DRAWN:
            shutil.rmtree(work / "store" / name, ignore_errors=True)
        run_flow(_request(file, [instance], guards=True), settings)
        new = list(_played(settings, instance, secret))
        with log.open("a") as out:
            out.writelines(json.dumps(asdict(one)) + "\n" for one in new)
        played += new
        print(f"secret {secret}: {instance}: {sum(one.robust for one in new)} of {len(new)} robust", flush=True)
    return played


def _request(file: str, instances: Sequence[str], *, guards: bool) -> EvaluationRequest:
    return EvaluationRequest(
        candidates=("golden", file), snapshot=SNAPSHOT, instances=tuple(instances), guards=guards, confirm=False
    )


def _played(settings: Settings, instance: str, secret: int) -> Iterable[Played]:
    accepted: dict[str, list[str]] = defaultdict(list)
    for row in query(settings.database, REFUSALS).to_pylist():
        if row["instance_id"] == instance:
            accepted[row["method"]].append(f"{row['kind']}: {row['detail']}")
    for row in query(settings.database, ANSWERS).to_pylist():
        if row["instance_id"] == instance and row["solved"]:
            yield Played(
                method=row["method"],
                instance=instance,
                secret=secret,
                robust=row["robust"] is True,
                failed=tuple(row["failed_guards"]),
                decoys=row["decoys"],
                accepted=tuple(accepted[row["method"]]),
            )


def table(entries: Sequence[Entry], played: Sequence[Played]) -> list[dict[str, Any]]:
    """One row per candidate that is a success somewhere."""
    told = {one.method: one for one in entries}
    by_method: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        by_method[one.method].append(one)
    return [_row(told[name], rows) for name, rows in sorted(by_method.items()) if name in told]


def _row(entry: Entry, rows: Sequence[Played]) -> dict[str, Any]:
    failed = Counter(name for row in rows for name in row.failed)
    only_decoy = sum(row.failed == ("decoy",) for row in rows)
    return {
        "candidate": f"`{entry.method}`",
        "kind": entry.kind,
        "what it does": entry.what,
        "successes checked": len(rows),
        "robust": sum(row.robust for row in rows),
        "by a decoy alone": only_decoy,
        "failed checks": ", ".join(f"{name} {count}" for name, count in failed.most_common()),
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """The sums, and the names that matter: robust tricks and refused honest tests."""
    honest = [row for row in rows if row["kind"] in HONEST]
    tricks = [row for row in rows if row["kind"] not in HONEST]
    robust = [f"{row['candidate']} ({row['robust']} of {row['successes checked']})" for row in tricks if row["robust"]]
    refused = [
        f"{row['candidate']} ({row['successes checked'] - row['robust']} of {row['successes checked']})"
        for row in honest
        if row["robust"] < row["successes checked"]
    ]
    checked, held = (sum(row[name] for row in tricks) for name in ("successes checked", "robust"))
    return (
        f"{len(tricks)} tricks succeed somewhere without checks; {held} of {checked} checked successes are robust: "
        f"{', '.join(robust) or 'none'}. Of {len(honest)} honest candidates refused: {', '.join(refused) or 'none'}.\n"
    )


def main(
    work: Annotated[Path, typer.Option(help="A folder to continue in.")],
    secrets: Annotated[int, typer.Option(help="How many.")] = 20,
    only: Annotated[list[str] | None, typer.Option(help="Methods, such as second/line_table.")] = None,
) -> None:
    work.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        store=str(work / "store"),
        cache=work / "cache",
        database=work / "swt.duckdb",
        trusted=True,
        workers=os.cpu_count() or 1,
    )
    entries = [one for one in entries_of(settings) if not only or one.method in only]
    rows = table(entries, play(settings, work, entries, secrets))
    print(f"{summary(rows)}\n{markdown(pa.Table.from_pylist(rows))}")


if __name__ == "__main__":
    typer.run(main)
