"""Write the report of a snapshot as a static site and serve it; rate methods and snapshots on one scale.

rows ─► queries of sql/ ─► pages, figures ─► a folder that needs no server
verdicts of all snapshots ─► abilities, difficulties
"""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flows.engine.units import FlowRun, typed_partial
from flows.interface.settings import Settings
from flows.interface.snapshot_requests import RateRequest, ReportRequest
from tasks.adapters.tabular import text_table
from tasks.domain.errors import NotFound
from tasks.domain.names import file_name
from tasks.report.naming import LEADERBOARD
from tasks.report.task import ReportBuilt, ReportOf, chosen_snapshot, write_report

STORY = "report"
HOST = "127.0.0.1"
NAMES = (HOST, "localhost", "[::1]")
"""Host names, without the port, that a browser on this machine may send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """Result of writing a report."""

    built: ReportBuilt | None
    """None if the report could not be written; the rows of `undone` give the reason."""
    exit_code: int

    @property
    def text(self) -> str:
        return str(self.built) if self.built else "no report was written"

    @property
    def link(self) -> str:
        """The first page, as a `file://` address."""
        return self.built.index.absolute().as_uri() if self.built else ""


def report(request: ReportRequest, settings: Settings, run: FlowRun) -> ReportSummary:
    """The flow `report`."""
    snapshot = chosen_snapshot(settings.places, request.snapshot)
    folder = request.out or report_folder(settings, snapshot)
    unit = ReportOf(snapshot=snapshot, folder=str(folder), with_golden=request.with_golden)
    done = run.map_task("pages", typed_partial(write_report, settings.places, settings.sql), [unit])
    built = next(iter(done.results), None)
    return ReportSummary(built=built, exit_code=run.exit_code(nothing=built is None))


def report_folder(settings: Settings, snapshot: str) -> Path:
    """Returns the default folder of a snapshot's report."""
    return settings.reports / file_name(snapshot)


def view(
    settings: Settings, snapshot: str, folder: Path | None, port: int, say: Callable[[str], None], look: bool
) -> None:
    """Serve a report to this machine only, until Ctrl-C. `look` opens it in a browser. Raises `NotFound` if there is no
    report."""
    where = folder or report_folder(settings, chosen_snapshot(settings.places, snapshot))
    if not (where / LEADERBOARD).exists():
        raise NotFound(f"there is no report in {where}", hint="`swt report` writes one")
    with serving(where, port) as server:
        address = f"http://{HOST}:{server.server_address[1]}/{LEADERBOARD}"
        say(address)
        if look:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")


def serving(folder: Path, port: int) -> ThreadingHTTPServer:
    """Returns a server for the files of `folder`, bound to this machine only. The caller starts it."""
    return ThreadingHTTPServer((HOST, port), partial(QuietHandler, directory=str(folder)))


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the files of one folder without logging. The browser must not cache pages, because a new report replaces
    them."""

    def parse_request(self) -> bool:
        """Refuse a request with another host name. Otherwise a web page whose host name now resolves to this machine
        could read the answer (DNS rebinding)."""
        if not super().parse_request():
            return False
        assert isinstance(self.server, ThreadingHTTPServer)
        port = self.server.server_port
        if self.headers.get("Host", "").lower() in {f"{name}:{port}" for name in NAMES}:
            return True
        self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        return False

    def log_message(self, format: str, *args: object) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingSummary:
    """Result of a rating."""

    text: str
    """The rows of `ability`."""
    exit_code: int


def rate_methods(request: RateRequest, settings: Settings, run: FlowRun) -> RatingSummary:
    """The flow `rate`."""
    # Imports scipy's optimizers, which takes a second. Reports must not wait for it.
    from tasks.ability.task import Rating, abilities, rate

    unit = Rating(
        grader=request.grader,
        guarded=request.guarded,
        snapshots=request.snapshot,
        times=request.times,
        seed=request.seed,
    )
    done = run.map_task("fit", typed_partial(rate, settings.places, settings.sql), [unit])
    shown = text_table(abilities(settings.places, settings.sql, unit)) if done.results else "nothing was rated"
    return RatingSummary(text=shown, exit_code=run.exit_code(nothing=not done.results))
