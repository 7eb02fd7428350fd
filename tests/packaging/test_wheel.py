"""The wheel, installed into an environment of its own and used far from any checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

PROJECT = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
SOURCES = ("flows", "tasks", "sql", "data")
WAREHOUSE = shutil.ignore_patterns("__pycache__", "*.pyc", "store", "cache", "*.duckdb*", "*.egg-info")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because building leaves folders; with a warehouse in it that must stay outside."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in PARTS:
        shutil.copy2(PROJECT / name, source / name)
    for name in SOURCES:
        ignored = WAREHOUSE if name == "data" else shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / name, source / name, ignore=ignored)
    (source / "data" / "store").mkdir()
    (source / "data" / "store" / "private.toml").write_text("mine\n")
    (source / "data" / "swt.duckdb").write_text("mine\n")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run([*pip, "-w", str(built), str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def swt(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed from the wheel; what it depends on is seen through a `.pth` file."""
    home = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet", "--no-deps"]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "swt"


def run(swt: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a folder, with no setting of ours but a place for scratch."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SWT_", "PYTHON"))}
    environ["SWT_SCRATCH"] = str(folder / "scratch")
    return subprocess.run([str(swt), *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_wheel_has_every_file_that_is_read(wheel: Path) -> None:
    """Whatever of these folders git tracks; `README.md` and settings of tools aside."""
    with ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = {
        name
        for folder in SOURCES
        for path in (PROJECT / folder).rglob("*")
        if path.is_file() and _is_read(name := path.relative_to(PROJECT).as_posix())
    }
    inside = {name.replace("flows/resources/", "") for name in held}
    assert sorted(wanted - inside) == []
    assert [name for name in held if "private" in name or name.endswith(".duckdb")] == []
    assert {name.partition("/")[0].partition("-")[0] for name in held} == {"flows", "tasks", "rolling_swt_bench"}


def _is_read(name: str) -> bool:
    parts = name.split("/")
    made = "__pycache__" in parts or any(part.startswith(".") for part in parts)
    warehouse = parts[:2] in (["data", "store"], ["data", "cache"]) or ".duckdb" in name
    return not made and not warehouse and parts[-1] not in ("README.md", "ruff.toml")


@pytest.mark.slow
def test_it_says_its_version(swt: Path, tmp_path: Path) -> None:
    done = run(swt, tmp_path, "--version")
    assert (done.returncode, done.stdout) == (0, "swt 0.2.0\n"), done.stderr


@pytest.mark.slow
def test_questions_are_answered_far_from_a_checkout(swt: Path, tmp_path: Path) -> None:
    listed = run(swt, tmp_path, "query")
    assert "table2" in listed.stdout, listed.stderr
    asked = run(swt, tmp_path, "query", "table2", "--format", "csv")
    assert (asked.returncode, len(asked.stdout.splitlines())) == (0, 1), asked.stderr


@pytest.mark.slow
def test_real_work_is_kept_in_the_working_folder(swt: Path, tmp_path: Path) -> None:
    """The bundled rows become a snapshot there, and nothing is written beside the code."""
    site = next((swt.parents[1] / "lib").glob("python*")) / "site-packages"
    rows = site / "flows" / "resources" / "data" / "demo" / "instances.jsonl"
    before = {path for path in site.rglob("*") if path.suffix != ".pyc"}
    done = run(swt, tmp_path, "import", str(rows), "--snapshot", "demo")
    assert done.returncode == 0, done.stderr
    assert any((tmp_path / "data" / "store").rglob("*.parquet"))
    assert {path for path in site.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__"} - before == set()
