"""The papers' ablations, each run as docs/experiments.md has it: rows under its own name, and a table that answers.

    python -m benchmarks.ablations --work FOLDER [--agents data/cache/agents]
    python -m benchmarks.ablations --work FOLDER --rows ROWS.jsonl --cache CACHE --instances ID …

On the demo, or on instances of a SWE-bench file (`CACHE` has the mirrors, and may have environments), with a scripted
model that knows their golden tests (`knowing_model.py`). For each ablation and instance it says whether

- its work and calls, one candidate and its verdict are there under the ablation's name and no other, with as many
  replies as the method should use;
- what the model was asked differs from what the plain method asks in the way that the name says;
- the table for it has its row, over all instances;
- the same once more asks nobody and makes nothing; and when all have run, all is still there.

Agents are tried where they are installed. Exit code 1 where anything of it is missing. The same command goes on where
it was: work that is in the store is not done again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.ablation_rows import ABLATIONS, SNAPSHOT, Ablation, Warehouse
from benchmarks.knowing_model import Knowing, KnownIssue, known_issue
from flows.demo import DEMO, build_demo_mirror
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.agents.catalogue import AGENTS
from tasks.adapters.agents.install import ready
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.rows.store import Store
from tasks.adapters.store.views.database import ensure_views, query
from tasks.domain.candidate import Candidate
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import LlmCall
from tasks.domain.outcome import SandboxKind
from tasks.rehearsal.scripted_provider.server import ScriptedProvider

DEMO_INSTANCES = ("rolling-swt-bench__larder-3", "rolling-swt-bench__larder-7")
CARDS = """
[provider.bench]
base_url = "{url}"
[model.bench]
provider = "bench"
price = "bench"
context = 200000
output = 64000
source = "the benchmark"
[model.bench-other]
provider = "bench"
price = "bench"
context = 200000
output = 64000
source = "the benchmark"
[[price]]
key = "bench"
valid_from = 2020-01-01
input = 3.0
output = 15.0
source = "the benchmark"
"""


def problems_of(ablation: Ablation, known: KnownIssue, warehouse: Warehouse) -> list[str]:
    """What is missing of an ablation on one instance."""
    asked, found = warehouse.asked(ablation.label, known), []
    if ablation.calls not in (None, len(asked.rows)) or not asked.rows:
        found.append(f"{len(asked.rows)} replies")
    if len(asked.questions) != len(asked.rows):
        found.append("replies that are not kept")
    elif asked.rows and not ablation.otherwise(asked):
        found.append("not asked as its name says")
    if ablation.generates:
        found += _candidate_problems(ablation.label, known, warehouse)
    return found


def _candidate_problems(label: str, known: KnownIssue, warehouse: Warehouse) -> list[str]:
    mine = [row for row in warehouse.store.read(Candidate, instance_id=known.instance_id) if row.method == label]
    where = f"method = '{label}' AND instance_id = '{known.instance_id}' AND grader = 'paper'"
    judged = query(warehouse.settings.database, f"SELECT measured, solved FROM verdict WHERE {where}").to_pylist()
    found = [] if len(mine) == 1 and mine[0].patch else [f"{len(mine)} candidates"]
    return [*found, *([] if len(judged) == 1 and judged[0]["measured"] else [f"{len(judged)} verdicts"])]


def _solved(label: str, known: KnownIssue, database: Path) -> str:
    where = f"method = '{label}' AND instance_id = '{known.instance_id}' AND grader = 'paper'"
    rows = query(database, f"SELECT solved FROM verdict WHERE {where}")["solved"].to_pylist()
    return ", ".join("yes" if solved else "no" for solved in rows)


def tried(ablation: Ablation, warehouse: Warehouse) -> bool:
    """Run it twice and print a row for each instance; whether all is there."""
    begun = time.monotonic()
    left = ablation.run(warehouse)
    made, seconds = warehouse.made(), time.monotonic() - begun
    left += ablation.run(warehouse)
    shared = [f"{left} left"] if left else []
    shared += [] if warehouse.made() == made else ["made something the second time"]
    database = warehouse.settings.database
    ensure_views(warehouse.settings.store, database, warehouse.settings.sql)
    tables = ablation.questions(len(warehouse.names))
    for table, where in tables.items():
        rows = query(database, f"SELECT 1 FROM {table} WHERE snapshot = '{SNAPSHOT}' AND {where}").num_rows
        shared += [] if rows == 1 else [f"{rows} rows in {table}"]
    good = True
    for known in warehouse.issues:
        problems = [*shared, *problems_of(ablation, known, warehouse)]
        calls = len(warehouse.asked(ablation.label, known).rows)
        solved = _solved(ablation.label, known, database) if ablation.generates else ""
        line = (known.instance_id, f"`{ablation.label}`", calls, solved, ", ".join(tables), f"{seconds:.0f}")
        print("| " + " | ".join(map(str, (*line, "; ".join(problems) or "–"))) + " |", flush=True)
        good &= not problems
    return good


HEAD = "| instance | rows under | replies | solved | tables | seconds of both | missing |"


def main(
    work: Annotated[Path, typer.Option(help="Folder for the store.")],
    rows: Annotated[Path | None, typer.Option(help="Rows of SWE-bench; without it the demo.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder with their mirrors, such as data/cache.")] = None,
    instances: Annotated[list[str] | None, typer.Option(help="Only these; golden tests in one Python file.")] = None,
    agents: Annotated[Path | None, typer.Option(help="Folder with installed agents.")] = None,
    sandbox: Annotated[SandboxKind | None, typer.Option(help="Where tests run; the first that is there.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only these names; may be repeated.")] = None,
) -> None:
    """Print a row for each ablation and instance."""
    provider = ScriptedProvider(lambda call: model(call))
    with provider.serve() as url:
        warehouse = opened(work.resolve(), rows, cache, tuple(instances or DEMO_INSTANCES), provider, url)
        warehouse = replace(warehouse, settings=warehouse.settings.overridden(sandbox=sandbox))
        model = Knowing(warehouse.issues)
        if agents and not warehouse.settings.places.agents.exists():
            warehouse.settings.places.agents.symlink_to(agents.resolve())
        print(f"{HEAD}\n|{' --- |' * (HEAD.count('|') - 1)}", flush=True)
        asked = [one for one in ABLATIONS if not only or one.label in only]
        missing = {one.label: why for one in asked if (why := not_installed(one, warehouse.settings))}
        good = [tried(one, warehouse) for one in asked if one.label not in missing]
        late = [*displaced(asked, missing, warehouse), *stray(warehouse)]
    print("", *(f"not tried: `{label}`: {why}" for label, why in missing.items()), *late, sep="\n")
    print(f"{sum(good)} of {len(asked)} are whole on {len(warehouse.names)} instances")
    sys.exit(not all(good) or bool(late) or bool(missing))


def opened(
    work: Path, rows: Path | None, cache: Path | None, instances: tuple[str, ...], provider: ScriptedProvider, url: str
) -> Warehouse:
    """The store with the instances in it, and what the model knows of them."""
    work.mkdir(mode=0o711, parents=True, exist_ok=True)
    (work / "own.toml").write_text(CARDS.format(url=url))
    settings = Settings(
        store=str(work / "store"),
        cache=(cache or work / "cache").resolve(),
        database=work / "swt.duckdb",
        own_models=work / "own.toml",
        environ={},
        trusted=rows is None,
    )
    if rows is None:
        build_demo_mirror(settings)
    taken = [json.loads(line) for line in (rows or DEMO / "instances.jsonl").read_text().splitlines()]
    (work / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in taken if row["instance_id"] in instances)
    )
    import_rows(settings, work / "rows.jsonl", SNAPSHOT)
    mirrors = Mirrors(settings.places.mirrors)
    found = Store(settings.store).read(TaskInstance, snapshot=SNAPSHOT)
    issues = tuple(known_issue(row, mirrors) for row in found)
    wrong = [{"instance_id": one.instance_id, "model_patch": one.wrong} for one in issues]
    (work / "wrong.jsonl").write_text(
        "".join(json.dumps(row | {"model_name_or_path": "wrong"}) + "\n" for row in wrong)
    )
    return Warehouse(work, settings, issues, provider)


def not_installed(ablation: Ablation, settings: Settings) -> str:
    """Why an agent cannot be tried; empty where it can, and for our own methods."""
    for agent in AGENTS:
        if agent.name == ablation.method:
            try:
                ready(settings.places.agents, agent)
            except NotFound as error:
                return str(error)
    return ""


def displaced(asked: Sequence[Ablation], missing: Container[str], warehouse: Warehouse) -> list[str]:
    """What was there once and is not any more, now that all have run."""
    return [
        f"in the end `{one.label}` on {known.instance_id}: {problem}"
        for one in asked
        for known in warehouse.issues
        if one.label not in missing
        for problem in problems_of(one, known, warehouse)
    ]


def stray(warehouse: Warehouse) -> list[str]:
    """Names in the store that are no ablation's."""
    known = {one.label for one in ABLATIONS} | {"golden", "nop"}
    found = {row.method for row in warehouse.store.read(Candidate)}
    strange = (found | {row.method for row in warehouse.store.read(LlmCall)}) - known
    return [f"rows under {name}, which nobody asked for" for name in sorted(strange)]


if __name__ == "__main__":
    typer.run(main)
