"""The grader that everybody writes first: run the candidate once before and once after the fix, look at exit codes.

Everything that the candidate proposes is applied, in one git checkout for both runs, with one temporary and one home
folder. Nothing is isolated: it is there to be compared with. Only what else lies in this machine's `/tmp` and
`/dev/shm` is out of its sight, so that the same candidates give the same table everywhere.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import Entry
from tasks.domain.instance import TaskInstance

PROJECT = Path(__file__).resolve().parents[1]
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
        own = {name: tree.parent / name for name in ("tmp", "home", "shm")}
        for folder in own.values():
            folder.mkdir(exist_ok=True)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(own["tmp"]), "HOME": str(own["home"])}
        argv = ["bash", "-c", _SHIELD, "bash", sys.executable, "-m", "pytest", "-q", *modules]
        view = _own_view(tree.parent, own["tmp"], own["shm"])
        done = subprocess.run([*view, *argv], cwd=tree, env=env, capture_output=True, check=False, timeout=TIMEOUT_S)
        return done.returncode

    def _git(self, folder: Path, *words: str, stdin: str = "") -> None:
        subprocess.run(["git", *words], cwd=folder, input=stdin.encode(), capture_output=True, check=True)


def _own_view(folder: Path, tmp: Path, shm: Path) -> list[str]:
    """Words before a command that give it `tmp` as `/tmp` and `shm` as `/dev/shm`, and end what it leaves running.

    The candidate's `folder` and the interpreter keep their places, wherever they are.
    """
    kept = dict.fromkeys(str(path) for path in (folder, Path(sys.prefix), PROJECT))
    binds = [("/", "/"), (str(tmp), "/tmp"), (str(shm), "/dev/shm"), *((path, path) for path in kept)]  # noqa: S108
    shown = [word for source, target in binds for word in ("--dev-bind", source, target)]
    return ["bwrap", *shown, "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--new-session"]
