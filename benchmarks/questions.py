"""What every question costs at millions of outcomes, in seconds and memory; a plain DuckDB and the old views beside it.

python -m benchmarks.questions --outcomes 10_000_000 --work FOLDER [--old leaderboard,overlap]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb

from benchmarks.measured import machine
from benchmarks.outcomes import write_store
from flows.interface.settings import PROJECT
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import replace_database
from tasks.adapters.store.views.headers import headers
from tasks.adapters.store.views.sql_files import named_queries

OLD = ("leaderboard", "overlap", "grader_disagreement", "contamination")
PEAK = """
(peak,) = (int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM:"))
"""
"""Of this program: `ru_maxrss` is handed on from the process that started it."""
ASK = (
    """
import sys, time
from pathlib import Path
import duckdb, pyarrow
from tasks.adapters.store.files import duckdb_connection as duck
if "plain" in sys.argv[3:]:
    duck.SETTINGS["memory_limit"] = "8GB"  # ours is too small for them; without any one took all of the machine
from tasks.adapters.store.views.database import query
started = time.process_time()
rows = query(Path(sys.argv[1]), "FROM " + sys.argv[2]).num_rows
"""
    + PEAK
    + """
print(f'{{"rows": {rows}, "cpu_s": {time.process_time() - started:.2f}, "mb": {peak:.0f}}}')
"""
)
FILE = (
    """
import sys, time
import duckdb, pyarrow
started = time.process_time()
with duckdb.connect(sys.argv[1], read_only=True) as file:
    file.execute("SET enable_progress_bar = false")  # it goes to the standard output, which is read here
    rows = len(file.execute("FROM " + sys.argv[2]).fetchall())
"""
    + PEAK
    + """
print(f'{{"rows": {rows}, "cpu_s": {time.process_time() - started:.2f}, "mb": {peak:.0f}}}')
"""
)
"""A plain DuckDB on the file, as somebody else opens it: none of our settings."""
JUDGE = (
    """
import sys, time
from pathlib import Path
from tasks.adapters.store.views.database import build_views
started = time.process_time()
build_views(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
"""
    + PEAK
    + """
print(f'{{"rows": 0, "cpu_s": {time.process_time() - started:.2f}, "mb": {peak:.0f}}}')
"""
)


def measured(code: str, *arguments: str) -> dict[str, float]:
    """CPU seconds after the imports, and peak memory of the whole process; -1 where it failed, and why on stderr."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=PROJECT)
    if done.returncode == 0:
        return dict(json.loads(done.stdout))
    print(f"ended with {done.returncode}:", *done.stderr.splitlines()[-1:], file=sys.stderr)
    return {"rows": -1, "cpu_s": -1, "mb": -1}


def line(name: str, *ways: dict[str, float] | None) -> str:
    cells = [f"{way['cpu_s']:.2f} | {way['mb']:.0f}" if way else " | " for way in ways]
    return f"| `{name}` | {next(way['rows'] for way in ways if way)} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--old", default=",".join(OLD), help="Questions asked of the old views as well.")
    asked = parser.parse_args()
    root, database, plain = asked.work / "store", asked.work / "swt.duckdb", asked.work / "plain.duckdb"
    if not root.exists():
        write_store(root, asked.outcomes)
    sql, other = PROJECT / "sql", asked.work / "sql"
    print(machine(), f"DuckDB {duckdb.__version__}; {_count(root)} outcomes", sep="\n", flush=True)
    print("| question | rows | CPU s | peak MB | plain CPU s | plain MB | old CPU s | old MB |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: |")
    print(line("judge everything", measured(JUDGE, str(root), str(database), str(sql)), None, None), flush=True)
    replace_database(plain, Store(str(root)).url, tuple(replace(one, kept=False) for one in named_queries(sql)))
    for one in headers(sql, ("tables",)):
        old = measured(ASK, str(plain), one.name, "plain") if one.name in asked.old.split(",") else None
        file = measured(FILE, str(database), one.name)
        print(line(one.name, measured(ASK, str(database), one.name), file, old), flush=True)
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(sql, other)
    grader = other / "graders" / "paper.sql"
    grader.write_text(grader.read_text().replace("('skipped', 'none')", "('skipped', 'fail')"))
    again = measured(JUDGE, str(root), str(asked.work / "other.duckdb"), str(other))
    print(line("a changed grader", again, None, None), flush=True)


def _count(root: Path) -> int:
    (row,) = duckdb.execute("SELECT count(*) FROM read_parquet(?)", [f"{root}/case_outcome/*/*.parquet"]).fetchall()
    return int(row[0])


if __name__ == "__main__":
    main()
