"""The backend for several machines: leases and rows in PostgreSQL.

    swt_lease    name → the process that holds it, and its end by the database's clock
    swt_row      table and key → a small row, in the order of first writing

Times come from the database's clock only. A process renews all its leases three times per lease length, over a
connection of its own. It also holds an advisory lock on this connection, which shows that the process is alive even if
it is stopped. A lease therefore ends in one of two ways:

- It expired and the connection is closed: the process or its machine died.
- It expired more than `patience_s` ago while the connection is open: the process hangs. Runs have no patience, since a
  second run costs some seconds. Model calls have one, since the process may be paying for the reply.

The process may wake up after that. It therefore calls `Lease.confirmed` before it stores what must not be stored twice.
Advisory locks alone would need no table and no clock, but a restart of PostgreSQL releases all of them while their
processes are alive. Rows survive a restart, and the processes renew them before they expire.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasks.adapters.coordination.interface import Claim, Row, Transaction, parse_rows
from tasks.domain.errors import BadInput, LeaseError

if TYPE_CHECKING:
    import psycopg

LEASE_S = 60.0
"""Length of a lease in seconds: how long the work of a dead machine stays blocked."""
RENEWALS = 3
"""Renewals per lease length."""
PATIENCE_S = 120.0
"""How long to retry a database that stopped answering: it may be restarting."""
HELLO_S = 10.0
"""How long to retry a database that never answered: its address may be wrong."""
IDLE_S = 15
"""A process that stops inside a transaction loses it after this many seconds, so that others can continue."""
FIRST_S, LAST_S = 0.05, 1.0
"""Shortest and longest wait between two attempts at a lease of another process; the wait doubles."""
FORGOTTEN = "1 day"
"""Time after the end of a dead process's lease until it is deleted."""
CLASS = 0x737774
"""First half of our advisory locks: `swt`. The second half is 0 for creating tables, else the id of a process."""

Ask = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement with named values and returns its rows."""

_TABLES = """
    CREATE TABLE IF NOT EXISTS swt_lease (
        name text PRIMARY KEY, token bigint NOT NULL, session integer NOT NULL, until timestamptz NOT NULL
    );
    CREATE TABLE IF NOT EXISTS swt_row (
        place bigserial PRIMARY KEY, kind text NOT NULL, key text NOT NULL, value text NOT NULL, UNIQUE (kind, key)
    )
"""
_CONNECTED = """
    EXISTS (
        SELECT FROM pg_locks AS seen WHERE seen.locktype = 'advisory' AND seen.classid = %(class)s::oid
        AND seen.objid = held.session::bigint::oid AND seen.objsubid = 2
        AND seen.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""
_TAKE = f"""
    INSERT INTO swt_lease AS held (name, token, session, until)
    VALUES (%(name)s, %(token)s, %(session)s, clock_timestamp() + %(lease_s)s * interval '1 second')
    ON CONFLICT (name) DO UPDATE
    SET token = excluded.token, session = excluded.session,
        until = clock_timestamp() + %(lease_s)s * interval '1 second'
    WHERE held.token = excluded.token OR held.until < clock_timestamp()
        - CASE WHEN {_CONNECTED} THEN %(patience_s)s ELSE 0 END * interval '1 second'
    RETURNING token
"""
"""A retry after a lost response uses the same token."""
_RENEW = """
    UPDATE swt_lease SET until = clock_timestamp() + %(lease_s)s * interval '1 second'
    WHERE token = ANY(%(tokens)s) RETURNING token
"""
_DROP = "DELETE FROM swt_lease WHERE token = %(token)s RETURNING token"
_TIDY = f"""
    DELETE FROM swt_lease AS held WHERE until < clock_timestamp() - interval '{FORGOTTEN}' AND NOT {_CONNECTED}
"""
_CLAIMED = f"""
    SELECT name FROM swt_lease AS held WHERE name = ANY(%(names)s)
    AND (until > clock_timestamp() - %(lease_s)s * interval '1 second' OR {_CONNECTED})
"""
"""Within two lease lengths of the last renewal: by then every lease of a dead process is over."""
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_BEGIN = f"{_CLOCK} FROM (SELECT pg_advisory_xact_lock(%(class)s + 1, hashtext(%(kind)s))) AS taken"
_ROWS = "SELECT key, value FROM swt_row WHERE kind = %(kind)s ORDER BY place"
_GET = "SELECT value FROM swt_row WHERE kind = %(kind)s AND key = %(key)s"
_PUT = """
    INSERT INTO swt_row (kind, key, value) VALUES (%(kind)s, %(key)s, %(value)s)
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value RETURNING 1
"""
_DELETE = "DELETE FROM swt_row WHERE kind = %(kind)s AND key = ANY(%(keys)s) RETURNING 1"
KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""Of the connections, in seconds: both sides detect a lost connection after half a minute."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A name that no other process holds, unless this process hung for longer than the lease."""

    session: PostgresSession
    token: int

    def confirmed(self) -> bool:
        """Renew the lease. False if another process took it."""
        return bool(self.session.ask(_RENEW, tokens=[self.token]))


class _Away(LeaseError):
    """The database does not respond now."""


class PostgresSession:
    """Leases and transactions of one process in one database. Thread-safe; connects at first use."""

    def __init__(self, address: str, *, lease_s: float = LEASE_S) -> None:
        self.lease_s = lease_s
        self.session_id = secrets.randbelow(2**31 - 1) + 1
        """Second half of the advisory lock of this process."""
        self._parameters = _parsed(address)
        self._clock_offset_s = 0.0
        """The database's clock minus this machine's."""
        self._tokens: set[int] = set()
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._answered = False
        """Whether the database ever answered."""
        self._heartbeat: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def lease(self, name: str, *, wait: bool, patience_s: float = 0.0) -> Iterator[Lease | None]:
        """Hold a name. Yields None if another process has it; with `wait`, never None.

        Raises `LeaseError` if the database does not respond.
        """
        token = secrets.randbits(62)
        if not self._take(name, token, wait=wait, patience_s=patience_s):
            yield None
            return
        self._tokens.add(token)
        try:
            yield Lease(self, token)
        finally:
            self._tokens.discard(token)
            with suppress(LeaseError):  # the lease expires anyway
                self.ask(_DROP, token=token)

    def ask(self, query: str, **given: Any) -> list[tuple[Any, ...]]:
        """Run a repeatable statement and return its rows. Retries while the database is away,
        then raises `LeaseError`."""
        began = time.monotonic()
        while True:
            try:
                with self._lock, self._translate_errors():
                    return self._connected().execute(query, self._values(given)).fetchall()
            except _Away:
                if time.monotonic() - began > (PATIENCE_S if self._answered else HELLO_S):
                    raise
            time.sleep(LAST_S)

    @contextmanager
    def transaction(self) -> Iterator[Ask]:
        """Run several statements in one transaction, while other threads wait for the connection.

        Raises `LeaseError` if the connection is lost before the end; then nothing was changed.
        """
        self.ask(_CLOCK)  # waits for a database that is away
        with self._lock, self._translate_errors():
            connection = self._connected()
            with connection.transaction():
                connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_S}s'")
                yield lambda query, **given: connection.execute(query, self._values(given)).fetchall()

    def close(self) -> None:
        """Close the connections. Leases that are still held expire."""
        self._closed.set()
        if self._heartbeat:
            self._heartbeat.join()
        with self._lock:
            self._disconnect()

    def time_ns(self) -> int:
        """Return nanoseconds since the epoch by the database's clock."""
        if not self._answered:
            self.ask(_CLOCK)
        return time.time_ns() + round(self._clock_offset_s * 1e9)

    def _take(self, name: str, token: int, *, wait: bool, patience_s: float) -> bool:
        pause = FIRST_S
        while not self.ask(_TAKE, name=name, token=token, patience_s=patience_s):
            if not wait:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LAST_S)
        return True

    def _values(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"class": CLASS, "session": self.session_id, "lease_s": self.lease_s, **given}

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of the database into `LeaseError`, without the password in its address."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            self._disconnect()
            away = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
            raise self._error(error, _Away if away else LeaseError) from None

    def _error(self, error: Exception, kind: type[LeaseError]) -> LeaseError:
        text = str(error).strip().partition("\n")[0]
        password = str(self._parameters.get("password") or "")
        text = text.replace(password, "…") if password else text
        return kind(f"PostgreSQL does not do what leases need: {text}", hint="see SWT_LEASES")

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            connection = self._connect()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [CLASS])  # creates tables one at a time
                connection.execute(_TABLES)
                connection.execute(_TIDY, self._values({}))
            self._connection = connection
            self._read_clock(connection)
            self._answered = True
            if self._heartbeat is None:
                heartbeat = self._open_heartbeat()
                self._heartbeat = threading.Thread(target=self._renew_all, args=[heartbeat], name="leases", daemon=True)
                self._heartbeat.start()
        return self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        # A database in SQL_ASCII would return text as bytes.
        given = {"connect_timeout": 5, **KEEPALIVE, **self._parameters, "client_encoding": "utf8"}
        own = " ".join(f"-c tcp_{name}={value}" for name, value in KEEPALIVE.items())
        given["options"] = f"{given.get('options') or ''} {own}".strip()
        return psycopg.connect(**given, autocommit=True)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open_heartbeat(self) -> psycopg.Connection[Any]:
        """Open the connection that shows that this process is alive."""
        connection = self._connect()
        connection.execute("SELECT pg_advisory_lock(%s, %s::integer)", [CLASS, self.session_id])
        return connection

    def _renew_all(self, connection: psycopg.Connection[Any] | None) -> None:
        """Renew all leases until `close`; reconnect after the database was away."""
        import psycopg

        while not self._closed.wait(self.lease_s / RENEWALS if connection else LAST_S):
            try:
                connection = connection or self._open_heartbeat()
                connection.execute(_RENEW, self._values({"tokens": list(self._tokens)}))
                self._read_clock(connection)
            except psycopg.Error:
                if connection:
                    connection.close()
                connection = None
        if connection:
            connection.close()

    def _read_clock(self, connection: psycopg.Connection[Any]) -> None:
        before = time.time()
        row = connection.execute(_CLOCK).fetchone()
        assert row
        self._clock_offset_s = row[0] - (before + time.time()) / 2


def _parsed(address: str) -> dict[str, Any]:
    """Parse a `postgresql://` address. Raises `BadInput`, without the address in the message, if it is invalid."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise BadInput("SWT_LEASES needs psycopg", hint="pip install 'rolling-swt-bench[cluster]'") from None

    try:
        return dict(conninfo_to_dict(address))
    except psycopg.Error:
        hint = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
        raise BadInput("SWT_LEASES is not an address of PostgreSQL", hint=hint) from None


@dataclass(frozen=True, slots=True)
class SharedTransaction:
    coordinator: SharedCoordinator
    ask: Ask
    kind: str
    now: float

    def rows(self) -> dict[str, Row]:
        return parse_rows(self.ask(_ROWS, kind=self.kind))

    def get(self, key: str) -> Row | None:
        return next((json.loads(value) for (value,) in self.ask(_GET, kind=self.kind, key=key)), None)

    def put(self, key: str, row: Row) -> None:
        self.ask(_PUT, kind=self.kind, key=key, value=json.dumps(row))

    def delete(self, keys: Iterable[str]) -> None:
        self.ask(_DELETE, kind=self.kind, keys=list(keys))

    def claimed(self, names: Iterable[str]) -> Collection[str]:
        leases = {self.coordinator.lease_name(name): name for name in names}
        return {leases[lease] for (lease,) in self.ask(_CLAIMED, names=list(leases))}


@dataclass(frozen=True, slots=True)
class SharedCoordinator:
    """Coordinator of several machines. Raises `LeaseError` if the database does not respond."""

    session: PostgresSession
    scope: str
    """Name of the shared work, the same on all machines."""

    def claim(self, name: str, *, wait: bool, patience_s: float = 0.0) -> AbstractContextManager[Claim | None]:
        return self.session.lease(self.lease_name(name), wait=wait, patience_s=patience_s)

    @contextmanager
    def transaction(self, table: str) -> Iterator[Transaction]:
        kind = f"{self.scope}/{table}"
        with self.session.transaction() as ask:
            ((now,),) = ask(_BEGIN, kind=kind)
            yield SharedTransaction(self, ask, kind, now)

    def lease_name(self, name: str) -> str:
        return f"{self.scope}/{name}"


_SESSIONS: dict[int, PostgresSession] = {}
"""Sessions by process id: a fork must not share its parent's connection."""


def open_session(address: str, *, lease_s: float = LEASE_S) -> None:
    """Let this process coordinate with other machines. An empty address changes nothing.

    Call this at the edge, where settings are read: the address has a password, which must not be passed to tasks.
    """
    if address and os.getpid() not in _SESSIONS:
        _SESSIONS[os.getpid()] = PostgresSession(address, lease_s=lease_s)


def session() -> PostgresSession | None:
    """Return the session of this process. None if its machine works alone."""
    return _SESSIONS.get(os.getpid())


def close_session() -> None:
    """Let this process work alone again."""
    if opened := _SESSIONS.pop(os.getpid(), None):
        opened.close()


@contextmanager
def hold_lease(name: str) -> Iterator[None]:
    """Wait for a lease and hold it. Does nothing on a machine that works alone."""
    if opened := session():
        with opened.lease(name, wait=True):
            yield
    else:
        yield


def shared_time_ns() -> int:
    """Return nanoseconds since the epoch by the clock of all machines: PostgreSQL's, else this machine's."""
    opened = session()
    return opened.time_ns() if opened else time.time_ns()
