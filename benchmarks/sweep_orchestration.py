"""What orchestration costs: twelve methods × twenty instances in one sweep, on a Prefect server with two workers.

    python -m benchmarks.sweep_orchestration --work FOLDER --real rows.jsonl --git '../mirrors/{repo}.git'

Ten instances are the demo's, the others the first of `--real` (without it, the demo's ten alone). The methods are our
six, four plug-ins that the benchmark brings along as anybody would, by entry point, and the controls `golden`, `nop`.
A scripted provider answers after `--think` seconds. Environments are built beforehand and count for nobody. Each worker
does one of two shards. Orchestration's share is the part of the wall time, from asking for the runs to the end of the
last, in which nothing that leaves a row was under way for a worker's shard: no retrieval, method, or test process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.prefect_server import Prefect, prefect_server
from flows.demo import DEMO, build_demo_mirror
from flows.interface.commands.machine import add_mirror
from flows.interface.parameters import SweepRequest
from flows.interface.settings import PROJECT, Settings, settings_from
from flows.sweep import chosen_instances
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.rows.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.instance import TaskInstance
from tasks.domain.names import SnapshotName
from tasks.domain.undone import OfInstance
from tasks.environment.task import CheckSettings, prepare_environment
from tasks.rehearsal.contract import HELPFUL
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step
from tasks.scrape.swe_bench_rows import import_instances

SNAPSHOT = SnapshotName("orchestration")
OURS = ("zero_shot", "zero_shot_plus", "pass_at_5", "libro", "auto_code_rover", "agent")
PLUG_INS = ("plug_a", "plug_b", "plug_c", "plug_d")
SHARDS = 2
PLUG_IN = '''"""Methods of somebody else: edits at four temperatures."""
from tasks.generate.methods.zero_shot_plus import sample_of
from tasks.methods.conversation import Conversation


def plug_a(assignment, bench, model, budget):
    yield sample_of(assignment, bench, Conversation(model, budget), sample=0, temperature=0.1)


def plug_b(assignment, bench, model, budget):
    yield sample_of(assignment, bench, Conversation(model, budget), sample=0, temperature=0.2)


def plug_c(assignment, bench, model, budget):
    yield sample_of(assignment, bench, Conversation(model, budget), sample=0, temperature=0.3)


def plug_d(assignment, bench, model, budget):
    yield sample_of(assignment, bench, Conversation(model, budget), sample=0, temperature=0.4)
'''
INTERVALS = """
    SELECT instance_id, started_at, finished_at FROM generation
    UNION ALL SELECT instance_id, started_at, finished_at FROM run
    UNION ALL SELECT i.instance_id, l.started_at, l.finished_at
    FROM localization_run AS l JOIN task_instance AS i USING (instance_key)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One worker's share of the sweep."""

    wall_s: float
    busy_s: float
    """In which at least one unit of it was under way."""
    instances: int


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a folder for the store, the cache and Prefect")
    parser.add_argument("--real", type=Path, help="SWE-bench rows of the real instances")
    parser.add_argument("--git", default="", help="where their repositories are, with {repo} for owner__name")
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--methods", type=int, default=len(OURS + PLUG_INS), help="of the ten that ask a model")
    parser.add_argument("--think", type=float, default=2.0, help="seconds that the scripted provider takes")
    asked = parser.parse_args(argv)
    settings = _settings(asked.work)
    _prepare(settings, _import(settings, asked.real, asked.git, asked.instances))
    methods = (OURS + PLUG_INS)[: asked.methods]
    shards = _measure(settings, asked.work, methods, asked.think)
    wall, busy = sum(shard.wall_s for shard in shards), sum(shard.busy_s for shard in shards)
    for number, shard in enumerate(shards, 1):
        print(f"shard {number}: {shard.instances} instances, {shard.wall_s:.0f} s wall, {shard.busy_s:.0f} s at work")
    print(f"{len(methods)} methods and 2 controls; orchestration's share of the wall time: {1 - busy / wall:.1%}")


def _settings(work: Path) -> Settings:
    work.mkdir(parents=True, exist_ok=True)
    store, cache, database = work / "store", work / "cache", work / "swt.duckdb"
    here = {"SWT_STORE": str(store), "SWT_CACHE": str(cache), "SWT_DATABASE": str(database)}
    return settings_from(dict(os.environ) | here)


def _import(settings: Settings, real: Path | None, git: str, instances: int) -> list[TaskInstance]:
    """One snapshot of the demo's and the real instances."""
    build_demo_mirror(settings)
    rows = list(import_instances(DEMO / "instances.jsonl", snapshot=SNAPSHOT).instances)
    if real:
        rows += import_instances(real, snapshot=SNAPSHOT).instances
    rows = rows[:instances]
    for repo in {row.repo for row in rows if git and not row.repo.startswith("rolling-swt-bench/")}:
        add_mirror(settings, repo, git.format(repo=repo.replace("/", "__")))
    Store(settings.store).write([replace(row, snapshot=SNAPSHOT) for row in rows])
    return rows


def _prepare(settings: Settings, instances: Sequence[TaskInstance]) -> None:
    """The environments of all of them; none must be missing."""
    names = [instance.instance_id for instance in instances]
    for name in names:
        unit = OfInstance(snapshot=SNAPSHOT, instance_id=name)
        prepare_environment(settings.places, CheckSettings(sandbox=settings.sandbox), unit)


def _measure(settings: Settings, work: Path, methods: Sequence[str], think: float) -> list[Shard]:
    def answer(call: ClientRequest) -> Step:  # noqa: ARG001 - a script
        return replace(text_step(HELPFUL), wait_s=think)

    with ExitStack() as stack:
        url = stack.enter_context(ScriptedProvider(answer).serve())
        prefect = stack.enter_context(prefect_server(work, _environ(settings, work, url)))
        for number in range(SHARDS):
            stack.enter_context(prefect.worker(f"worker{number}", "--limit", "1"))
        begun = datetime.now(UTC)
        runs = [stack.enter_context(_shard(prefect, settings, methods, number)) for number in range(1, SHARDS + 1)]
        ended: dict[int, datetime] = {}
        while len(ended) < SHARDS:
            for number, run in enumerate(runs, 1):
                if run.poll() is not None:
                    ended.setdefault(number, datetime.now(UTC))
            time.sleep(0.5)
        if any(run.returncode for run in runs):
            sys.exit(f"a shard failed, see {work}")
    return [_shard_facts(settings, methods, number, begun, ended[number]) for number in range(1, SHARDS + 1)]


def _shard_facts(settings: Settings, methods: Sequence[str], number: int, begun: datetime, ended: datetime) -> Shard:
    names = _share(settings, methods, number)
    listed = ", ".join(f"'{name}'" for name in names)
    rows = query(settings.database, f"SELECT * FROM ({INTERVALS}) WHERE instance_id IN ({listed})").to_pylist()
    spans = sorted((max(begun, row["started_at"]), min(ended, row["finished_at"])) for row in rows)
    busy, until = 0.0, begun
    for start, end in spans:
        busy += max(0.0, (end - max(start, until)).total_seconds())
        until = max(until, end)
    return Shard(wall_s=(ended - begun).total_seconds(), busy_s=busy, instances=len(names))


def _environ(settings: Settings, work: Path, url: str) -> dict[str, str]:
    """For server, workers and client; the plug-ins are on the path as an installed distribution would be."""
    plugins = work / "plugins"
    facts = plugins / "bench_plugins-1.0.dist-info"
    facts.mkdir(parents=True, exist_ok=True)
    (plugins / "bench_plugins.py").write_text(PLUG_IN)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-plugins\nVersion: 1.0\n")
    points = "".join(f"{name} = bench_plugins:{name}\n" for name in PLUG_INS)
    (facts / "entry_points.txt").write_text(f"[rolling_swt_bench.methods]\n{points}")
    return dict(os.environ) | {
        "PYTHONPATH": os.pathsep.join([str(plugins), str(PROJECT)]),
        "SWT_STORE": settings.store,
        "SWT_CACHE": str(settings.cache),
        "SWT_DATABASE": str(settings.database),
        "SWT_SCRIPTED_BASE_URL": url,
        "SWT_WORKERS": "1",
        "SWT_TRUSTED": "1",
    }


def _share(settings: Settings, methods: Sequence[str], number: int) -> list[str]:
    """The instances of one of the two."""
    request = SweepRequest(snapshot=SNAPSHOT, methods=tuple(methods), models=("scripted",))
    return [instance.instance_id for instance in chosen_instances(request, settings)[number - 1 :: SHARDS]]


def _shard(
    prefect: Prefect, settings: Settings, methods: Sequence[str], number: int
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    parameters = {
        "models": ["scripted"],
        "methods": list(methods),
        "snapshot": SNAPSHOT,
        "instances": _share(settings, methods, number),
    }
    asked = ("deployment", "run", "sweep/new-model", "--watch", "--params", json.dumps(parameters))
    return prefect.process(f"shard{number}", *asked)


if __name__ == "__main__":
    main()
