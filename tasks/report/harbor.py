"""Instances as task folders of Harbor: write tests that reproduce an issue, and be judged in a container of their own.

A task is whole: the files of the base commit without any later one, the locked requirements, the fix and our runner. It
is judged by the grader `swt_bench`, whose rules need no look into the tests; what outcomes mean is copied from `sql/`.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, StrictUndefined

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.patch.runnable import DEFINES_TESTS
from tasks.adapters.patch.split import TEST_FOLDERS, TEST_MODULE
from tasks.adapters.runner.job import INSIDE
from tasks.adapters.runner.report import GRAVITY
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query, selection
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.errors import SwtError
from tasks.domain.instance import TaskInstance
from tasks.domain.names import file_name
from tasks.domain.places import Places

FOLDER = Path(__file__).parent / "harbor_task"
JUDGE = "judge.py"
NEVER = r"conftest\.py|.*\.(ini|cfg|toml|pth|so|pyc)|setup\.py|(site|user)customize\.py"
"""Files that decide how tests run: not the candidate's to change, wherever they are."""
HOST = "host"
"""The step of an environment that is the interpreter which runs this: the demo's."""
KNOWN_STEPS = ("editable", "path", "compile", HOST)
ROOT = "/opt/environment"
IMAGE = "python:{python}-slim"
AGENT_S = 3600.0
RUN_S = 1800
RUNS = 4
MEMORY_MB = 4096
PATCH, TEST_PATCH, CONFIG, TREE = "fix.patch", "tests.patch", "config.json", "tree.tar.gz"


def write_tasks(rows: Iterable[TaskInstance], places: Places, database: Path, out: Path, base: str = "") -> str:
    """A folder for each instance below `out`, named by `file_name`; what was there under that name goes. A line on what
    was written, and why instances were left out. `base` is the image to start from in place of Docker's official one.
    """
    store = Store(places.store)
    environments = _environments(store)
    trees = Trees(Mirrors(places.mirrors), places.trees)
    transitions = _transitions(database)
    written, left = 0, []
    for row in sorted(rows, key=lambda row: row.instance_id):
        environment = environments.get(row.instance_key)
        why = _cannot(environment)
        if environment is not None and not why:
            try:
                _write_task(row, environment, trees, transitions, out / file_name(row.instance_id), base)
                written += 1
            except SwtError as error:
                why = str(error)
        if why:
            left.append(f"{row.instance_id}: {why}")
    return "\n".join([f"{out}: {written} tasks", *(f"left out: {one}" for one in left)])


def _environments(store: Store) -> Mapping[str, Environment]:
    """Instance key → the environment in use."""
    rows = {row.env_id: row for row in store.read(Environment)}
    attempts = sorted(store.read(EnvironmentAttempt), key=lambda row: row.tried_at)
    return {row.instance_key: rows[row.env_id] for row in attempts if row.env_id in rows and row.env_id}


def _cannot(environment: Environment | None) -> str:
    """Why the environment cannot be said as a Dockerfile; empty where it can."""
    if environment is None:
        return "no environment yet, `swt validate` finds one"
    other = [step for step in environment.install if step not in KNOWN_STEPS]
    return f"its environment has {', '.join(other)}" if other else ""


def _transitions(database: Path) -> dict[str, str]:
    """`before/after` → what such a case counts as."""
    rows = query(database, selection("swt_bench_transition")).to_pylist()
    return {f"{row['before']}/{row['after']}": row["transition"] for row in rows}


def _write_task(
    row: TaskInstance, environment: Environment, trees: Trees, transitions: Mapping[str, str], folder: Path, base: str
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("environment", "solution", "tests"):
        (folder / name).mkdir(parents=True)
    _pack(trees, row, folder / "environment" / TREE)
    _text(folder / "environment" / "requirements.txt", _requirements(environment))
    _text(folder / "solution" / TEST_PATCH, row.test_patch)
    _text(folder / "tests" / PATCH, row.patch)
    _text(folder / "tests" / CONFIG, json.dumps(_config(environment, transitions), indent=1))
    shutil.copy(FOLDER / JUDGE, folder / "tests" / JUDGE)
    shutil.copytree(INSIDE, folder / "tests" / "runner", ignore=lambda _, names: {n for n in names if n[-3:] != ".py"})
    shown = _shown(row, environment, base)
    for template, path in (
        ("task.toml", "task.toml"), ("instruction.md", "instruction.md"), ("Dockerfile", "environment/Dockerfile"),
        ("test.sh", "tests/test.sh"), ("solve.sh", "solution/solve.sh"),
    ):  # fmt: skip
        _text(folder / path, _templates().get_template(f"{template}.j2").render(shown))
    for script in ("tests/test.sh", "solution/solve.sh"):
        (folder / script).chmod(0o755)


def _shown(row: TaskInstance, environment: Environment, base: str) -> dict[str, Any]:
    return {
        "instance_id": row.instance_id,
        "name": f"rolling-swt-bench/{row.instance_id}",
        "description": row.problem_statement.strip().partition("\n")[0][:200],
        "snapshot": row.snapshot,
        "repo": row.repo,
        "base_commit": row.base_commit,
        "statement": row.problem_statement.strip(),
        "base": base or IMAGE.format(python=environment.python),
        "env": _variables(environment),
        "options": " --no-deps --require-hashes" if "--hash" in environment.lock else "",
        "editable": "editable" in environment.install,
        "source_roots": environment.source_roots,
        "agent_s": AGENT_S,
        "verifier_s": float(RUNS * RUN_S),
        "memory_mb": MEMORY_MB,
    }


def _requirements(environment: Environment) -> str:
    """The lock; of the interpreter that runs this, in which is much that no test needs, its test runner."""
    if HOST not in environment.install:
        return environment.lock
    return "".join(line for line in environment.lock.splitlines(True) if line.startswith("pytest=="))


def _variables(environment: Environment) -> dict[str, str]:
    pairs = (pair.split("=", 1) for pair in environment.env)
    return {name: value.replace("{environment}", ROOT) for name, value in pairs}


def _config(environment: Environment, transitions: Mapping[str, str]) -> dict[str, Any]:
    """What the judge is told."""
    return {
        "testbed": "/testbed",
        "fix": f"/tests/{PATCH}",
        "runner": "/tests/runner",
        "timeout_s": RUN_S,
        "env": _variables(environment),
        "job": {
            "kind": environment.runner.value,
            "test_args": list(environment.test_args),
            "source_roots": list(environment.source_roots),
            "tracer": "none",
            "seed": 0,
            "order": "given",
        },
        "module": TEST_MODULE.pattern,
        "folders": sorted(TEST_FOLDERS),
        "defines": DEFINES_TESTS.pattern,
        "never": NEVER,
        "gravity": [outcome.value for outcome in GRAVITY],
        "transitions": dict(transitions),
    }


def _pack(trees: Trees, row: TaskInstance, archive: Path) -> None:
    """The files of the base commit, the same bytes for the same commit."""
    with tempfile.TemporaryDirectory(prefix="swt-harbor-") as name:
        checkout = Path(name) / "tree"
        trees.checkout(row.repo, row.base_commit, checkout)
        with (
            archive.open("wb") as sink,
            gzip.GzipFile(filename="", fileobj=sink, mode="wb", mtime=FIXED_MTIME) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for path in sorted(checkout.iterdir()):
                tar.add(path, path.name, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


@cache
def _templates() -> Templates:
    """Not escaped: these are no pages, and what others wrote stands in Markdown or, quoted, in TOML."""
    templates = Templates(  # noqa: S701
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"toml": _toml, "docker": _docker}
    return templates


def _toml(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for the character 127."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _docker(text: str) -> str:
    """A value of `ENV`, in which nothing is put in for a variable."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


def _text(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
