"""Small projects with a fix and its golden tests, made as git repositories, and `swt` on a store of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scratch_git import git

from flows.interface.cli import main

REPO = "rolling-swt-bench/larder"
"""The repository whose recipe takes the interpreter that runs this: nothing is downloaded."""
NAME = "rolling-swt-bench__larder-901"
"""The id of every project's instance."""


@dataclass(frozen=True, kw_only=True)
class GoldenProject:
    """A project at its base commit, the fix, and the golden tests. A path whose text is null is deleted."""

    files: Mapping[str, str]
    fix: Mapping[str, str | None]
    tests: Mapping[str, str | None]
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links that the fix adds: path → target."""
    repo: str = REPO
    version: str | None = "0.1"

    def instance(self, folder: Path) -> dict[str, Any]:
        """The SWE-bench row of the project; `folder` becomes its repository."""
        git(folder.parent, "init", "-q", str(folder))
        base = _commit(folder, self.files, {})
        fixed = _commit(folder, self.fix, self.links)
        tested = _commit(folder, self.tests, {})
        return {
            "repo": self.repo,
            "instance_id": NAME,
            "base_commit": base,
            "patch": git(folder, "diff", "--no-renames", base, fixed) + "\n",
            "test_patch": git(folder, "diff", "--no-renames", fixed, tested) + "\n",
            "problem_statement": "It is wrong.",
            "created_at": "2026-03-02T00:00:00Z",
            "version": self.version,
            "FAIL_TO_PASS": [],
            "PASS_TO_PASS": [],
        }


def _commit(folder: Path, files: Mapping[str, str | None], links: Mapping[str, str]) -> str:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            target.unlink()
        else:
            target.write_text(text)
    for path, aim in links.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(aim)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "x")
    return git(folder, "rev-parse", "HEAD")


@dataclass(frozen=True)
class SwtMachine:
    """A store, a cache and a database of their own; `swt` runs one command there."""

    folder: Path
    swt: Callable[..., tuple[object, str]]

    def take(self, project: GoldenProject) -> None:
        """Mirror and import the project as snapshot `s`."""
        code, said = self.import_rows(project)
        assert code == 0, said
        code, said = self.swt("repo", "add", project.repo, "--git", str(self.folder / "project"))
        assert code == 0, said

    def import_rows(self, project: GoldenProject) -> tuple[object, str]:
        """Exit code and output of `swt import` with the row of the project."""
        file = self.folder / "rows.jsonl"
        file.write_text(json.dumps(project.instance(self.folder / "project")) + "\n")
        return self.swt("import", str(file), "--snapshot", "s")

    def evaluate(self, *candidates: str, sandbox: str = "bubblewrap") -> tuple[object, str]:
        """Exit code and output of `swt evaluate` in a sandbox; where that does not isolate, the code is trusted."""
        trusted = ("--trusted",) if sandbox == "process" else ()
        return self.swt("evaluate", *candidates, "--snapshot", "s", "--sandbox", sandbox, *trusted)

    def query(self, asked: str) -> list[dict[str, Any]]:
        """The rows of a question."""
        code, said = self.swt("query", asked, "--format", "json")
        assert code == 0, said
        return json.loads(said)


def swt_machine(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> SwtMachine:
    """A machine whose places are all below `folder`."""
    for name, value in {"STORE": "store", "CACHE": "cache", "DATABASE": "swt.duckdb", "SCRATCH": "scratch"}.items():
        monkeypatch.setenv(f"SWT_{name}", str(folder / value))

    def swt(*argv: str) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["swt", *argv])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        code = ended.value.code
        return code, said.out + said.err if code else said.out

    return SwtMachine(folder, swt)
