"""A flow run in the containers of a Docker work pool, set up as docs/operating.md says, on real instances.

    docker build -t rolling-swt-bench .
    python -m benchmarks.docker_pool --work FOLDER --worker PREFECT --rows ROWS.jsonl --git 'mirrors/{repo}'
        --instances IDS.txt --candidate golden [--candidate PREDICTIONS.jsonl …] [--shards 2] [--limit 2]

PREFECT is a `prefect` of the same release beside prefect-docker. The pool is that of `deploy/docker-pool.json`; its
places are Secret blocks, its deployments are made in the image, and a volume that is made for the drill is the cache of
all containers. They share with this machine a Prefect server with its tables in PostgreSQL, that PostgreSQL for leases,
and a bucket, and nothing else but the files with predictions. Needs root, `iptables` and an engine of Docker on this
machine.

One machine alone, with local files and without Prefect or Docker, does the same first: its verdicts are what is
expected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.machine_networks import HERE, seen_by_containers
from benchmarks.machines import Cluster, Machine, Work, cluster_of, end_as_by_ctrl_c, verdicts, with_whole_paths
from benchmarks.prefect_server import POOL, Prefect, bare_server
from benchmarks.three_workers import ended, place_of_server
from flows.interface.settings import PROJECT
from tasks.adapters.store.rows.store import Store
from tasks.domain.run import Run
from tasks.rehearsal.services import store_url

TEMPLATE = PROJECT / "deploy" / "docker-pool.json"
CACHE = "/var/cache/swt"
INBOX = "/var/lib/swt-inbox"
USER = "swt"
"""All in the image."""
BLOCK = """
import os
from prefect.blocks.system import Secret
Secret(value=os.environ["TOLD"]).save(os.environ["BLOCK"], overwrite=True)
"""
KNOWN = ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING")
"""Of the server, for its clients."""


@contextmanager
def volume(name: str) -> Iterator[str]:
    """That is gone with the block."""
    docker("volume", "create", name)
    try:
        yield name
    finally:
        docker("volume", "rm", "--force", name)


def docker(*argv: str, environ: Mapping[str, str] | None = None) -> None:
    subprocess.run(["docker", *argv], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **(environ or {})})


def give_mirrors(work: Work, image: str, cache: str) -> None:
    """Of the repositories that the work is about, to the containers' cache, by containers."""
    asked = ("run", "--rm", "--user", "0", "--volume", f"{cache}:{CACHE}")
    for repo, source in work.mirrors.items():
        mounted = ("--volume", f"{Path(source).resolve()}:/source:ro")
        docker(*asked, *mounted, image, "swt", "repo", "add", repo, "--git", "/source")
    docker(*asked, image, "chown", "-R", USER, CACHE)  # root may read whatever is mounted, and jobs are another's


def save_secret(prefect: Prefect, block: str, told: str) -> None:
    """By Prefect's own client, as nothing but a person can use `prefect block create`."""
    environ = {**prefect.environ, "BLOCK": block, "TOLD": told}
    subprocess.run([sys.executable, "-c", BLOCK], check=True, env=environ, cwd=prefect.folder)


@contextmanager
def pool(cluster: Cluster, prefect: Prefect, image: str, worker: Path, limit: int) -> Iterator[str]:
    """A worker at work for the pool, with deployments; the store's address."""
    with seen_by_containers() as address:
        store = store_url(cluster.objects.address, prefect.folder.name).replace(HERE, address)
        save_secret(prefect, "swt-store", store)
        save_secret(prefect, "swt-leases", cluster.database.url.replace(HERE, address))
        prefect.set_up("work-pool", "create", POOL, "--type", "docker", "--base-job-template", str(TEMPLATE))
        # Containers are given what their worker knows of Prefect. By a name of localhost they would be on its network.
        known = {name: prefect.environ[name].replace(HERE, address) for name in KNOWN}
        named = [part for name in known for part in ("--env", name)]
        docker("run", "--rm", *named, image, "prefect", "--no-prompt", "deploy", "--all", environ=known)
        home = {"PATH": os.environ["PATH"], "HOME": str(prefect.folder), "PREFECT_WORKER_QUERY_SECONDS": "1"}
        client = replace(prefect, environ=known | home)
        with client.worker("worker", "--limit", str(limit), kind="docker", program=worker):
            yield store


def summary(cluster: Cluster, here: Machine, wall_s: float) -> list[str]:
    """Lines of what came of it."""
    store = Store(here.shared["SWT_STORE"])
    runs = store.read(Run)
    kinds = Counter((str(run.sandbox), run.project_commit + " with changes" * run.project_dirty) for run in runs)
    return [
        f"{len(runs)} runs, wanted: {cluster.runs}; {wall_s:.0f} s",
        *(f"{count} in {kind}, written by {commit}" for (kind, commit), count in kinds.items()),
        f"verdicts {'equal' if verdicts(here) == cluster.expected else 'differ from'} those of one machine",
        f"store check: {len(store.check())} problems",
    ]


def main(
    work: Annotated[Path, typer.Option(help="A folder for everything.")],
    worker: Annotated[Path, typer.Option(help="A `prefect` with prefect-docker.", exists=True)],
    rows: Annotated[Path, typer.Option(help="Instances, as SWE-bench has them.")],
    git: Annotated[str, typer.Option(help="Where their repositories are, with {repo} for OWNER/NAME.")],
    instances: Annotated[Path, typer.Option(help="A file with their ids.")],
    candidate: Annotated[list[str], typer.Option(help="To judge; may be repeated.")],
    image: Annotated[str, typer.Option(help="Of the Dockerfile.")] = "rolling-swt-bench",
    shards: Annotated[int, typer.Option(help="Flow runs that share the work.", min=1)] = 2,
    limit: Annotated[int, typer.Option(help="Containers at a time; one waits for the shards.", min=2)] = 3,
) -> None:
    """Print what came of it."""
    end_as_by_ctrl_c()
    judged = with_whole_paths(candidate)
    asked = Work(instances=tuple(instances.read_text().split()), candidates=judged, rows=rows.resolve(), git=git)
    name = f"pool_{os.getpid()}"
    with ExitStack() as held:
        cluster = held.enter_context(cluster_of(work.resolve(), asked))
        cache = held.enter_context(volume(name))
        give_mirrors(asked, image, cache)
        prefect = held.enter_context(bare_server(*place_of_server(cluster, name)))
        store = held.enter_context(pool(cluster, prefect, image, worker, limit))
        here = Machine(cluster.folder / name / "here", {"SWT_STORE": store})
        asked.give(here)
        began = time.monotonic()
        mounted = [f"{cache}:{CACHE}", *(f"{one}:{INBOX}/{Path(one).name}:ro" for one in judged if Path(one).exists())]
        own = {"volumes": mounted, "image": image}
        flow_run = prefect.begin(asked.deployment, asked.parameters | {"shards": shards}, own)
        if not ended(prefect, flow_run):
            raise SystemExit(f"the flow run {flow_run} did not complete; see the logs in {prefect.folder}")
        print("\n".join(summary(cluster, here, time.monotonic() - began)))


if __name__ == "__main__":
    typer.run(main)
