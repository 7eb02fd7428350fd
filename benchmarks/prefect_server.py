"""A Prefect server of one's own with the deployments of `prefect.yaml`, and workers; all of it ends with its block."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tenacity

from flows.interface.settings import PROJECT
from tasks.domain.errors import InfrastructureError

PROGRAM = Path(sys.executable).with_name("prefect")
POOL = "swt"
PATIENCE_S = 900.0
"""What takes seconds takes minutes on a busy machine; this is for what hangs."""
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
NOTHING: Mapping[str, Any] = MappingProxyType({})
DEPLOYMENTS = PROJECT / "prefect.yaml"
FAILED, GONE = range(2)
"""The automations of the documentation: one tells of a failed rebuild, the other finds flow runs that are gone."""


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, urllib.error.HTTPError) and error.code == HTTPStatus.SERVICE_UNAVAILABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefect:
    """The command `prefect`, for one server."""

    folder: Path
    """Prefect's home, and a log of each process."""
    environ: Mapping[str, str]
    port: int
    _server: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """The server, until it answers. `InfrastructureError` where it stays away."""
        self._server[:] = [self._started("server", "server", "start", "--host", "127.0.0.1", "--port", str(self.port))]
        _wait_for(f"{self.environ['PREFECT_API_URL']}/health", self._server[0], self.folder)

    def stop(self, *, kill: bool = False) -> None:
        """End the server; `kill`: as a machine that loses its power does."""
        for server in self._server:
            for pid in [server.pid, *descendants(server.pid)] if kill else ():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _end(server)
        self._server.clear()

    def call(self, *argv: str) -> str:
        """What `prefect argv…` prints. `InfrastructureError` where it ends badly."""
        done = subprocess.run(
            [str(PROGRAM), *argv],
            env=dict(self.environ),
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if done.returncode:
            message = f"prefect {argv[0]} ended with {done.returncode}: {done.stdout}{done.stderr}"
            raise InfrastructureError(message, hint=f"see the logs in {self.folder}")
        return done.stdout

    @tenacity.retry(
        retry=tenacity.retry_if_exception(_is_busy),
        stop=tenacity.stop_after_delay(PATIENCE_S),
        wait=tenacity.wait_fixed(1),
        reraise=True,
    )
    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What the server answers, as JSON; asked by POST where there is a body.

        A server on SQLite answers 503 while somebody else writes; it is asked again, as Prefect's own client does, so
        a body that makes something has to carry an `idempotency_key`.
        """
        sent = None if body is None else json.dumps(body).encode()
        url = f"{self.environ['PREFECT_API_URL']}{path}"
        known = base64.b64encode(self.environ["PREFECT_API_AUTH_STRING"].encode()).decode()
        headers = {"Content-Type": "application/json", "Authorization": f"Basic {known}"}
        request = urllib.request.Request(url, sent, headers)  # noqa: S310 - our own server
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            return json.load(answer)

    def run(self, deployment: str, parameters: Mapping[str, Any], job_variables: Mapping[str, Any] = NOTHING) -> Any:
        """The flow run of `FLOW/NAME`, as the server has it once a worker has ended it; `InfrastructureError` where
        none does. It costs next to nothing, where `deployment run --watch` has to import Prefect."""
        return self.ended(self.start_flow(deployment, parameters, job_variables))

    def start_flow(
        self, deployment: str, parameters: Mapping[str, Any], job_variables: Mapping[str, Any] = NOTHING
    ) -> str:
        """Ask for a flow run of `FLOW/NAME`, with variables of its pool that are its own; its id."""
        found = self.ask(f"/deployments/name/{deployment}")
        told = {"parameters": dict(parameters), "job_variables": dict(job_variables)}
        body = told | {"idempotency_key": secrets.token_hex(16)}
        return str(self.ask(f"/deployments/{found['id']}/create_flow_run", body)["id"])

    def ended(self, flow_run: str, patience_s: float = PATIENCE_S) -> Any:
        """A flow run that was asked for, once it has ended; `InfrastructureError` where it does not."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            run = self.ask(f"/flow_runs/{flow_run}")
            if run["state_type"] in ENDED:
                return run
            time.sleep(0.5)
        raise InfrastructureError(f"the flow run {flow_run} does not end", hint=f"see the logs in {self.folder}")

    @tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(3), reraise=True)
    def set_up(self, *argv: str) -> None:
        """`call`, and again where it ends badly: a server that has only just started may refuse, and asking twice for
        the same pool or deployment does no harm."""
        self.call(*argv)

    @contextmanager
    def process(self, name: str, *argv: str, program: Path = PROGRAM) -> Iterator[subprocess.Popen[bytes]]:
        """`prefect argv…` beside the block, with a log called `name`; `program`: another installation of it."""
        process = self._started(name, *argv, program=program)
        try:
            yield process
        finally:
            _end(process)

    def _started(self, name: str, *argv: str, program: Path = PROGRAM) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as out:
            return subprocess.Popen(
                [str(program), *argv],
                env=dict(self.environ),
                cwd=PROJECT,
                stdout=out,
                stderr=out,
                preexec_fn=_listen,
            )

    def worker(
        self, name: str, *options: str, kind: str = "process", program: Path = PROGRAM
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """A worker of the pool; `kind`: the type of that."""
        told = ("worker", "start", "--pool", POOL, "--type", kind, "--name", name, *options)
        return self.process(name, *told, program=program)


@contextmanager
def prefect_server(folder: Path, environ: Mapping[str, str], deployments: Path = DEPLOYMENTS) -> Iterator[Prefect]:
    """`bare_server` with an empty pool of processes and the deployments of a file."""
    with bare_server(folder, environ) as prefect:
        prefect.set_up("work-pool", "create", POOL, "--type", "process", "--overwrite")
        prefect.set_up("--no-prompt", "deploy", "--all", "--prefect-file", str(deployments))
        yield prefect


@contextmanager
def bare_server(folder: Path, environ: Mapping[str, str]) -> Iterator[Prefect]:
    """A server on a free port that answers nobody without its password. `InfrastructureError` where it stays away."""
    port = _free_port()
    known = f"swt:{secrets.token_hex(16)}"
    own = {
        "PREFECT_SERVER_API_AUTH_STRING": known,
        "PREFECT_API_AUTH_STRING": known,
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        # Otherwise a slot that is taken when the server is killed stays taken for good.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLI_PROMPT": "false",
        # A worker asks every ten seconds as it is, which is most of what a small run takes, and little of a long one.
        "PREFECT_WORKER_QUERY_SECONDS": environ.get("PREFECT_WORKER_QUERY_SECONDS", "1"),
    }
    prefect = Prefect(folder=folder, environ={**environ, **own}, port=port)
    try:
        prefect.start()
        yield prefect
    finally:
        prefect.stop()


def documented_automation(which: int) -> str:
    """YAML: the automation `FAILED` or `GONE` as docs/automation.md has it."""
    found: list[str] = re.findall(r"```yaml\n(.*?)```", (PROJECT / "docs" / "automation.md").read_text("utf-8"), re.S)
    return found[which]


def descendants(pid: int) -> list[int]:
    """Of a process, as `/proc` has them now."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            children += map(int, (task / "children").read_text().split())
    return [*children, *(grand for child in children for grand in descendants(child))]


def _listen() -> None:
    """What a shell starts with `&` ignores SIGINT, and so would all that we start; Prefect ends its parts with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asked to end, and made to where it does not: what it had to say is in the database or a log by then."""
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own server
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise InfrastructureError(f"nothing answers at {url}", hint=f"see the logs in {folder}")
