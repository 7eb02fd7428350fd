"""A pull request whose tests are data files alone: the suite that reads them is found by collecting and watching."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from domain_rows import task_instance
from scratch_git import git

from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest, ValidationRequest
from flows.interface.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.tables.store import Store
from tasks.domain.environment import DrivenCase
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import InstanceId, RepoName, Sha, SnapshotName
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import CaseOutcome, Limits, Run
from tasks.domain.validation import InvalidReason

pytestmark = pytest.mark.slow

REPO = RepoName("rolling-swt-bench/larder")
"""The one whose recipe is the interpreter that runs this."""
FILES = {
    "pyproject.toml": '[project]\nname = "shout"\nversion = "0.1"\n[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "shout.py": "def shout(text):\n    return text.upper()\n",
    "tests/test_all.py": """
from itertools import pairwise
from pathlib import Path
import pytest
from shout import shout

INPUTS = Path(__file__).parent / "inputs"

@pytest.mark.parametrize("path", sorted(INPUTS.glob("*.py")), ids=lambda path: path.stem)
def test_input(path):
    assert shout(path.read_text()) == path.with_suffix(".out").read_text()
""",
    "tests/inputs/plain.py": "hello\n",
    "tests/inputs/plain.out": "HELLO\n",
    "tests/inputs/other.py": "a\n",
    "tests/inputs/other.out": "A\n",
}
FIX = {"shout.py": "def shout(text):\n    return text.strip().upper() + '!'\n"}
DATA = {"tests/inputs/plain.out": "HELLO!", "tests/inputs/other.out": "A!"} | {
    "tests/inputs/looks_like_one.py": "def test_nothing(): assert\n",
    "tests/inputs/looks_like_one.out": "DEF TEST_NOTHING(): ASSERT!",
}

SUBMODULE = f"""diff --git a/inner b/inner
index {"1" * 40}..{"2" * 40} 160000
--- a/inner
+++ b/inner
@@ -1 +1 @@
-Subproject commit {"1" * 40}
+Subproject commit {"2" * 40}
"""
LINK = f"""diff --git a/inner b/inner
new file mode 120000
index {"0" * 40}..{"2" * 40}
--- /dev/null
+++ b/inner
@@ -0,0 +1 @@
+/etc/hosts
\\ No newline at end of file
"""


def make(folder: Path, fix: dict[str, str], tests: dict[str, str]) -> tuple[str, str, str]:
    """(base commit, patch, test patch) of a project in `folder`."""
    git(folder.parent, "init", "-q", str(folder))
    shas = []
    for state in (FILES, fix, tests):
        for path, text in state.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x")
        shas.append(git(folder, "rev-parse", "HEAD"))
    patches = [git(folder, "diff", "--no-renames", one, other) + "\n" for one, other in pairwise(shas)]
    return shas[0], patches[0], patches[1]


@pytest.fixture
def driven(tmp_path: Path, best_sandbox: SandboxKind):
    """A warehouse with one instance: a fix, and what its golden tests change."""

    def warehouse(fix: dict[str, str], tests: dict[str, str], more: str = "") -> tuple[Store, Settings]:
        settings = Settings(
            store=str(tmp_path / "store"),
            cache=tmp_path / "cache",
            database=tmp_path / "swt.duckdb",
            scratch=tmp_path / "scratch",
            sandbox=best_sandbox,
            trusted=True,
            workers=1,
            limits=Limits(wall_s=60.0),
        )
        base, patch, test_patch = make(tmp_path / "project", fix, tests)
        patch += more
        Mirrors(settings.places.mirrors).add(REPO, tmp_path / "project")
        row = task_instance(
            repo=REPO,
            instance_id=InstanceId("a__b-1"),
            base_commit=Sha(base),
            patch=patch,
            test_patch=test_patch,
            version="0.1",
            snapshot=SnapshotName("s"),
            instance_key=TaskInstance.key_of(REPO, base, patch, test_patch),
        )
        store = Store(settings.store)
        store.write([row])
        made = Snapshot(
            snapshot=row.snapshot, instances=1, content="", source="", created_at=datetime(2026, 1, 1, tzinfo=UTC)
        )
        store.write([made])
        return store, settings

    return warehouse


def test_changed_data_files_are_golden_tests(driven) -> None:
    """Input data that looks like a test is none, and cases that do not read what changed are not run."""
    store, settings = driven(FIX, {path: text for path, text in DATA.items() if "other" not in path})
    request = EvaluationRequest(candidates=("golden",), snapshot="s", guards=False, confirm=False)
    (row,) = run_flow(request, settings).rows
    assert (row["n"], row["solved"]) == (1, 1)
    assert {(one.case_id, one.at_base) for one in store.read(DrivenCase)} == {
        ("tests/test_all.py::test_input[plain]", True),
        ("tests/test_all.py::test_input[looks_like_one]", False),
    }
    assert {row.case_id for row in store.read(CaseOutcome)} == {row.case_id for row in store.read(DrivenCase)}


def test_a_golden_patch_may_move_a_submodule(driven) -> None:
    _, settings = driven(FIX, DATA, SUBMODULE)
    request = EvaluationRequest(candidates=("golden",), snapshot="s", guards=False, confirm=False)
    (row,) = run_flow(request, settings).rows
    assert (row["n"], row["solved"]) == (1, 1)


def test_a_golden_patch_that_does_not_apply_is_not_told_as_data_that_no_case_reads(driven) -> None:
    _, settings = driven(FIX, {"tests/inputs/plain.out": "HELLO!"}, LINK)
    (row,) = run_flow(ValidationRequest(snapshot="s"), settings).validations
    said = "the golden patch does not apply: inner is a link to '/etc/hosts', which leads out of the checkout"
    assert (row.reason, row.detail) == (InvalidReason.GOLDEN_FAILS, said)


def test_data_that_no_case_reads_is_no_fault_of_the_environment(driven) -> None:
    """Not even where it is Python: that cannot be imported, ends the interpreter, or is no Python after all."""
    texts = {
        "notes.json": "{}\n",
        "imports.py": "import nowhere_to_be_had\n",
        "starts.py": "raise SystemExit(3)\n",
        "broken.py": "def test_nothing(): assert\n",
    }
    store, settings = driven(FIX, {f"tests/unread/{name}": text for name, text in texts.items()})
    (row,) = run_flow(ValidationRequest(snapshot="s"), settings).validations
    said = "no case of the suite reads what the golden tests change: tests/unread/broken.py, tests/unread/imports.py"
    assert row.reason == InvalidReason.NO_TESTS
    assert row.detail.startswith(said)
    assert not store.read(Run)
