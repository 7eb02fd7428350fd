"""An agent is installed once per content, whole or not at all, and hides what is under test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit
from tasks.adapters.agents.catalogue import AGENTS, agent_named
from tasks.adapters.agents.hiding import hidden, packages_of
from tasks.adapters.agents.install import Installer, place, ready
from tasks.adapters.sandbox.base import own_packages
from tasks.adapters.sandbox.select import pick as pick_sandbox
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.domain.errors import BuildFailed, NotFound

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


def launch(errand: AgentTask) -> Launch:
    return Launch(argv=(*errand.python, "-m", "walker"))


def agent(wheel: Path) -> Agent:
    kit = PythonKit(requirements=(f"walker @ {wheel.as_uri()}",), python=MINOR)
    return Agent(name="walker", summary="x", kit=kit, dialect="chat", launch=launch)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package with one module and one data file, as small as a wheel can be."""
    path = tmp_path / "walker-1.0-py3-none-any.whl"
    info = "walker-1.0.dist-info"
    files = {
        "walker/__init__.py": "SECRET = 'as it was fixed'\n",
        "walker/__main__.py": "import walker\nprint(walker.SECRET, walker.__file__)\n",
        "walker/data.txt": "data",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: walker\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": "".join(f"{name},,\n" for name in files)}.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    if not any(one.minor == MINOR for one in machine_interpreters()):
        pytest.skip(f"neither pyenv nor uv has a CPython {MINOR}")
    return Installer(
        folder=tmp_path / "agents",
        environ=os.environ,
        sandbox=pick_sandbox(None, trusted=True, base=tmp_path),
        scratch=tmp_path / "scratch",
    )


BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name, info = "walker-2.0-py3-none-any.whl", "walker-2.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.write("walker.py")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: walker\\nVersion: 2.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


def test_from_the_tag_of_a_mirror_that_is_left_as_it_was(installer: Installer, tmp_path: Path) -> None:
    clone, sources = tmp_path / "clone", tmp_path / "sources"
    clone.mkdir()
    system = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {"walker.py": "", "backend.py": BACKEND, "pyproject.toml": system, "recording.mp4": "long"}
    for name, text in files.items():
        (clone / name).write_text(text)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for argv in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "a"], ["tag", "v2"]):
        subprocess.run(["git", *argv], cwd=clone, check=True)
    mirror = sources / "owner__walker.git"
    subprocess.run(["git", "clone", "-q", "--bare", clone, mirror], check=True)
    before = sorted(path.name for path in mirror.iterdir())
    kit = PythonKit(
        requirements=(),
        repository="owner/walker",
        tag="v2",
        parts=("walker.py", "backend.py", "pyproject.toml"),
        python=MINOR,
    )
    made = replace(installer, sources=sources).install(
        Agent(name="walker", summary="x", kit=kit, dialect="chat", launch=launch)
    )
    assert sorted(path.name for path in (made.root / "source").glob("*.*")) == sorted(kit.parts)
    assert made.lock[0].startswith("walker")
    assert sorted(path.name for path in mirror.iterdir()) == before


def test_once_and_into_a_folder_of_its_own(installer: Installer, wheel: Path) -> None:
    made = installer.install(agent(wheel))
    assert made.root == place(installer.folder, agent(wheel))
    assert made.lock[0].startswith("walker")
    stamp = (made.root / "installed.json").stat().st_mtime_ns
    assert installer.install(agent(wheel)) == made == ready(installer.folder, agent(wheel))
    assert (made.root / "installed.json").stat().st_mtime_ns == stamp
    assert list(made.root.glob("lib/python*/site-packages/walker/__pycache__/*.pyc"))
    other = replace(agent(wheel), kit=PythonKit(requirements=("walker==2",), python=MINOR))
    assert place(installer.folder, other) != made.root


def test_what_cannot_be_installed_leaves_nothing(installer: Installer, tmp_path: Path) -> None:
    broken = tmp_path / "walker-1.0-py3-none-any.whl"
    broken.write_bytes(b"no wheel")
    with pytest.raises(BuildFailed):
        installer.install(agent(broken))
    assert [path.name for path in installer.folder.iterdir() if path.is_dir()] == []
    with pytest.raises(NotFound, match="not installed"):
        ready(installer.folder, agent(broken))


def test_the_project_under_test_is_shown_without_its_source(installer: Installer, wheel: Path) -> None:
    made = installer.install(agent(wheel))
    bare = hidden(made, ["src/other/__init__.py"])
    assert made.base_prefix is not None
    assert [str(mount.guest) for mount in bare] == list(map(str, own_packages(made.base_prefix)))
    assert all(list(mount.host.iterdir()) == [] for mount in bare)
    *same, cover = hidden(made, ["walker/__init__.py", "tests/__init__.py"])
    assert tuple(same) == bare
    assert str(cover.guest).endswith("site-packages/walker")
    assert sorted(path.name for path in cover.host.iterdir()) == ["__init__.pyc", "__main__.pyc", "data.txt"]
    path = cover.host.parent / "walker"
    path.symlink_to(cover.host)
    argv = [str(made.root / "bin" / "python"), "-c", "import sys; sys.path.insert(0, '.'); import walker.__main__"]
    done = subprocess.run(argv, cwd=cover.host.parent, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("as it was fixed")


def test_packages_of_a_repository() -> None:
    paths = ["src/flask/__init__.py", "src/flask/json/__init__.py", "tests/__init__.py", "a/b/c/__init__.py", "x.py"]
    assert packages_of(paths) == {"flask"}


def test_every_agent_is_pinned_and_described() -> None:
    for known in AGENTS:
        assert known.summary
        assert known.advice
        assert re.fullmatch(r"v?\d+(\.\d+)+", known.kit.release)
        assert agent_named(known.name) is known
