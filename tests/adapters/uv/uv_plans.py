"""Plans for tests: the interpreter that runs them, nothing to install unless a test says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.adapters.uv.interpreters import ask
from tasks.adapters.uv.plan import EnvironmentPlan, Interpreter, TextFile
from tasks.domain.names import RepoName, RepoPath
from tasks.domain.outcome import RunnerKind

BACKEND = """
import zipfile


def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "toy-1.5-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as archive:
        archive.writestr("toy/__init__.py", "place = 'site-packages'\\n")
        info = "toy-1.5.dist-info/"
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: toy\\nVersion: 1.5\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n")
        archive.writestr(info + "entry_points.txt", "[console_scripts]\\ntoy = toy:main\\n")
        archive.writestr(info + "RECORD", "")
    return name
"""
PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def here() -> Interpreter:
    """The interpreter behind the one that runs the tests."""
    import sys

    interpreter = ask(Path(sys.executable).resolve())
    assert interpreter is not None
    return interpreter


def plan(**changes: Any) -> EnvironmentPlan:
    bare = EnvironmentPlan(
        repo=RepoName("owner/toy"),
        project="toy",
        version="1.5",
        rung="recipe",
        recipe="owner__toy.toml#1.5",
        interpreter=here(),
        requirements=(),
        exclude_newer=datetime(2024, 3, 1, tzinfo=UTC),
        editable=False,
        source_roots=("src",),
        runner=RunnerKind.PYTEST,
        env=("LANG=C.UTF-8",),
    )
    return replace(bare, **changes)


def toy_files() -> tuple[TextFile, ...]:
    return (TextFile(path=RepoPath("pyproject.toml"), text=PYPROJECT),)


def toy_checkout(folder: Path) -> Path:
    """A project that builds without any package: its backend is its own."""
    (folder / "src" / "toy").mkdir(parents=True)
    (folder / "src" / "toy" / "__init__.py").write_text("place = 'checkout'\ndef main():\n    print(place)\n")
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "backend.py").write_text(BACKEND)
    return folder
