"""What is said of the demo's instances and candidates is true: git and pytest as plain processes, nothing of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tasks.domain.instance import TaskInstance
from tasks.scrape.dataset_rows import import_instances

DEMO = Path(__file__).parents[2] / "data" / "demo"
INSTANCES = {str(row.instance_id): row for row in import_instances(DEMO / "instances.jsonl", snapshot="demo").instances}
CANDIDATES = [json.loads(line) for line in Path(__file__).with_name("candidates.jsonl").read_text().splitlines()]
FLAKY, BROKEN = "rolling-swt-bench__larder-17", "rolling-swt-bench__larder-18"
ONLY_TESTS = ("--include=tests/test_*",)
RUNGS = {
    "exact": (),
    "recount": ("--recount",),
    "reduced-context": ("-C1",),
    "fuzzy": ("--ignore-whitespace",),
}


@dataclass(frozen=True)
class Tree:
    """A checkout of a base commit, with a temporary folder that all of its runs share."""

    folder: Path

    def apply(self, patch: str, *options: str) -> bool:
        argv = ["git", "apply", "--whitespace=nowarn", *options, "-"]
        return subprocess.run(argv, cwd=self.folder, input=patch.encode(), capture_output=True).returncode == 0

    def run(self, files: list[str]) -> tuple[int, dict[str, str]]:
        """Exit code, and outcome per case; no outcomes where the process left no report."""
        report = self.folder.with_name("report.xml")
        report.unlink(missing_ok=True)
        options = ["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", f"--junitxml={report}"]
        argv = [sys.executable, "-m", "pytest", *options, *files]
        code = subprocess.run(argv, cwd=self.folder, env=self._env(), capture_output=True).returncode
        cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
        return code, {case_id(case): outcome(case) for case in cases}

    def _env(self) -> dict[str, str]:
        temporary = self.folder.with_name("tmp")
        temporary.mkdir(exist_ok=True)
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(temporary),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }


def case_id(case: ElementTree.Element) -> str:
    """pytest's own id; the file alone where a whole module has no cases."""
    path = case.get("file", "") or case.get("name", "").replace(".", "/") + ".py"
    inside = case.get("classname", "").removeprefix(path.removesuffix(".py").replace("/", ".")).strip(".")
    return "::".join(filter(None, (path, inside, case.get("name", "")))) if case.get("classname") else path


def outcome(case: ElementTree.Element) -> str:
    words = {"failure": "failed", "error": "error", "skipped": "skipped"}
    return next((words[child.tag] for child in case if child.tag in words), "passed")


def grow(mirror: Path, instance: TaskInstance, folder: Path) -> Tree:
    subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", mirror, folder], check=True)
    subprocess.run(["git", "checkout", "--quiet", instance.base_commit], cwd=folder, check=True, capture_output=True)
    return Tree(folder)


def files_of(patch: str) -> list[str]:
    """Test files that a patch leaves behind."""
    return sorted(set(re.findall(r"^\+\+\+ b/(tests/test_\S+)$", patch, re.MULTILINE)))


@pytest.mark.slow
@pytest.mark.parametrize("name", INSTANCES)
def test_golden_side(name: str, mirror: Path, tmp_path: Path) -> None:
    """The lists hold on real runs; of the last two instances, what their source claims is not so."""
    instance = INSTANCES[name]
    tree = grow(mirror, instance, tmp_path / "tree")
    assert tree.apply(instance.test_patch)
    _, before = tree.run(files_of(instance.test_patch))
    assert tree.apply(instance.patch)
    _, after = tree.run(files_of(instance.test_patch))
    claimed = {*(instance.FAIL_TO_PASS or ()), *(instance.PASS_TO_PASS or ())}
    assert {case for case in before if before[case] != "passed"} == set(instance.FAIL_TO_PASS or ())
    assert claimed == set(after)
    wrong = {case for case in after if after[case] != "passed"}
    if name == BROKEN:
        assert wrong == {"tests/test_planner.py::test_same_weekday_is_a_week_away"}
    elif name != FLAKY:
        assert wrong == set()


def test_flaky_golden_test_passes_and_fails(mirror: Path, tmp_path: Path) -> None:
    instance = INSTANCES[FLAKY]
    tree = grow(mirror, instance, tmp_path / "tree")
    assert tree.apply(instance.test_patch)
    assert tree.apply(instance.patch)
    program = "import sys; sys.path[:0] = ['.', 'tests']; from test_suggest import *; from collections import Counter; "
    program += "print(sorted(Counter(suggest([PANCAKES, SOUP, SALAD, CURRY, STEW], 3, avoid=PANCAKES)[0] == SOUP"
    program += " for _ in range(400))))"
    done = subprocess.run([sys.executable, "-Bc", program], cwd=tree.folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[False, True]"


def patch_of(row: dict[str, Any]) -> str:
    for line in (DEMO / f"predictions.{row['method']}.jsonl").read_text().splitlines():
        prediction = json.loads(line)
        if prediction["instance_id"] == row["instance_id"]:
            return prediction["model_patch"] or ""
    raise AssertionError(f"no prediction for {row}")


def label(row: dict[str, Any]) -> str:
    return f"{row['method']}-{row['instance_id'].rpartition('-')[2]}"


def has_more_than_tests(patch: str) -> bool:
    return len(re.findall(r"^\+\+\+ ", patch, re.MULTILINE)) > len(files_of(patch))


WITH_PATCH = [row for row in CANDIDATES if row["rung"]]
WITHOUT = [row for row in CANDIDATES if not row["rung"]]


def first_rung(tree: Tree, patch: str) -> str:
    """The first way in which the patch, as it was submitted, applies."""
    return next((rung for rung, options in RUNGS.items() if tree.apply(patch, "--check", *options)), "")


def codes_and_cases(tree: Tree, instance: TaskInstance, patch: str, *options: str) -> tuple[list[int], list[Any]]:
    """Exit codes and outcomes before and after the fix; a fix that does not apply any more ends with 1."""
    assert tree.apply(patch, *options)
    first, before = tree.run(files_of(patch))
    fixed = tree.apply(instance.patch)
    last, after = tree.run(files_of(patch)) if fixed else (1, {})
    return [first, last], [before, after]


@pytest.mark.slow
@pytest.mark.parametrize("row", WITH_PATCH, ids=label)
def test_candidate(row: dict[str, Any], mirror: Path, tmp_path: Path) -> None:
    """It applies as it is said to, and its cases end as it is said; a naive grader believes the exit codes."""
    instance, patch = INSTANCES[row["instance_id"]], patch_of(row)
    tree = grow(mirror, instance, tmp_path / "tests-only" / "tree")
    assert first_rung(tree, patch) == row["rung"]
    options = RUNGS[row["rung"]]
    along = (f"--include={row['along']}",) if "along" in row else ()
    codes, (before, after) = codes_and_cases(tree, instance, patch, *options, *ONLY_TESTS, *along)
    for case, (first, last) in row["cases"].items():
        assert first in ("any", before.get(case, "missing"))
        assert last in ("any", after.get(case, "missing"))
    if has_more_than_tests(patch):
        whole = grow(mirror, instance, tmp_path / "as-submitted" / "tree")
        codes, _ = codes_and_cases(whole, instance, patch, *options)
    assert row["naive"] in (None, codes[0] != 0 and codes[1] == 0)


@pytest.mark.parametrize("row", WITHOUT, ids=label)
def test_nothing_to_run(row: dict[str, Any], mirror: Path, tmp_path: Path) -> None:
    """Empty, no diff, does not apply, or nothing of it is a test file."""
    patch = patch_of(row)
    tree = grow(mirror, INSTANCES[row["instance_id"]], tmp_path / "tree")
    applies = bool(patch) and any(tree.apply(patch, "--check", *options) for options in RUNGS.values())
    assert not (applies and files_of(patch))
    assert (row["well_formed"], row["solved"], row["naive"], row["cases"]) == (False, False, False, {})


def test_every_prediction_is_described_once() -> None:
    described = [(row["method"], row["instance_id"]) for row in CANDIDATES]
    predicted = [
        (prediction["model_name_or_path"], prediction["instance_id"])
        for path in DEMO.glob("predictions.*.jsonl")
        for prediction in map(json.loads, path.read_text().splitlines())
    ]
    assert sorted(described) == sorted(predicted)
    assert len(set(described)) == len(described)


def test_solved_candidates_go_from_failed_to_passed() -> None:
    for row in CANDIDATES:
        ends = list(row["cases"].values())
        if row["solved"]:
            assert ["failed", "passed"] in ends
            assert all(last == "passed" for _, last in ends)
