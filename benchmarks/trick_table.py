"""Which grader falls for which trick? Runs the whole corpus for real and writes the table.

    python -m benchmarks.trick_table --work FOLDER [--write]

With `--write` the table replaces the one in docs/robustness.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.corpus import KINDS, Entry, corpus
from benchmarks.naive_grader import NaiveGrader
from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.views.database import query
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId
from tasks.domain.outcome import Policy
from tasks.evaluate.task import choose_instances

PAGE = Path(__file__).parents[1] / "docs" / "robustness.md"
START, END = "<!-- graders -->\n", "<!-- /graders -->\n"
GRADERS = ("paper", "swt_bench", "swt_bench_2024")
ANSWERS = """
    SELECT g.method, g.grader, g.policy, g.solved, g.robust, g.failed_guards, g.reason, s.stripped
    FROM robust_verdict AS g JOIN submission AS s USING (candidate_id, policy)
    WHERE g.snapshot = 'demo'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What each grader says of one candidate."""

    entry: Entry
    accepted: Mapping[str, bool]
    """By column: `naive`, the graders on the candidate as submitted, `ours`."""
    stopped_by: str
    """What ours has against it; empty where it is accepted."""


COLUMNS = ("naive", *GRADERS, "ours")


def judge_corpus(settings: Settings, work: Path, entries: Iterable[Entry] | None = None) -> tuple[Verdict, ...]:
    """Every candidate of the corpus by every grader; `work` is an empty folder."""
    mirror = build_demo_mirror(settings)
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    chosen = tuple(entries or corpus_of(settings))
    found = {instance.instance_id: instance for instance in choose_instances(settings.places, SNAPSHOT, ())}
    answers = _answers(settings, work, chosen)
    naive = NaiveGrader(mirror, work / "naive")
    return tuple(_verdict(entry, naive.accepts(entry, found[InstanceId(entry.instance)]), answers) for entry in chosen)


def corpus_of(settings: Settings, kinds: Iterable[str] = KINDS) -> tuple[Entry, ...]:
    """The corpus, or other folders of it, with what it has to know of the demo project."""
    build_demo_mirror(settings)
    first = _first_instance(settings)
    original = Mirrors(settings.places.mirrors).read_file(first.repo, first.base_commit, "larder/recipe.py")
    assert original is not None
    return corpus(original, kinds)


def _first_instance(settings: Settings) -> TaskInstance:
    import_rows(settings, DEMO / "instances.jsonl", SNAPSHOT)
    (first,) = choose_instances(settings.places, SNAPSHOT, ("rolling-swt-bench__larder-3",))
    return first


def _answers(settings: Settings, work: Path, entries: tuple[Entry, ...]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """{(method, policy, grader): row}, after real runs of both policies; only ours has robustness checks."""
    work.mkdir(parents=True, exist_ok=True)
    file = work / "corpus.jsonl"
    file.write_text("".join(entry.prediction for entry in entries))
    ours = EvaluationRequest(
        candidates=(str(file),),
        snapshot=SNAPSHOT,
        instances=tuple(sorted({entry.instance for entry in entries})),
        coverage=False,
    )
    settings = replace(settings, trusted=True)
    run_flow(replace(ours, policy=Policy.AS_SUBMITTED, guards=False), settings)
    run_flow(ours, settings)
    rows = query(settings.database, ANSWERS).to_pylist()
    return {(row["method"], row["policy"], row["grader"]): row for row in rows}


def _verdict(entry: Entry, naive: bool, answers: Mapping[tuple[str, str, str], dict[str, Any]]) -> Verdict:
    submitted = {grader: answers[entry.method, "as-submitted", grader]["solved"] is True for grader in GRADERS}
    ours = answers[entry.method, "tests-only", "paper"]
    accepted = {"naive": naive, **submitted, "ours": ours["robust"] is True}
    return Verdict(entry=entry, accepted=accepted, stopped_by="" if ours["robust"] else _stopped_by(ours))


def _stopped_by(row: Mapping[str, Any]) -> str:
    policy = [f"stripped: {name.rpartition(': ')[2]}" for name in row["stripped"]]
    if not row["solved"]:
        return "; ".join([*policy, row["reason"]])
    return "; ".join([*policy, *row["failed_guards"]])


def table(verdicts: Iterable[Verdict]) -> str:
    """Markdown: one table for each kind of candidate, with the sums at its end."""
    every = tuple(verdicts)
    return "\n".join(
        _table(kind, [verdict for verdict in every if verdict.entry.kind == kind]) for kind in _kinds(every)
    )


def _kinds(verdicts: Iterable[Verdict]) -> list[str]:
    return list(dict.fromkeys(verdict.entry.kind for verdict in verdicts))


def _table(kind: str, verdicts: list[Verdict]) -> str:
    lines = [
        f"| {kind} candidate | what it does | {' | '.join(COLUMNS)} | what ours has against it |",
        "| --- " * (len(COLUMNS) + 3) + "|",
    ]
    for verdict in verdicts:
        cells = ["accepts" if verdict.accepted[column] else "" for column in COLUMNS]
        lines.append(f"| `{verdict.entry.name}` | {verdict.entry.what} | {' | '.join(cells)} | {verdict.stopped_by} |")
    sums = [str(sum(verdict.accepted[column] for verdict in verdicts)) for column in COLUMNS]
    lines.append(f"| **accepted of {len(verdicts)}** | | {' | '.join(sums)} | |")
    return "\n".join(lines) + "\n"


def with_table(readme: str, text: str) -> str:
    """`readme` with its table replaced."""
    head, rest = readme.split(START)
    return f"{head}{START}\n{text}\n{END}{rest.split(END)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    given = parser.parse_args()
    settings = Settings(store=str(given.work / "store"), cache=given.work / "cache", database=given.work / "swt.duckdb")
    text = table(judge_corpus(settings, given.work / "runs"))
    print(text)
    if given.write:
        PAGE.write_text(with_table(PAGE.read_text(), text))


if __name__ == "__main__":
    main()
