"""Tiny projects, the interpreters at hand, and one function that runs our runner on them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from tasks.adapters.runner.job import INSIDE, RunnerJob, runner_argv, write_job
from tasks.adapters.runner.report import Report, read_report
from tasks.adapters.runner.seal import new_seal
from tasks.adapters.uv.interpreters import find_uv, machine_interpreters
from tasks.domain.names import RepoPath, RunKey
from tasks.domain.outcome import Outcome

LIBRARIES = {
    "3.6": ("pytest==7.0.1", "pytest-subtests==0.8.0", "coverage==6.2"),
    "3.7": ("pytest==5.4.3", "coverage==7.2.7"),
    "3.8": ("pytest==8.3.5", "coverage==7.6.1"),
    "3.9": ("pytest==3.10.1", "setuptools<70", "attrs<23", "coverage==7.10.7"),
    "3.10": ("pytest==6.2.5", "pytest-forked==1.6.0", "coverage==7.6.1"),
    "3.11": ("pytest==7.4.4", "pytest-rerunfailures==12.0", "coverage==7.6.1"),
    "3.12": ("pytest==8.3.5", "pytest-xdist==3.6.1", "coverage==7.6.1"),
    "3.13": ("pytest==9.0.1", "coverage==7.6.1"),
}
"""One old or new pytest for each minor version."""


@dataclass(frozen=True)
class Ran:
    """One run of the runner."""

    report: Report
    output: str
    exit_code: int
    files: tuple[RepoPath, ...] = ()

    @property
    def outcomes(self) -> dict[str, str]:
        """case id → `outcome/phase`, as far as the runner told."""
        return _outcomes(self.report)

    @property
    def settled(self) -> dict[str, str]:
        """The same with what the run did not get to, as the store sees it."""
        cut = not self.report.completed or bool(self.report.complaint)
        why = self.report.complaint or "why"
        return _outcomes(self.report.settled(self.files, why, under_way=Outcome.ERROR, cut=cut))

    @property
    def lines(self) -> set[tuple[str, str | None, int]]:
        return {(hit.path, hit.case_id, line) for hit in self.report.hits for line in hit.lines}


def _outcomes(report: Report) -> dict[str, str]:
    return {case.case_id: f"{case.outcome}/{case.phase}" for case in report.cases}


Runs = Callable[..., Ran]


@pytest.fixture(scope="session")
def pythons() -> dict[str, str]:
    """Minor version → executable."""
    return {found.minor: str(found.path) for found in machine_interpreters()}


@pytest.fixture
def python(request: pytest.FixtureRequest, pythons: dict[str, str]) -> str:
    """The interpreter that an indirect parameter names."""
    if request.param not in pythons:
        pytest.skip(f"CPython {request.param} is not installed here")
    return pythons[request.param]


@pytest.fixture
def project(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Writes files (path → text) below a new checkout and returns it."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            target = tmp_path / "checkout" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return tmp_path / "checkout"

    return write


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    """Runs a job in a checkout; `libraries` is a folder of installed packages."""

    def start(python: str, checkout: Path, job: RunnerJob, libraries: Path | None = None) -> Ran:
        report = tmp_path / "report.jsonl"
        report.unlink(missing_ok=True)
        config = write_job(tmp_path, job, PurePosixPath(report))
        seal = new_seal(tmp_path)
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        env |= {"PYTHONPATH": str(libraries)} if libraries else {}
        argv = runner_argv(python, str(INSIDE), str(config))
        done = subprocess.run(
            argv, cwd=checkout, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        output = done.stdout.decode("utf-8", "replace")
        return Ran(read_report(report, RunKey("run"), seal, job.watch), output, done.returncode, job.files)

    return start


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory, pythons: dict[str, str]) -> Callable[[str], Path]:
    """Installs pytest and coverage for a minor version into a folder of the session; needs a package registry."""
    made: dict[str, Path] = {}

    def install(minor: str) -> Path:
        if minor not in pythons:
            pytest.skip(f"CPython {minor} is not installed here")
        if minor not in made:
            folder = tmp_path_factory.mktemp("lib" + minor)
            argv = [str(find_uv()), "pip", "install", "-q", "--target", str(folder), "--python", pythons[minor]]
            done = subprocess.run([*argv, *LIBRARIES[minor]], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"no packages for CPython {minor}: {done.stderr[-300:]}")
            # Runs write no bytecode, so that each would compile pytest again. Some files compile nowhere.
            subprocess.run([pythons[minor], "-m", "compileall", "-q", str(folder)], capture_output=True, check=False)
            made[minor] = folder
        return made[minor]

    return install
