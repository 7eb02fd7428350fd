"""A real Prefect server and a real worker: what `prefect.yaml` deploys, what fails there, and who is told of it."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import tenacity
import yaml
from faulty_deployments import FULL

from benchmarks.prefect_server import DEPLOYMENTS, ENDED, FAILED, GONE, Prefect, documented_automation, prefect_server
from flows.demo import DEMO, build_demo_mirror
from flows.interface.settings import PROJECT, Settings
from tasks.adapters.store.views.database import query
from tasks.scrape.task import TOKEN_VARIABLES
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.server import listening
from tests.fakes.local_github.world import World, open_repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LARDER = "rolling-swt-bench/larder"
INSTANCES = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))
SHARED = (8, 10, 12, 14)
TESTS = Path(__file__).parent
MONTH = {
    "snapshot": "2025-08",
    "repositories_file": "repositories.toml",
    "since": "",  # the deployment's own is two months before now
    "limit": 1,
    "free_gb": 0,
}
UNDONE = "SELECT round, subject, error, detail FROM undone WHERE flow_run IN ({}) ORDER BY round, subject"
SAVE_BLOCK = """
import sys
from prefect.blocks.notifications import SlackWebhook
print(SlackWebhook(url=sys.argv[1]).save("maintainers"))
"""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rounds in which the disk is full."""
    file = tmp_path_factory.mktemp("faults") / "rounds"
    file.write_text("")
    return file


@pytest.fixture(scope="module")
def prefect(shared_settings: Settings, full: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefect]:
    """One server and one worker for all of this file, with two deployments more that may find the disk full."""
    folder = tmp_path_factory.mktemp("prefect")
    mirror = build_demo_mirror(shared_settings)
    served = open_repository(LARDER, mirror, issues=DEMO / "issues.jsonl", scratch=folder / "github", license="MIT")
    with (
        listening(Hub(World({LARDER: served}, until=datetime(2025, 8, 15, tzinfo=UTC)))) as github,
        prefect_server(folder, environ(shared_settings, github, full), deployments(folder)) as server,
        server.worker("worker"),
    ):
        yield server


def environ(settings: Settings, github: str, full: Path) -> dict[str, str]:
    """Of server, worker and client: the warehouse of these tests."""
    return dict(os.environ) | {
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(PROJECT)]),
        "SWT_STORE": settings.store,
        "SWT_CACHE": str(settings.cache),
        "SWT_DATABASE": str(settings.database),
        "SWT_SANDBOX": str(settings.sandbox),
        "SWT_TRUSTED": "1",
        "SWT_GITHUB_URL": f"{github}/graphql",
        "SWT_GIT": "",
        "SWT_INBOX": str(DEMO),
        TOKEN_VARIABLES[0]: "any",
        FULL: str(full),
    }


def deployments(folder: Path) -> Path:
    """Those of the project, and `rebuild` and `validate` on the disk that may be full, as `FLOW/full-disk`."""
    stated = yaml.safe_load(DEPLOYMENTS.read_text())
    again = [
        {**one, "name": "full-disk", "entrypoint": one["entrypoint"].replace("flows.deployments", "faulty_deployments")}
        for one in stated["deployments"]
        if one["entrypoint"].rpartition(".")[2] in ("rebuild", "validate")
    ]
    file = folder / "prefect.yaml"
    file.write_text(yaml.safe_dump({**stated, "deployments": [*stated["deployments"], *again]}))
    return file


def undone(settings: Settings, prefect: Prefect, run: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Round, subject, error and detail of what a flow run and those inside it left undone."""
    ids = ", ".join(f"'{one['id']}'" for one in [run, *inner(prefect, run)])
    return [tuple(row.values()) for row in query(settings.database, UNDONE.format(ids)).to_pylist()]


def inner(prefect: Prefect, run: Mapping[str, Any]) -> list[Any]:
    """The flow runs inside one, and inside these."""
    asked = {"flow_runs": {"parent_flow_run_id": {"any_": [run["id"]]}}}
    found = prefect.ask("/flow_runs/filter", asked)
    return [one for child in found for one in (child, *inner(prefect, child))]


@tenacity.retry(stop=tenacity.stop_after_attempt(60), wait=tenacity.wait_fixed(1), reraise=True)
def task_runs(prefect: Prefect, run: Mapping[str, Any], wanted: Iterable[str]) -> dict[str, Any]:
    """The ended task runs of a flow run by name, those that are wanted among them: the server writes them down some
    time after the flow run's own end."""
    found = prefect.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": [run["id"]]}}})
    tasks = {one["name"]: one for one in found if one["state_type"] in ENDED}
    assert tasks.keys() >= set(wanted)
    return tasks


@tenacity.retry(stop=tenacity.stop_after_delay(60), wait=tenacity.wait_fixed(0.5), reraise=True)
def the_task_run_that_never_began(prefect: Prefect, run: Mapping[str, Any]) -> dict[str, Any]:
    runs = [one["id"] for one in (run, *inner(prefect, run))]
    found: list[dict[str, Any]] = prefect.ask("/task_runs/filter", {"flow_runs": {"id": {"any_": runs}}})
    (one,) = (one for one in found if one["state_type"] != "COMPLETED")
    return one


def test_a_worker_runs_the_deployments(prefect: Prefect, shared_settings: Settings) -> None:
    two = ["rolling-swt-bench__larder-3", "rolling-swt-bench__larder-5"]
    asked = {"snapshot": "demo", "candidates": ["golden", "nop"], "instances": two}
    judged = prefect.run("evaluate/predictions", asked)
    held = prefect.run("strength/wrong-fixes", {"instances": two[:1]})
    written = prefect.run("report/latest", {})
    assert [one["state_type"] for one in (judged, held, written)] == ["COMPLETED"] * 3
    assert [one["name"] for one in (judged, held)] == ["evaluate demo", "strength demo"]
    index = shared_settings.database.parent / "report" / "demo" / "index.html"
    assert "golden" in index.read_text()
    linked = prefect.call("artifact", "inspect", "report-link")
    assert index.as_uri() in "".join(linked.split())
    assert query(shared_settings.database, "SELECT method, rejected FROM strength").to_pylist() == [
        {"method": "golden", "rejected": 1}
    ]
    counted = (
        "SELECT method, count(*) FILTER (solved) AS solved FROM paper "
        f"WHERE instance_id IN {tuple(two)} GROUP BY method"  # the store is shared with the tests around this one
    )
    found = query(shared_settings.database, counted).to_pylist()
    assert {row["method"]: row["solved"] for row in found} == {"golden": 2, "nop": 0}


def test_shards_do_the_work_and_the_parent_tells_the_story(prefect: Prefect, shared_settings: Settings) -> None:
    names = [f"rolling-swt-bench__larder-{number}" for number in SHARED]
    asked = {"snapshot": "demo", "candidates": ["golden", "nop"], "instances": names, "shards": 2}
    own = {"env": {"SWT_WORKERS": "1"}}
    parent = prefect.run("evaluate/predictions", asked, own)
    shards = inner(prefect, parent)
    assert [one["state_type"] for one in (parent, *shards)] == ["COMPLETED"] * 3
    assert [one["job_variables"] for one in shards] == [own] * 2, "what was asked of the pool holds for all"
    assert sorted(name for one in shards for name in one["parameters"]["instances"]) == sorted(names)
    assert {tag for one in shards for tag in one["tags"]} >= {"shard 1 of 2", "shard 2 of 2"}
    made = [re.search(r"; (\d+) runs, (\d+) reused; 0 undone", one["state"]["message"]) for one in (parent, *shards)]
    (_, reused), *each = [tuple(map(int, found.groups())) for found in made if found]
    assert f"8 candidates, 4 not well-formed; 0 runs, {reused} reused; 0 undone" in parent["state"]["message"]
    # Four runs judge golden tests, two repeat them and up to three have edits; those on decoys were made before.
    assert all(12 < runs <= 18 for runs, _ in each)
    assert sum(map(sum, each)) == reused


@pytest.mark.drill
def test_a_shard_that_is_killed_is_started_again(prefect: Prefect, shared_settings: Settings) -> None:
    """Its worker lives, and tells the server of the crash."""
    asked = {"snapshot": "demo", "instances": list(INSTANCES), "shards": 2}
    with ThreadPoolExecutor(1) as pool:
        parent = pool.submit(prefect.run, "validate/golden-tests", asked)
        struck = a_running_shard(prefect)
        os.kill(int(struck["infrastructure_pid"].rpartition(":")[2]), signal.SIGKILL)
        ended = parent.result()
    shards = [one for one in inner(prefect, ended) if one["deployment_id"]]
    states = sorted(one["state_type"] for one in shards)
    assert (ended["state_type"], states) == ("COMPLETED", ["COMPLETED", "COMPLETED", "CRASHED"])
    assert "2 of 2 valid" in ended["state"]["message"]
    assert undone(shared_settings, prefect, ended) == []


@tenacity.retry(stop=tenacity.stop_after_delay(300), wait=tenacity.wait_fixed(0.2), reraise=True)
def a_running_shard(prefect: Prefect) -> dict[str, Any]:
    """A shard that is under way, and has a process."""
    under_way = {"flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}}
    found: list[dict[str, Any]] = prefect.ask("/flow_runs/filter", under_way)
    return next(one for one in found if one["parent_task_run_id"] and one["infrastructure_pid"])


def test_nobody_without_the_password_is_answered(prefect: Prefect, shared_settings: Settings) -> None:
    """Who reaches the server may start any deployment, so it asks; what it asks for is in no row and no log."""
    url = f"{prefect.environ['PREFECT_API_URL']}/flow_runs/count"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(url, b"{}"))
    with refused.value as answer:
        assert answer.code == HTTPStatus.UNAUTHORIZED
    assert prefect.ask("/flow_runs/count", {}) >= 0
    known = prefect.environ["PREFECT_API_AUTH_STRING"].partition(":")[2].encode()
    written = [*Path(shared_settings.store).rglob("*.parquet"), *prefect.folder.glob("*.log")]
    assert not [path for path in written if known in path.read_bytes()]


@pytest.mark.parametrize(
    ("deployment", "parameters"),
    [
        ("evaluate/predictions", {"candidates": ["/etc/passwd"]}),
        ("evaluate/predictions", {"candidates": ["../secret"]}),
        ("fixes/repairs", {"kept": "/tmp/kept"}),
        ("report/latest", {"out": "../../out"}),
        ("rebuild/monthly", {"repositories_file": "data/repositories.toml"}),
        ("freeze/snapshot", {"pool": "demo", "snapshot": "../../x"}),
    ],
    ids=str,
)
def test_the_server_starts_no_flow_run_with_a_path(
    prefect: Prefect, deployment: str, parameters: dict[str, Any]
) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        prefect.run(deployment, parameters)
    with refused.value as answer:
        assert answer.code == HTTPStatus.CONFLICT
        assert list(parameters)[-1] in answer.read().decode()


def test_a_flow_run_with_a_source_of_mirrors_fails_before_it_begins(prefect: Prefect, tmp_path: Path) -> None:
    """The server takes parameters that a flow does not have; the flow does not."""
    run = prefect.run("rebuild/monthly", {"git": f"--upload-pack=touch {tmp_path}/ran; : {{repo}}"})
    assert run["state_type"] == "CRASHED"
    assert not (tmp_path / "ran").exists()


def test_an_output_has_a_name_below_the_reports(prefect: Prefect, shared_settings: Settings) -> None:
    run = prefect.run("report/latest", {"out": "mine"})
    assert run["state_type"] == "COMPLETED"
    assert (shared_settings.reports / "mine" / "index.html").is_file()


def test_where_every_repeat_of_a_validation_fails_nothing_is_valid(
    prefect: Prefect, shared_settings: Settings, full: Path
) -> None:
    full.write_text("validation\nsettling\ndoubts\n")
    run = prefect.run("validate/full-disk", {"snapshot": "demo", "instances": list(INSTANCES)})
    assert (run["name"], run["state_type"]) == ("validate demo", "FAILED")
    assert run["state"]["message"].startswith("exit code 1\n")
    assert "0 of 2 valid" in run["state"]["message"]
    struck = [("validation", name, "infrastructure", "disk full") for name in INSTANCES]
    assert undone(shared_settings, prefect, run) == struck
    asked = {f"validation {name}": name for name in INSTANCES}
    tasks = task_runs(prefect, run, asked)
    failed = {name: one["state"]["message"] for name, one in tasks.items() if one["state_type"] == "FAILED"}
    assert failed == {f"validation {name}": "infrastructure: disk full" for name in INSTANCES}
    assert all(subject in tasks[name]["tags"] for name, subject in asked.items())


def test_a_task_run_that_a_busy_server_ends_before_it_begins_is_asked_for_again(
    prefect: Prefect, shared_settings: Settings, full: Path
) -> None:
    full.write_text("busy\n")
    run = prefect.run("validate/full-disk", {"snapshot": "demo", "instances": list(INSTANCES)})
    assert (run["state_type"], undone(shared_settings, prefect, run)) == ("COMPLETED", [])
    assert "2 of 2 valid" in run["state"]["message"]
    assert the_task_run_that_never_began(prefect, run)["tags"]


@pytest.mark.drill
def test_a_month_is_published_once_its_cause_is_gone_and_who_asked_for_it_is_told(
    prefect: Prefect, shared_settings: Settings, full: Path, tmp_path: Path
) -> None:
    with webhook() as (address, told):
        automate(prefect, address, tmp_path)
        for round_ in ("scrape", "rows"):
            full.write_text(round_)
            run = prefect.run("rebuild/full-disk", MONTH)
            message = run["state"]["message"]
            assert (run["name"], run["state_type"]) == ("rebuild 2025-08", "FAILED")
            assert "2025-08 is not published, and stays a draft: 0 of 1 repositories" in message
            rows = undone(shared_settings, prefect, run)
            assert (round_, LARDER, "infrastructure", "disk full") in rows
            assert [(row[1], row[2]) for row in rows if row[0] == "publish"] == [("2025-08", "held-back")]
            assert published(shared_settings) == []
            said = told.get(timeout=900)
            assert said["title"] == "rebuild 2025-08 is Failed"
            assert said["message"].strip() == message.strip()
        full.write_text("")
        free = prefect.run("rebuild/full-disk", MONTH)
    assert (free["name"], free["state_type"]) == ("rebuild 2025-08", "COMPLETED")
    assert undone(shared_settings, prefect, free) == []
    assert published(shared_settings) == [{"snapshot": "2025-08", "instances": 1}]
    assert told.empty(), "nobody is told of what went well"


def test_a_flow_run_that_was_taken_and_never_began_is_called_crashed(prefect: Prefect, tmp_path: Path) -> None:
    """By the documented automation, in seconds; that one falls silent takes longer (benchmarks/rolling_year.py)."""
    file = tmp_path / "gone.yaml"
    file.write_text(documented_automation(GONE).replace("within: 600", "within: 10"))
    prefect.call("automation", "create", "--from-file", str(file))
    made = {one["name"]: one for one in prefect.ask("/automations/filter", {})}["a machine is gone"]
    assert sorted(made["trigger"]["after"]) == ["prefect.flow-run.Pending", "prefect.flow-run.heartbeat"]
    assert [action["state"] for action in made["actions"]] == ["CRASHED"]
    assert made["enabled"]
    deployment = prefect.ask("/deployments/name/evaluate/predictions")["id"]
    far = {"type": "SCHEDULED", "state_details": {"scheduled_time": "2100-01-01T00:00:00Z"}}
    run = prefect.ask(f"/deployments/{deployment}/create_flow_run", {"state": far})["id"]
    try:
        prefect.ask(f"/flow_runs/{run}/set_state", {"state": {"type": "PENDING"}, "force": True})
        assert prefect.ended(run)["state_type"] == "CRASHED"
    finally:
        prefect.call("automation", "delete", made["name"])


def published(settings: Settings) -> list[dict[str, Any]]:
    asked = "SELECT snapshot, instances FROM snapshot WHERE snapshot = '2025-08'"
    return query(settings.database, asked).to_pylist()


@contextmanager
def webhook() -> Iterator[tuple[str, queue.Queue[dict[str, Any]]]]:
    """The address of a webhook that takes JSON, as notification blocks write it, and what it is told."""
    told: queue.Queue[dict[str, Any]] = queue.Queue()

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"json://127.0.0.1:{server.server_port}/", told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def automate(prefect: Prefect, address: str, folder: Path) -> None:
    """The automation of the documentation as it stands there, with a block of the documented kind."""
    argv = [sys.executable, "-c", SAVE_BLOCK, address]
    block = subprocess.run(argv, env=dict(prefect.environ), capture_output=True, text=True, check=True).stdout.strip()
    example = documented_automation(FAILED)
    assert "block_document_id: ID " in example
    file = folder / "failed-rebuild.yaml"
    file.write_text(example.replace("block_document_id: ID ", f"block_document_id: {block} "))
    prefect.call("automation", "create", "--from-file", str(file))
