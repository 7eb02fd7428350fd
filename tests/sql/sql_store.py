"""A small store in memory: the domain's tables in DuckDB, filled by hand, with every file of sql/ loaded on top."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from tasks.adapters.store.files.schema import arrow_schema
from tasks.adapters.store.views.sql_files import (
    SqlFile,
    as_tables,
    created_by,
    define,
    named_queries,
    needed_by,
    views_of,
)
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

SQL = Path(__file__).parents[2] / "sql"
CASES = Path(__file__).parent / "cases"
START = datetime(2026, 11, 1, tzinfo=UTC)
STATES = ("before", "after")
Cells = Mapping[str, str]
"""Case id → outcome. A case id that ends in `.py` is a module that cannot be collected."""


@cache
def questions() -> tuple[SqlFile, ...]:
    """Every file of sql/, each after what it needs."""
    return named_queries(SQL)


class SqlStore:
    """All tables and views in memory. Rows are added by hand; columns that are not named get plain defaults."""

    def __init__(self, files: Iterable[SqlFile] | None = None) -> None:
        self._con = duckdb.connect()
        self.schemas = {table_name(row_type): arrow_schema(row_type) for row_type in TABLES}
        for name, schema in self.schemas.items():
            self._con.register("empty", schema.empty_table())
            self._con.execute(f"CREATE TABLE {name} AS FROM empty")
            self._con.unregister("empty")
        self._files = tuple(files or questions())
        self._defined: dict[str, SqlFile] = {}
        self._replaced: frozenset[str] = frozenset()

    def clear(self) -> None:
        for name in self.schemas:
            self.con.execute(f"DELETE FROM {name}")

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The connection, for statements that write: the tables computed from `sql/` are dropped."""
        self._forget()
        return self._con

    @contextmanager
    def replaced(self, *names: str) -> Iterator[None]:
        """These views as tables without rows, to be filled by hand."""
        self.define(*names)
        empty = {name: self._con.sql(f"FROM {name} LIMIT 0").to_arrow_table() for name in names}
        self._forget()
        for name in empty:
            self._con.register("empty", empty[name])
            self._con.execute(f"CREATE TABLE {name} AS FROM empty")
            self._con.unregister("empty")
        self._replaced = frozenset(names)
        yield
        self._forget()
        self._replaced = frozenset()
        for name in names:
            self._con.execute(f"DROP TABLE IF EXISTS {name}")

    def define(self, *names: str) -> None:
        """Compute these files of `sql/`, and all that they need, as tables.

        DuckDB plans everything below a view for each query; tables make the tests of `sql/` three times cheaper.
        """
        wanted = needed_by(self._files, names)
        for question in self._files:
            if question.name in wanted and question.name not in {*self._defined, *self._replaced}:
                define(self._con, as_tables(question))
                self._defined[question.name] = question

    def _forget(self) -> None:
        for question in reversed(self._defined.values()):
            for name in views_of(question):
                self._con.execute(f"DROP TABLE {name}")
        self._defined.clear()

    def ask(self, query: str, parameters: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyRelation:
        """Run a statement after defining every file of `sql/` that it names."""
        words = set(re.findall(r"\w+", query))
        self.define(*(question.name for question in self._files if words & set(created_by(question))))
        return self._con.sql(query, params=parameters)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.ask(query).fetchall()

    def one(self, query: str) -> tuple[Any, ...]:
        (row,) = self.rows(query)
        return row

    def value(self, query: str) -> Any:
        return self.one(query)[0]

    def add(self, table: str, **values: Any) -> None:
        row = {
            field.name: values.pop(field.name, None if field.nullable else _default(str(field.type)))
            for field in self.schemas[table]
        }
        assert not values, f"{table} has no column {sorted(values)}"
        places = ", ".join("?" for _ in row)
        self.con.execute(f"INSERT INTO {table} VALUES ({places})", list(row.values()))

    def instance(
        self,
        name: str,
        *,
        snapshot: str = "s",
        removed: Iterable[int] = (),
        added: Iterable[int] = (),
        golden_base: Iterable[str] = (),
        **more: Any,
    ) -> None:
        """An instance, its golden suite `<name>-golden`, and the changed lines of `src.py`. Its key is its name."""
        self.add("task_instance", snapshot=snapshot, instance_id=name, instance_key=name, **more)
        self.suite(name, "golden", base_files=golden_base)
        for side, lines in zip(STATES, (removed, added), strict=True):
            for line in lines:
                self.add("changed_line", instance_key=name, path="src.py", side=side, line=line)

    def suite(self, instance: str, name: str, *, base_files: Iterable[str] = (), edited: Iterable[str] = ()) -> str:
        """A suite `<instance>-<name>`; `edited` are qualnames in `test_a.py`."""
        suite_id = f"{instance}-{name}"
        base = sorted(base_files)
        kind = "golden" if name == "golden" else "candidate"
        self.con.execute("DELETE FROM suite WHERE suite_id = ?", [suite_id])
        self.add(
            "suite",
            suite_id=suite_id,
            instance_key=instance,
            instance_id=instance,
            kind=kind,
            files=["test_a.py"],
            base_files=base,
            base_files_key=files_key(instance, base),
        )
        for qualname in edited:
            self.add("edited_definition", suite_id=suite_id, instance_key=instance, path="test_a.py", qualname=qualname)
        return suite_id

    def candidate(
        self,
        instance: str,
        method: str,
        *,
        snapshot: str = "s",
        suite: str | None = None,
        reason: str = "",
        policy: str = "tests-only",
        **more: Any,
    ) -> str:
        """A candidate `<instance>-<method>[-sample]` and its submission; without a suite it is not well-formed."""
        candidate_id = f"{instance}-{method}" + (f"-{more['sample']}" if more.get("sample") else "")
        known = {"snapshot": snapshot, "instance_id": instance, "instance_key": instance}
        self.add("candidate", candidate_id=candidate_id, method=method, **known, **more)
        self.submission(candidate_id, instance, suite=suite, reason=reason, policy=policy)
        return candidate_id

    def submission(
        self, candidate_id: str, instance: str, *, suite: str | None, reason: str = "", policy: str = "tests-only"
    ) -> None:
        self.add(
            "submission",
            candidate_id=candidate_id,
            instance_key=instance,
            instance_id=instance,
            policy=policy,
            suite_id=suite,
            well_formed=suite is not None,
            reason=reason or ("" if suite else "empty"),
        )

    def run(
        self,
        instance: str,
        suite: str | None,
        state: str,
        cells: Cells,
        *,
        files: Iterable[str] = ("test_a.py",),
        minutes: int = 0,
        lines: Mapping[str | None, list[int]] | None = None,
        executable: list[int] | None = None,
        labels: Mapping[str, str] | None = None,
        uncounted: bool = False,
        **more: Any,
    ) -> str:
        """One finished run with its outcomes, and the lines of `src.py` by case; `suite` null is suite `none`.

        A line that stands twice was executed twice; `uncounted` runs know their lines but not how often.
        """
        tracer = more.pop("tracer", "none" if lines is None else "probe")
        key = f"run{self.value('SELECT count(*) FROM run')}"
        known = {"run_key": key, "instance_key": instance, "instance_id": instance, "code_state": state}
        kind = "none" if suite is None else "golden" if suite.endswith("-golden") else "candidate"
        facts = {"status": "completed", "env_id": "env", "sandbox": "process", "variant": "plain"} | more
        facts.setdefault("cases", len(cells))
        finished = START + timedelta(minutes=minutes)
        self.add(
            "run",
            **known,
            suite_kind=kind,
            suite_id=suite,
            files=sorted(files),
            files_key=files_key(instance, files),
            tracer=tracer,
            finished_at=finished,
            **facts,
        )
        functions: Counter[tuple[str, str]] = Counter()
        for position, (case_id, outcome) in enumerate(cells.items()):
            self._case(key, case_id, outcome, (labels or {}).get(case_id, case_id), position, functions)
        for context, hit in (lines or {}).items():
            times = Counter(hit)
            counts = None if uncounted else list(times.values())
            self.add("line_hit", run_key=key, path="src.py", case_id=context, lines=list(times), counts=counts)
        if lines is not None:
            loaded = bool(lines)
            self.add("watched_file", run_key=key, path="src.py", loaded=loaded, executable=executable or [])
        return key

    def request(self, run_key: str, instance: str, suite: str | None, state: str, **more: Any) -> None:
        """What `instance` asked for: a run that another instance may have made."""
        kind = "none" if suite is None else "golden" if suite.endswith("-golden") else "candidate"
        facts = {"files_key": files_key(instance, ("test_a.py",)), "variant": "plain"} | more
        self.add(
            "run_request",
            request_id=f"request{self.value('SELECT count(*) FROM run_request')}",
            run_key=run_key,
            instance_key=instance,
            instance_id=instance,
            suite_kind=kind,
            suite_id=suite,
            code_state=state,
            **facts,
        )

    def on_fix(self, fix_id: str, suite: str, cells: Cells, *, minutes: int = 9, **more: Any) -> str:
        """A run of a suite `<instance>-<name>` on a proposed fix or a decoy."""
        instance = suite.partition("-")[0]
        run = self.run(instance, suite, "before", cells, variant="proposed", minutes=minutes, **more)
        self.add("fix_run", fix_id=fix_id, instance_key=instance, instance_id=instance, suite_id=suite, run_key=run)
        return run

    def decoy(self, fix_id: str, golden: Cells | None = None, *, instance: str = "i", **more: Any) -> None:
        """A proposed decoy, and what the golden tests do on it. By itself a mutant near the fix, after all others."""
        known = {"fix_id": fix_id, "instance_key": instance, "instance_id": instance}
        number = self.value(f"SELECT count(*) FROM decoy WHERE instance_key = '{instance}'")
        run = {name: more.pop(name) for name in ("status", "env_id") if name in more}
        self.add("proposed_fix", **known, patch=f"diff of {fix_id}")
        self.add("decoy", **known, **({"number": number, "kind": "mutant", "near": True, "detail": fix_id} | more))
        if golden is not None:
            self.on_fix(fix_id, f"{instance}-golden", golden, **run)

    def _case(
        self,
        run_key: str,
        case_id: str,
        outcome: str,
        label: str,
        position: int,
        functions: Counter[tuple[str, str]],
    ) -> None:
        """A row; its place is that among the cases of its function so far."""
        collect = case_id.endswith(".py")
        path = case_id if "::" not in case_id else case_id.split("::")[0]
        qualname = "" if collect else case_id.split("::")[-1].split("[")[0]
        phase = "collect" if collect else "call"
        place = None if collect else functions[path, qualname]
        functions[path, qualname] += 1
        self.add(
            "case_outcome",
            run_key=run_key,
            case_id=case_id,
            path=path,
            qualname=qualname,
            label=label,
            position=position,
            phase=phase,
            outcome=outcome,
            place=place,
        )

    def judged(
        self,
        instance: str,
        method: str,
        cells: Mapping[str, str],
        *,
        base: Iterable[str] = (),
        edited: Iterable[str] = (),
        **more: Any,
    ) -> str:
        """A candidate with all its runs. `cells`: case → its outcomes `none_before none_after before after`, `-` for
        no row."""
        sample = f"-{more['sample']}" if more.get("sample") else ""
        suite = self.suite(instance, method + sample, base_files=base, edited=edited)
        columns = [
            dict(zip(cells, column, strict=True)) for column in zip(*map(str.split, cells.values()), strict=True)
        ]
        for (ref, state), column in zip(
            ((None, "before"), (None, "after"), (suite, "before"), (suite, "after")),
            columns or [{}] * 4,
            strict=True,
        ):
            found = {case: outcome for case, outcome in column.items() if outcome != "-"}
            if ref or base:
                self.run(instance, ref, state, found, files=base if ref is None else ("test_a.py",))
            else:
                assert not found, "suite none has nothing to run"
        return self.candidate(instance, method, suite=suite, **more)


def files_key(instance: str, files: Iterable[str]) -> str:
    return f"{instance}:{'+'.join(sorted(files))}"


def _default(kind: str) -> Any:
    if kind.startswith("list"):
        return []
    return {"string": "", "int64": 0, "double": 0.0, "bool": False}.get(kind, START)
