"""List, show, compare, verify, import, publish and withdraw snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flows.engine.units import FlowRun, typed_partial
from flows.interface.requests import ValidationRequest
from flows.interface.settings import Settings
from flows.interface.snapshot_requests import PublishRequest, WithdrawRequest
from flows.validate import validate_inside
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import ensure_views, query, selection
from tasks.adapters.tabular import text_table
from tasks.adapters.text import counted, say
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.published import SnapshotChange
from tasks.domain.undone import OfSnapshot
from tasks.evaluate.runs.validation_plan import Repeats
from tasks.scrape.task import import_snapshot
from tasks.snapshot.compose import changes
from tasks.snapshot.gate import coverage
from tasks.snapshot.task import (
    Publication,
    PublicationOutcome,
    count_facts,
    publish,
    published_before,
    verify_snapshot,
    withdraw_snapshot,
)


def list_snapshots(settings: Settings) -> str:
    """Returns one line for each snapshot, the oldest first."""
    return _answer(settings, selection("snapshot_state"))


def show_snapshot(settings: Settings, name: str) -> str:
    """Returns the instances of a snapshot with their facts and health."""
    _known(settings, name)
    return _answer(settings, selection("instance_health", {"snapshot": [name]}, ["instance_id"]))


def diff_snapshots(settings: Settings, older: str, newer: str) -> str:
    """Compare any two snapshots. If one follows the other, each line has the reason from the publication."""
    store = Store(settings.store)
    rows = [store.read(TaskInstance, snapshot=_known(settings, name).snapshot) for name in (older, newer)]
    found = changes(rows[0], rows[1], {}, snapshot=newer, previous=older)
    published = store.read(SnapshotChange, snapshot=newer, previous=older)
    why = {(row.instance_id, row.change): row.reason for row in published}
    lines = [f"{row.change:9} {row.instance_id}  {why.get((row.instance_id, row.change), row.reason)}" for row in found]
    return "\n".join([*lines, f"{len(found)} of {len(rows[0])} and {len(rows[1])} instances differ"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummary:
    """Result of publishing or withdrawing."""

    text: str
    exit_code: int


def freeze(request: PublishRequest, settings: Settings, run: FlowRun) -> SnapshotSummary:
    """The flow `freeze`: validate the instances of a pool and publish the valid ones. Publishes nothing if any instance
    could not be judged."""
    validated = validate_inside(run, ValidationRequest(snapshot=request.pool), settings, Repeats())
    names = [row.instance_id for row in validated.validations]
    judged = coverage("instances", names, run.incomplete(), 1.0)
    if not judged.enough:
        said = f"{request.snapshot} is not published: {judged}"
        return SnapshotSummary(text=f"{validated.text}\n{said}", exit_code=run.exit_code())
    counted = run.map_task(
        "facts", typed_partial(count_facts, settings.places), [OfSnapshot(snapshot=request.pool)]
    ).results
    if not counted:  # later runs do not change a published snapshot, so it must be complete
        said = f"{request.snapshot} is not published: its facts are not counted"
        return SnapshotSummary(text=f"{validated.text}\n{said}", exit_code=run.exit_code())
    previous = published_before(settings.places, request.snapshot)
    ensure_views(settings.store, settings.database, settings.sql)  # the publication gate queries the views
    unit = Publication(snapshot=request.snapshot, pool=request.pool, previous=previous, unchanged=True)
    done = run.map_task("publish", typed_partial(publish, settings.places, settings.database), [unit]).results
    text = "\n".join([validated.text, *(_issued(one) for one in done)])
    return SnapshotSummary(text=text, exit_code=run.exit_code())


def _issued(one: PublicationOutcome) -> str:
    if one.published is None:
        return one.remark
    made = one.published.snapshot
    return made_line(made)


def withdraw(request: WithdrawRequest, settings: Settings, run: FlowRun) -> SnapshotSummary:
    """The flow `withdraw`: write a row with the reason why a published snapshot must not be used any more."""
    row = withdraw_snapshot(settings.places, request.snapshot, request.reason, request.instance)
    named = f"{row.instance_id} of {row.snapshot}" if row.instance_id else row.snapshot
    text = f"{named}: withdrawn at {row.withdrawn_at:%Y-%m-%d %H:%M} UTC: {row.reason}"
    return SnapshotSummary(text=text, exit_code=run.exit_code())


def verify(settings: Settings, name: str) -> tuple[str, ...]:
    """Compare the store with the manifest of a snapshot. Returns one line for each difference."""
    return verify_snapshot(settings.places, name)


def _known(settings: Settings, name: str) -> Snapshot:
    found = Store(settings.store).read(Snapshot, snapshot=name)
    if not found:
        raise NotFound(f"there is no snapshot {name!r}", hint="`swt snapshot list` names them")
    return found[0]


def _answer(settings: Settings, asked: str) -> str:
    ensure_views(settings.store, settings.database, settings.sql)
    return text_table(query(settings.database, asked))


def made_line(made: Snapshot) -> str:
    """Returns one line with a snapshot's name, size and content hash."""
    return f"snapshot {made.snapshot}: {counted(made.instances, 'instance')}, content {made.content[:12]}"


def import_rows(settings: Settings, file: Path, name: str) -> str:
    """Import the rows of a SWE-bench file as snapshot `name`. Prints rejected and unreadable rows to stderr."""
    made, read = import_snapshot(settings.store, file, name)
    for line in read.lines(file.name):
        say(line, err=True)
    problems = read.problems
    if made is None and not problems:
        raise BadInput(f"{file} is empty", hint="one SWE-bench row a line: JSONL, JSON or Parquet")
    if made is None:
        raise BadInput(f"{file} holds no instance that can be taken", hint="see the lines above")
    left = f", {len(problems)} problems" if problems else ""
    return f"{made_line(made)}{left}"
