"""The rules of the house that import-linter cannot say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tasks.adapters.processes import SANDBOX, STARTS, markdown_table

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*ROOT.glob("flows/**/*.py"), *ROOT.glob("tasks/**/*.py")])
OUTSIDE_NAMES = ("coverage", "prefect", "docker", "duckdb", "pandas", "pyarrow", "unidiff", "typer", "rich")
STAGES = (
    "scrape",
    "filter",
    "environment",
    "validate",
    "localize",
    "generate",
    "repair",
    "evaluate",
    "changed_lines",
    "report",
)
INSIDES = (
    *(ROOT / "tasks" / "adapters" / name / "inside" for name in ("runner", "debugger")),
    ROOT / "tasks" / "adapters" / "runner" / "selecting",
)
"""Modules that import one another by their bare names, in the sandbox only."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file. All rules share one parse."""
    return ast.parse(path.read_text())


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules that a file imports, at any depth of the file."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return frozenset(names)


def in_domain() -> list[Path]:
    return [path for path in SOURCES if "domain" in path.parts]


@pytest.mark.slow
def test_only_flows_and_tasks_import_prefect() -> None:
    users = [path for path in SOURCES if any(name.split(".")[0] == "prefect" for name in imported(path))]
    outside = [path for path in users if path.parent.name not in ("flows", "engine") and path.name != "task.py"]
    assert list(map(relative, outside)) == []


def test_init_files_hold_a_docstring_only() -> None:
    inits = [path for path in SOURCES if path.name == "__init__.py"]
    more = [path for path in inits if len(parsed(path).body) != 1 or not ast.get_docstring(parsed(path))]
    assert list(map(relative, more)) == []


def test_the_domain_uses_the_standard_library_only() -> None:
    allowed = (*sys.stdlib_module_names, "tasks.domain")
    found = {(relative(path), name) for path in in_domain() for name in imported(path)}
    assert [one for one in sorted(found) if not f"{one[1]}.".startswith(tuple(f"{top}." for top in allowed))] == []


def test_nothing_in_the_domain_looks_like_a_test() -> None:
    nodes = [node for path in in_domain() for node in ast.walk(parsed(path))]
    names = [node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert [name for name in names if name.startswith(("test_", "Test"))] == []


def texts(source: str) -> list[str]:
    """String constants of a program that are no docstrings; of an f-string the whole, with `{}` for what is put in."""
    tree = ast.parse(source)
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (remarks | inner):
            found.append(node.value)
    return found


CLAUSES = "SELECT|FROM|WHERE|GROUP BY|ORDER BY|LEFT JOIN|JOIN|HAVING|QUALIFY|UNION|LIMIT|AND|OR|IN"
SQL = re.compile(
    rf"""^\s*(FROM|SELECT|WITH|SUMMARIZE|PIVOT|COPY|ATTACH)\s+\S        # a statement
       | \b({CLAUSES})\s+[\w{{(*].*\b({CLAUSES})\s+[\w{{('"*]          # two clauses
       | \b[a-z_]+\s+(=|<=|>=|<>|IS|IS\s+NOT|IN)\s+('|NULL|\(|\{{)       # a condition
       | ^\s*(ORDER|GROUP)\s+BY\s
       | ^\s*select\s.+\sfrom\s""",
    re.VERBOSE | re.DOTALL,
)
SHOWN = re.compile(r"`[^`]*`|swt query .*|duckdb -.*", re.DOTALL)
"""What people are told to type."""


def is_sql(text: str) -> bool:
    return bool(SQL.search(SHOWN.sub("", text)))


@pytest.mark.parametrize(
    "source",
    [
        "query(database, 'FROM funnel WHERE repo IS NULL')",
        "query(database, f'FROM {view}')",
        "rows = ask('SELECT 1 ' + more)",
        "ask(f\"snapshot = '{name}' AND size <= 2\")",
        "CONDITION = 'repo IS NULL'",
        "ask('select x from y')",
        "ask(start + ' ORDER BY step')",
    ],
)
def test_sql_is_known_when_it_is_seen(source: str) -> None:
    assert any(map(is_sql, texts(source)))


@pytest.mark.parametrize(
    "source",
    [
        "def f(): 'FROM verdict WHERE solved'",
        "hint = 'see `FROM task_instance`'",
        "help = 'Where mirrors come from, with {repo}; empty: as they are.'",
        "said = f'duckdb -readonly {file} \"FROM table2\"'",
        "said = f'{done} of {len(rows)} valid; select one from these'",
        "said = 'swt query \"FROM verdict WHERE solved\" --format csv'",
    ],
)
def test_what_people_read_is_no_sql(source: str) -> None:
    assert not any(map(is_sql, texts(source)))


OWN_SQL = (
    "tasks/adapters/store/",  # puts statements together from files of sql/
    "tasks/adapters/coordination/postgres.py",  # rows of processes that run, not results
    "tasks/adapters/coordination/sqlite.py",  # a SQLite file of its own, as the one below
    "tasks/adapters/retrieval/counts.py",
    "tasks/filter/rules.py",  # a rule is a condition over Arrow tables, before anything is a row of the store
    "tasks/filter/facts.py",  # applies the rules
)
"""Modules whose statements are not questions about finished rows."""
NO_SQL = (
    "tasks/adapters/agents/aider.py",  # programs for Python
    "tasks/environment/project_files/version_files.py",
    "tasks/report/charts.py",  # `p = 0.03` in a caption
    "tasks/report/figures.py",  # `FROM method_instance(…)` is what a reader can type
)
"""Modules with a text that only looks like SQL."""


@pytest.mark.slow
def test_questions_about_rows_are_files_of_sql() -> None:
    """`selection` asks for rows of a view or a macro; what needs more is a file in `sql/`."""
    paths = [path for path in SOURCES if not relative(path).startswith(OWN_SQL + NO_SQL)]
    assert [(relative(path), text) for path in paths for text in texts(path.read_text()) if is_sql(text)] == []


def test_the_product_imports_no_test_code() -> None:
    found = [(relative(path), name) for path in SOURCES for name in imported(path)]
    assert [one for one in found if one[1].split(".")[0] in ("tests", "benchmarks")] == []


def test_no_flow_shadows_a_package() -> None:
    assert not {path.stem for path in (ROOT / "flows").glob("*.py")} & set(OUTSIDE_NAMES)


def test_what_is_copied_into_the_sandbox_uses_nothing_of_ours() -> None:
    copied = [path for path in SOURCES if not set(INSIDES).isdisjoint(path.parents)]
    assert copied
    assert [
        relative(path) for path in copied if any(re.match(r"(tasks|flows)\b", name) for name in imported(path))
    ] == []


def test_a_stage_imports_no_other_stage() -> None:
    def others(path: Path) -> set[str]:
        stage = path.relative_to(ROOT / "tasks").parts[0]
        return {name.split(".")[1] for name in imported(path) if name.startswith("tasks.")} & set(STAGES) - {stage}

    paths = [path for stage in STAGES for path in (ROOT / "tasks" / stage).rglob("*.py")]
    assert [(relative(path), others(path)) for path in paths if others(path)] == []


@pytest.mark.slow
def test_importing_everything_does_nothing() -> None:
    """A fresh interpreter imports every module in an empty folder, and the folder stays empty."""
    paths = [path for path in SOURCES if set(INSIDES).isdisjoint(path.parents)]
    modules = [relative(path).removesuffix(".py").replace("/", ".") for path in paths]
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name.removesuffix('.__init__'))"
    subprocess.run([sys.executable, "-c", code, *modules], check=True, cwd=ROOT, capture_output=True)


def test_a_class_name_stands_for_one_thing() -> None:
    """Programs that are copied into a sandbox share no name space with the rest."""
    copied = ("inside", "collecting", "selecting")
    paths = [path for path in SOURCES if not set(copied) & set(path.parts)]
    bodies = (parsed(path).body for path in paths)
    names = Counter(node.name for body in bodies for node in body if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_file_is_longer_than_400_lines() -> None:
    assert [relative(path) for path in SOURCES if len(path.read_text().splitlines()) > 400] == []


def test_a_package_with_more_than_three_modules_has_a_readme_line_for_each() -> None:
    missing = []
    for package in sorted({path.parent for path in SOURCES}):
        modules = [path for path in package.glob("*.py") if path.name != "__init__.py"]
        if len(modules) > 3:
            text = (package / "README.md").read_text()
            missing += [relative(path) for path in modules if f"`{path.name}`" not in text]
    assert missing == []


GUESTS = (
    *INSIDES,
    *(ROOT / "tasks" / "adapters" / name for name in ("runner/serving", "runner/collecting", "llm/gateway/inside")),
)
"""Code that runs in the sandbox, and may start what it likes there."""
STARTING = {"run", "Popen", "call", "check_call", "check_output", "getoutput"}


def starts_processes(path: Path) -> bool:
    """Whether a file starts a process, on the host or as the job of a sandbox."""
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.Call):
            continue
        words = ast.unparse(node.func).split(".")
        if words[0] == "subprocess" and words[-1] in STARTING:
            return True
        if words[0] in ("os", "pty") and re.match(r"exec|spawn|posix_spawn|system|popen", words[-1]):
            return True
        if words[-1] == "Job" or words[-1].startswith("create_subprocess"):
            return True
    return False


def test_every_start_of_a_process_is_listed() -> None:
    harbor = ROOT / "tasks" / "report" / "harbor_task"  # runs in Harbor's containers
    product = [path for path in SOURCES if not any(path.is_relative_to(folder) for folder in (*GUESTS, harbor))]
    assert {relative(path) for path in product if starts_processes(path)} == {start.module for start in STARTS}


def test_third_party_code_is_started_in_a_sandbox_alone() -> None:
    assert {start.where for start in STARTS if start.third_party} == {SANDBOX}


def test_the_list_of_processes_is_in_the_documents() -> None:
    assert markdown_table() in (ROOT / "docs" / "operating.md").read_text()
