"""The grader that everybody writes first: run the candidate once before and once after the fix, look at exit codes.

Everything that the candidate proposes is applied, in one git checkout for both runs, with one temporary and one home
folder. Nothing is isolated: it is there to be compared with.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import Entry
from tasks.domain.instance import TaskInstance

TIMEOUT_S = 60.0
_SHIELD = 'code=0; "$@" || code=$?; exit $code'
"""A shell between us and a test that kills its parent."""


@dataclass(frozen=True, slots=True)
class NaiveGrader:
    """Works in `folder`, one subfolder for each candidate."""

    mirror: Path
    folder: Path

    def accepts(self, entry: Entry, instance: TaskInstance) -> bool:
        """Whether its tests fail before and pass after."""
        tree = self.folder / entry.kind / entry.name / "tree"
        tree.parent.mkdir(parents=True)
        self._git(tree.parent, "clone", "--quiet", "--no-checkout", str(self.mirror), str(tree))
        self._git(tree, "checkout", "--quiet", instance.base_commit)
        self._git(tree, "apply", "--whitespace=nowarn", "-", stdin=entry.patch)
        modules = sorted(str(path.relative_to(tree)) for path in self._added(tree) if path.name.startswith("test_"))
        before = self._run(tree, modules)
        self._git(tree, "apply", "--whitespace=nowarn", "-", stdin=instance.patch)
        return before != 0 and self._run(tree, modules) == 0

    def _added(self, tree: Path) -> list[Path]:
        argv = ["git", "ls-files", "--others", "--exclude-standard", "-z", "--", "*.py"]
        listed = subprocess.run(argv, cwd=tree, capture_output=True, check=True).stdout
        return [tree / name for name in listed.decode().split("\0") if name]

    def _run(self, tree: Path, modules: list[str]) -> int:
        own = {name: tree.parent / name for name in ("tmp", "home")}
        for folder in own.values():
            folder.mkdir(exist_ok=True)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(own["tmp"]), "HOME": str(own["home"])}
        argv = ["bash", "-c", _SHIELD, "bash", sys.executable, "-m", "pytest", "-q", *modules]
        done = subprocess.run(
            argv, cwd=tree, env=env, capture_output=True, check=False, timeout=TIMEOUT_S, start_new_session=True
        )
        return done.returncode

    def _git(self, folder: Path, *words: str, stdin: str = "") -> None:
        subprocess.run(["git", *words], cwd=folder, input=stdin.encode(), capture_output=True, check=True)
