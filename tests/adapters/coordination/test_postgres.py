"""Leases in a PostgreSQL of the tests' own: who holds what when processes die, stand still, or lose their database."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.adapters.coordination.postgres import PostgresSession
from tasks.domain.errors import BadInput, LeaseError
from tests.fakes.services import PASSWORD, PostgreSql

pytestmark = pytest.mark.postgresql

ROOT = Path(__file__).parents[3]
SHORT_S = 1.5
OWNER = """
import sys
from tasks.adapters.coordination.postgres import PostgresSession
leases = PostgresSession(sys.argv[1], lease_s=float(sys.argv[2]))
with leases.lease("work", wait=True) as lease:
    print("held", flush=True)
    sys.stdin.readline()
    print(lease.confirmed(), flush=True)
"""


@pytest.fixture
def leases(database: PostgreSql) -> Iterator[PostgresSession]:
    made = PostgresSession(database.url, lease_s=SHORT_S)
    yield made
    made.close()


@contextmanager
def owner(database: PostgreSql) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds `work`."""
    argv = [sys.executable, "-c", OWNER, database.url, str(SHORT_S)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, cwd=ROOT, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lease_is_held_for_longer_than_its_time(database: PostgreSql, leases: PostgresSession) -> None:
    """Its owner renews it; and gives it back at the end."""
    with owner(database) as other:
        time.sleep(1.5 * SHORT_S)
        with leases.lease("work", wait=False) as mine:
            assert mine is None
        assert other.communicate("\n")[0] == "True\n"
    with leases.lease("work", wait=False) as mine:
        assert mine
        assert mine.confirmed()


def test_what_a_killed_owner_held_is_free_when_its_time_is_over(database: PostgreSql, leases: PostgresSession) -> None:
    with owner(database) as other:
        other.kill()
        other.wait()
        began = time.monotonic()
        with leases.lease("work", wait=True, patience_s=600):
            assert time.monotonic() - began < SHORT_S + 2


def test_a_process_that_hangs_loses_it_and_notices(database: PostgreSql, leases: PostgresSession) -> None:
    with owner(database) as other:
        other.send_signal(signal.SIGSTOP)
        with leases.lease("work", wait=True) as mine:
            assert mine
            other.send_signal(signal.SIGCONT)
            assert other.communicate("\n")[0] == "False\n"
            assert mine.confirmed(), "the other one gave back what was not its own any more"


def test_a_process_that_may_be_paying_keeps_it_while_connected(database: PostgreSql, leases: PostgresSession) -> None:
    with owner(database) as other:
        other.send_signal(signal.SIGSTOP)
        time.sleep(1.5 * SHORT_S)
        with leases.lease("work", wait=False, patience_s=600) as mine:
            assert mine is None
        other.kill()
        with leases.lease("work", wait=True, patience_s=600) as mine:
            assert mine


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restart", "crash"])
def test_a_lease_outlasts_the_database(database: PostgreSql, leases: PostgresSession, how: signal.Signals) -> None:
    with leases.lease("lasting", wait=True) as mine:
        assert mine
        database.stop(how)
        threading.Timer(SHORT_S, database.start).start()
        assert mine.confirmed()
        other = PostgresSession(database.url, lease_s=SHORT_S)
        time.sleep(SHORT_S)
        with other.lease("lasting", wait=False) as theirs:
            assert theirs is None, "it is renewed again"
        other.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda url: url.replace("5432", "x"),
        lambda url: url.replace(PASSWORD, f"{PASSWORD}-not"),
        lambda url: f"postgresql://swt:{PASSWORD}@127.0.0.1:x/swt",
        lambda url: f"nonsense {PASSWORD}",
    ],
    ids=["nobody", "refused", "port", "nonsense"],
)
def test_no_error_shows_the_password(
    database: PostgreSql, spoil: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.adapters.coordination.postgres.HELLO_S", 0.0)
    url = spoil(database.url)
    if url == database.url:
        url = url.replace(str(database.port), "1")
    with pytest.raises((LeaseError, BadInput)) as told, PostgresSession(url).lease("x", wait=True):
        pass
    assert PASSWORD not in f"{told.value} {told.value.hint} {told.value.__cause__} {told.value!r}"
