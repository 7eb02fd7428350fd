"""Rows out, in the forms that others read: SWE-bench data sets, SWT-Bench predictions and reports, task
folders of Harbor, one DuckDB file.

What was exported can be taken back: instances by `swt import`, predictions by `swt evaluate`.
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.adapters.store.files.provenance import project_commit
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import carry_away, query, selection
from tasks.domain.errors import NotFound, UsageError
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import file_name
from tasks.domain.places import Places
from tasks.report.harbor import write_tasks

KINDS = ("swe-bench", "predictions", "reports", "harbor", "warehouse")
LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
COLUMNS = (
    "repo",
    "instance_id",
    "base_commit",
    "patch",
    "test_patch",
    "problem_statement",
    "hints_text",
    "created_at",
    "version",
    *LISTS,
    "environment_setup_commit",
)
"""SWE-bench's, in its order of meaning."""
SPLIT = "test"
CARD = """---
configs:
- config_name: default
  data_files:
  - split: {split}
    path: {file}
tags:
- software-engineering
- test-generation
size_categories:
- {size}
---
# {name}

{instances} instances of {repos} repositories, pull requests of {first} to {last}. One row is an issue with the code
before its fix (`base_commit`), the fix (`patch`) and the tests that came with it (`test_patch`). Columns are
SWE-bench's; `FAIL_TO_PASS` and `PASS_TO_PASS` are JSON lists, as there, and null where the source had none.

Content key of the snapshot: `{content}`. Made by commit `{commit}` of Rolling SWT-Bench with

    {command}

and loaded with `datasets.load_dataset("parquet", data_files="{file}")` (`"json"` for JSON lines), or from this folder
with `datasets.load_dataset(".")`. From Parquet `created_at` is the text that stands there, from JSON lines `datasets`
makes it a time in UTC. The code under test and the issues are under the licences of their repositories.
"""


def export(
    places: Places,
    sql: Path,
    database: Path,
    kind: str,
    out: Path,
    *,
    snapshot: str = "",
    method: str = "",
    image: str = "",
) -> str:
    """Write one kind of file; a line on what was written. The database has to be up to date.

    `NotFound` for a snapshot that is not there.
    """
    if kind == "warehouse":
        return f"{out}: {carry_away(places.store, sql, out)} tables, and every question as a view"
    rows = Store(places.store).read(TaskInstance, snapshot=snapshot)
    if not rows:
        raise NotFound(f"there is no snapshot {snapshot!r}", hint="`swt snapshot list` names them")
    out.parent.mkdir(parents=True, exist_ok=True)
    if kind == "swe-bench":
        return _swe_bench(rows, out, snapshot)
    if kind == "predictions":
        return _predictions(database, out, snapshot, method)
    if kind == "harbor":
        return write_tasks(rows, places, database, out, image)
    return _reports(database, out, snapshot, [row.instance_id for row in rows])


def check_export(kind: str, snapshot: str) -> None:
    """`UsageError` where something is not asked for rightly."""
    if kind not in KINDS:
        raise UsageError(f"there is no export {kind!r}", hint="one of " + ", ".join(KINDS))
    if kind != "warehouse" and not snapshot:
        raise UsageError("an export is of one snapshot", hint="--snapshot NAME; `swt snapshot list` names them")


def swe_bench_row(row: TaskInstance) -> dict[str, Any]:
    """One instance as a row of a SWE-bench data set."""
    values = {name: getattr(row, name) for name in COLUMNS}
    for name in LISTS:
        values[name] = None if values[name] is None else json.dumps(list(values[name]))
    values["created_at"] = row.created_at.isoformat() if row.created_at else None
    return values


def _swe_bench(rows: Iterable[TaskInstance], out: Path, snapshot: str) -> str:
    instances = sorted(rows, key=lambda row: row.instance_id)
    found = [swe_bench_row(row) for row in instances]
    if out.suffix == ".parquet":
        schema = pa.schema([(name, pa.string()) for name in COLUMNS])
        pq.write_table(pa.Table.from_pylist(found, schema=schema), out)
    else:
        _write_lines(out, found)
    card = out.with_name("README.md")
    card.write_text(_card(instances, out.name, snapshot), "utf-8")
    return f"{out}: {len(found)} instances; {card}: its data card"


def _card(rows: list[TaskInstance], file: str, snapshot: str) -> str:
    days = sorted(f"{row.created_at:%Y-%m-%d}" for row in rows if row.created_at) or ["unknown"]
    return CARD.format(
        split=SPLIT,
        file=file,
        size="n<1K" if len(rows) < 1000 else "1K<n<10K",
        name=f"Rolling SWT-Bench {snapshot}",
        instances=len(rows),
        repos=len({row.repo for row in rows}),
        first=days[0],
        last=days[-1],
        content=Snapshot.content_of(rows),
        commit=project_commit() or "unknown",
        command=f"swt export swe-bench {shlex.quote(file)} --snapshot {shlex.quote(snapshot)}",
    )


def _predictions(database: Path, out: Path, snapshot: str, method: str) -> str:
    """As the public harness reads them, with `model`, `sample` and `date` besides; controls are left out."""
    wanted = {"snapshot": [snapshot], **({"model_name_or_path": [method]} if method else {})}
    order = ("model_name_or_path", "model", "instance_id", "sample")
    found = query(database, selection("exported_prediction", wanted, order)).drop_columns(["snapshot"]).to_pylist()
    rows = [row for row in found if method or row["model_name_or_path"] not in ("golden", "nop")]
    if not rows:
        raise NotFound(f"snapshot {snapshot} has no predictions" + (f" of {method}" if method else ""))
    _write_lines(out, ({name: value for name, value in row.items() if value is not None} for row in rows))
    return f"{out}: {len(rows)} predictions"


def _reports(database: Path, out: Path, snapshot: str, instances: list[str]) -> str:
    """A file `METHOD.SNAPSHOT.json` for each method in the folder `out`, as the public harness reports a run.

    Method and snapshot are in the file name as `file_name` makes them, and in the file as they are.
    """
    told: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for row in query(database, selection("exported_result", {"snapshot": [snapshot]})).to_pylist():
        told[row["name"]][row["instance_id"]] = row
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in told.items():
        path = out / f"{file_name(name)}.{file_name(snapshot)}.json"
        report = {"method": name, "snapshot": snapshot, **_report(rows, instances)}
        path.write_text(json.dumps(report, indent=4) + "\n", "utf-8")
    return f"{out}: {len(told)} reports"


def _report(rows: Mapping[str, Mapping[str, Any]], instances: Iterable[str]) -> dict[str, Any]:
    def ids(keep: Any) -> list[str]:
        return sorted(name for name, row in rows.items() if row["candidate_id"] is not None and keep(row))

    submitted = ids(lambda _: True)
    found = {
        "submitted": submitted,
        "completed": ids(lambda row: row["measured"] and not row["empty"]),
        "incomplete": sorted(set(instances) - set(submitted)),
        "resolved": ids(lambda row: row["solved"]),
        "unresolved": ids(lambda row: row["measured"] and not row["empty"] and not row["solved"]),
        "empty_patch": ids(lambda row: row["empty"]),
        "error": ids(lambda row: not row["measured"]),
    }
    covered = [row["delta_c"] for row in rows.values() if row["delta_c"] is not None]
    counts = {f"{name}_instances": len(found[name]) for name in found if name != "incomplete"}
    return {
        "total_instances": len(set(instances)),
        **counts,
        "mean_change_coverage": round(sum(covered) / len(covered), 4) if covered else None,
        **{f"{name}_ids": names for name, names in found.items()},
        "schema_version": 2,
    }


def _write_lines(out: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with out.open("w", encoding="utf-8", newline="\n") as sink:
        for row in rows:
            sink.write(json.dumps(row) + "\n")
