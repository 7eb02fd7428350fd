"""Leases in PostgreSQL: what one machine works on, so that no other does the same at the same time.

    swt_lease     name → who holds it, and until when by the database's clock
    swt_budget    payer and process → what it has spent and set aside (llm/shared_ledger.py)
    swt_pace      limit and call → when it began, and how many tokens it came to (llm/shared_pace.py)

No machine's own clock is asked. A process renews all that it holds three times in the time of a lease, over a
connection of its own, on which it also keeps an advisory lock: as long as PostgreSQL sees that connection the process
is there, however long it is stopped. So a lease ends in one of two ways:

- its time is over and the connection is gone: the process or its machine died;
- its time is over for `patience_s` longer, though the connection stands: the process hangs. A run is made again at
  once, for a second run costs some seconds; a model call is waited for, for its owner may be paying for the reply.

The owner may wake up after that, and what it does then has to be safe: it asks `Lease.confirmed` before it stores what
cannot be stored twice. Advisory locks alone would do without a table and a clock, but a restart of PostgreSQL gives all
of them away while their owners are alive; rows outlast it, and owners come back for them within their time.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasks.domain.errors import BadInput, LeaseError

if TYPE_CHECKING:
    import psycopg

LEASE_S = 60.0
"""For which a lease is given at a time: so long a machine that died holds the others up."""
RENEWALS = 3
"""In the time of one lease."""
PATIENCE_S = 120.0
"""A database that does not answer is asked again for so long: it may be restarted."""
HELLO_S = 10.0
"""The same for one that never answered: its address may be wrong."""
IDLE_S = 15
"""A process that is stopped in the middle of a transaction loses it, and with it the turn that others wait for."""
FIRST_S, LAST_S = 0.05, 1.0
"""Between two attempts at a lease that somebody holds: the break doubles."""
FORGOTTEN = "1 day"
"""Rows of processes that died are deleted when they have been over for so long."""
CLASS = 0x737774
"""First half of our advisory locks: `swt`. The second is 0 for making tables, else it is a process's own."""

Ask = Callable[..., list[tuple[Any, ...]]]
"""Statement and its values by name → its rows."""

_TABLES = """
    CREATE TABLE IF NOT EXISTS swt_lease (
        name text PRIMARY KEY, token bigint NOT NULL, session integer NOT NULL, until timestamptz NOT NULL
    );
    CREATE TABLE IF NOT EXISTS swt_budget (
        payer text, owner text, session integer NOT NULL, until timestamptz NOT NULL, counts jsonb NOT NULL,
        PRIMARY KEY (payer, owner)
    );
    CREATE TABLE IF NOT EXISTS swt_pace (
        place bigserial PRIMARY KEY, name text NOT NULL, call text NOT NULL, start float8 NOT NULL,
        tokens bigint NOT NULL, UNIQUE (name, call)
    )
"""
_SEEN = """
    EXISTS (
        SELECT FROM pg_locks AS seen WHERE seen.locktype = 'advisory' AND seen.classid = %(class)s::oid
        AND seen.objid = {session}::bigint::oid AND seen.objsubid = 2
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
        - CASE WHEN {_SEEN.format(session="held.session")} THEN %(patience_s)s ELSE 0 END * interval '1 second'
    RETURNING token
"""
"""What was taken by an attempt whose answer was lost is taken again: it has the same token."""
_RENEW = """
    UPDATE swt_lease SET until = clock_timestamp() + %(lease_s)s * interval '1 second'
    WHERE token = ANY(%(tokens)s) RETURNING token
"""
_DROP = "DELETE FROM swt_lease WHERE token = %(token)s RETURNING token"
_BUDGETS = """
    UPDATE swt_budget SET until = clock_timestamp() + %(lease_s)s * interval '1 second' WHERE session = %(session)s
"""
_TIDY = f"DELETE FROM swt_lease WHERE until < clock_timestamp() - interval '{FORGOTTEN}' RETURNING token"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
ALIVE = (
    f"(until > clock_timestamp() - %(lease_s)s * interval '1 second' OR {_SEEN.format(session='swt_budget.session')})"
)
"""Whether the process of a row of `swt_budget` is alive, as SQL."""
KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""Of the connections, in seconds: who cannot be reached any more is known after half a minute, on both sides."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A name that nobody else holds, unless this process was away for longer than its time."""

    leases: Leases
    token: int

    def confirmed(self) -> bool:
        """Whether nobody else took it since; it then is ours for its whole time again."""
        return bool(self.leases.ask(_RENEW, lease_s=self.leases.lease_s, tokens=[self.token]))


class _Away(LeaseError):
    """The database does not answer now."""


class Leases:
    """Those of one process in one database. Thread-safe; connects when the first is asked for."""

    def __init__(self, address: str, *, lease_s: float = LEASE_S) -> None:
        self.lease_s = lease_s
        self.session = secrets.randbelow(2**31 - 1) + 1
        """What this process's advisory lock is called."""
        self._given = _parsed(address)
        self._off_s = 0.0
        """The database's clock less this machine's."""
        self._tokens: set[int] = set()
        self._using = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._known = False
        """Whether the database ever answered."""
        self._beating: threading.Thread | None = None
        self._over = threading.Event()

    @contextmanager
    def lease(self, name: str, *, wait: bool, patience_s: float = 0.0) -> Iterator[Lease | None]:
        """Hold a name; null where somebody else has it, which cannot be with `wait`.

        `LeaseError` where the database does not answer.
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
            with suppress(LeaseError):  # it ends by itself
                self.ask(_DROP, token=token)

    def ask(self, query: str, **given: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement that may be made twice; asked again while the database is away, then `LeaseError`."""
        began = time.monotonic()
        while True:
            try:
                with self._using, self._failing():
                    return self._connected().execute(query, self._values(given)).fetchall()
            except _Away:
                if time.monotonic() - began > (PATIENCE_S if self._known else HELLO_S):
                    raise
            time.sleep(LAST_S)

    @contextmanager
    def transaction(self) -> Iterator[Ask]:
        """A way to ask several statements, all or nothing, on the connection that other threads wait for meanwhile.

        `LeaseError` where the connection is lost before all is done; then nothing was.
        """
        self.ask(_CLOCK)  # waits for a database that is away
        with self._using, self._failing():
            connection = self._connected()
            with connection.transaction():
                connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_S}s'")
                yield lambda query, **given: connection.execute(query, self._values(given)).fetchall()

    def close(self) -> None:
        """Give the connections back; what is still held ends in its time."""
        self._over.set()
        if self._beating:
            self._beating.join()
        with self._using:
            self._disconnect()

    def time_ns(self) -> int:
        """Nanoseconds since the epoch by the database's clock."""
        if not self._known:
            self.ask(_CLOCK)
        return time.time_ns() + round(self._off_s * 1e9)

    def _take(self, name: str, token: int, *, wait: bool, patience_s: float) -> bool:
        pause = FIRST_S
        while not self.ask(_TAKE, name=name, token=token, patience_s=patience_s):
            if not wait:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LAST_S)
        return True

    def _values(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"class": CLASS, "session": self.session, "lease_s": self.lease_s, **given}

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """What the database cannot do is `LeaseError`, without what its address holds."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            self._disconnect()
            away = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
            raise self._said(error, _Away if away else LeaseError) from None

    def _said(self, error: Exception, kind: type[LeaseError]) -> LeaseError:
        text = str(error).strip().partition("\n")[0]
        password = str(self._given.get("password") or "")
        text = text.replace(password, "…") if password else text
        return kind(f"PostgreSQL does not do what leases need: {text}", hint="see SWT_LEASES")

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            connection = self._connect()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [CLASS])  # one maker of tables at a time
                connection.execute(_TABLES)
                connection.execute(_TIDY)
            self._connection = connection
            self._read_clock(connection)
            self._known = True
            if self._beating is None:
                beat = self._begin_beating()
                self._beating = threading.Thread(target=self._beat, args=[beat], name="leases", daemon=True)
                self._beating.start()
        return self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        # From a database in SQL_ASCII, text would come as bytes.
        given = {"connect_timeout": 5, **KEEPALIVE, **self._given, "client_encoding": "utf8"}
        own = " ".join(f"-c tcp_{name}={value}" for name, value in KEEPALIVE.items())
        given["options"] = f"{given.get('options') or ''} {own}".strip()
        return psycopg.connect(**given, autocommit=True)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin_beating(self) -> psycopg.Connection[Any]:
        """The connection that shows that this process is there."""
        connection = self._connect()
        connection.execute("SELECT pg_advisory_lock(%s, %s::integer)", [CLASS, self.session])
        return connection

    def _beat(self, connection: psycopg.Connection[Any] | None) -> None:
        """Renew what is held, until `close`; come back where the database was away."""
        import psycopg

        while not self._over.wait(self.lease_s / RENEWALS if connection else LAST_S):
            try:
                connection = connection or self._begin_beating()
                connection.execute(_RENEW, self._values({"tokens": list(self._tokens)}))
                connection.execute(_BUDGETS, self._values({}))
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
        self._off_s = row[0] - (before + time.time()) / 2


def _parsed(address: str) -> dict[str, Any]:
    """Of a `postgresql://` address; `BadInput`, which shows nothing of it, where it is none."""
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


_USED: dict[int, Leases] = {}
"""By process: a fork shares no connection with its parent."""


def use(address: str, *, lease_s: float = LEASE_S) -> None:
    """Let this process claim what it works on in PostgreSQL. An empty address changes nothing. To be called at the
    edge, where settings are read: the address has a password, which must not travel with units of work."""
    if address and os.getpid() not in _USED:
        _USED[os.getpid()] = Leases(address, lease_s=lease_s)


def used() -> Leases | None:
    """Those of this process; null where its machine works alone."""
    return _USED.get(os.getpid())


def drop() -> None:
    """Work alone again."""
    if leases := _USED.pop(os.getpid(), None):
        leases.close()


def shared_time_ns() -> int:
    """Nanoseconds since the epoch by the clock that all machines at work share: that of the leases, else our own."""
    leases = used()
    return leases.time_ns() if leases else time.time_ns()
