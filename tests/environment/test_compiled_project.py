"""A compiled project from a SWE-bench row to what its runs are given, built in a sandbox without network."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from compiled_project import (
    CAN_COMPILE,
    COMMANDS,
    NO_COMPILER,
    PACKAGE,
    REPO,
    SOURCE,
    compiled_mirror,
    diff,
    mirror_of,
    write_instance,
    write_recipe,
)

from tasks.adapters.extensions.products import products_for
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.runner.launch import complete
from tasks.adapters.sandbox.bubblewrap import Bubblewrap
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.domain.candidate import Suite
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.errors import BuildFailed, InfrastructureError
from tasks.domain.names import EnvId, FixId
from tasks.domain.outcome import EDITED, Outcome, Policy, RunStatus
from tasks.domain.places import Places
from tasks.domain.proposed_fix import ProposedFix
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.undone import OfInstance
from tasks.environment.task import CheckSettings, prepare_environment
from tasks.evaluate.intake.load import take_candidates
from tasks.evaluate.runs.plan import fix_spec, guard_specs
from tasks.evaluate.task import RunSettings, SuiteRuns, bench_of, make_runs, run_suites
from tasks.integrity.edits import guard_edits
from tasks.scrape.dataset_rows import import_instances

pytestmark = [
    pytest.mark.bubblewrap,
    pytest.mark.skipif(not CAN_COMPILE, reason=NO_COMPILER),
    pytest.mark.skipif(Bubblewrap().why_not() != "", reason="needs bubblewrap"),
]


class Bench:
    """The project in an empty warehouse."""

    def __init__(
        self,
        folder: Path,
        commands: tuple[tuple[str, ...], ...] = COMMANDS,
        more: str = "",
        submodules: dict[str, str] | None = None,
    ) -> None:
        self.places = Places(
            store=str(folder / "store"),
            cache=folder / "cache",
            recipes=write_recipe(folder / "recipes", commands, more),
            scratch=folder / "scratch",
        )
        mirror = self.places.mirrors / f"{REPO.replace('/', '__')}.git"
        base = compiled_mirror(folder / "project", mirror, submodules)
        self.store = Store(self.places.store)
        self.instance = import_instances(write_instance(folder / "row.jsonl", base), snapshot="s").instances[0]
        self.store.write([self.instance])

    @property
    def unit(self) -> OfInstance:
        return OfInstance(snapshot="s", instance_id=self.instance.instance_id)

    def prepare(self) -> EnvId:
        return prepare_environment(self.places, CheckSettings(), self.unit)

    def environment(self) -> Environment:
        (row,) = self.store.read(Environment, env_id=self.prepare())
        return row

    def attempts(self) -> tuple[EnvironmentAttempt, ...]:
        return self.store.read(EnvironmentAttempt, instance_key=self.instance.instance_key)

    def outcomes(self) -> dict[tuple[str, str, str], Outcome]:
        """(suite, code state, name of the case) → outcome, of the golden suite's runs."""
        environment = self.environment()
        taken = take_candidates(self.places, ("golden",), (self.instance,), Policy.TESTS_ONLY, references=True)
        suites = taken.suites[self.instance.instance_id]
        unit = SuiteRuns(
            snapshot="s", instance_id=self.instance.instance_id, env_id=environment.env_id, suite_ids=suites
        )
        run_suites(self.places, RunSettings(), unit)
        runs = {run.run_key: run for run in self.store.read(Run)}
        assert {run.status for run in runs.values()} == {RunStatus.COMPLETED}
        return {
            (runs[case.run_key].suite_kind, runs[case.run_key].code_state, case.qualname): case.outcome
            for case in self.store.read(CaseOutcome)
        }


@pytest.mark.slow
def test_the_golden_patch_is_compiled_for_after_and_not_for_before(tmp_path: Path) -> None:
    outcomes = Bench(tmp_path).outcomes()

    assert {key: outcome for key, outcome in outcomes.items() if key[0] == "golden"} == {
        ("golden", "before", "Same.test_it_is_a_number"): Outcome.PASSED,
        ("golden", "before", "Same.test_it_is_right"): Outcome.FAILED,
        ("golden", "after", "Same.test_it_is_a_number"): Outcome.PASSED,
        ("golden", "after", "Same.test_it_is_right"): Outcome.PASSED,
    }
    assert outcomes[("none", "before", "Same.test_it_is_a_number")] is Outcome.PASSED


@pytest.mark.slow
def test_a_proposed_fix_of_compiled_sources_is_never_built(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.outcomes()
    settings, env_id = RunSettings(), bench.environment().env_id
    unit = bench_of(bench.places, settings, "s", bench.instance.instance_id, env_id)
    (suite,) = bench.store.read(Suite)
    fix = ProposedFix(
        fix_id=FixId("fix"),
        instance_key=bench.instance.instance_key,
        instance_id=bench.instance.instance_id,
        patch=diff("src/fast.c", SOURCE, SOURCE.replace("41", "43")),
        problem="",
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
    )

    make_runs(bench.places, settings, unit, [fix_spec(unit, suite, fix)])

    (run,) = bench.store.read(Run, variant="proposed")
    assert (run.status, run.cases) == (RunStatus.UNAPPLIED, 0)
    assert "changes compiled sources" in run.detail


@pytest.mark.slow
def test_guard_edits_of_what_a_build_reads_need_no_build_of_their_own(tmp_path: Path) -> None:
    """They change no behaviour, so the extension modules of the golden patch serve them too."""
    bench = Bench(tmp_path)
    fix = diff("fast/__init__.py", PACKAGE, PACKAGE + "text = 1\n")
    bench.instance = replace(bench.instance, patch=bench.instance.patch + fix)
    bench.store.write([bench.instance])
    bench.outcomes()
    settings, env_id = RunSettings(), bench.environment().env_id
    unit = bench_of(bench.places, settings, "s", bench.instance.instance_id, env_id)
    (suite,) = bench.store.read(Suite)
    base = bench.instance.repo, bench.instance.base_commit
    mirrors = Mirrors(bench.places.mirrors)
    edits = guard_edits(bench.instance, partial(mirrors.read_file, *base), "secret")
    assert all(edit.edited == ("fast/__init__.py",) for edit in edits)

    make_runs(bench.places, settings, unit, guard_specs(unit, suite, edits, ()))

    guards = {run.run_key: run for run in bench.store.read(Run) if run.variant in EDITED}
    assert {(run.variant, run.status) for run in guards.values()} == {
        (variant, RunStatus.COMPLETED) for variant in EDITED
    }
    turned = {
        (guards[case.run_key].variant, case.outcome)
        for case in bench.store.read(CaseOutcome)
        if case.run_key in guards and case.qualname == "Same.test_it_is_right"
    }
    assert turned == {("placebo", Outcome.FAILED), ("paraphrase", Outcome.PASSED), ("variant", Outcome.PASSED)}


def test_a_golden_patch_that_compiles_nothing_shares_one_build(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    patch = "--- /dev/null\n+++ b/fast/notes.py\n@@ -0,0 +1 @@\n+text = 1\n"
    bench.store.write([replace(bench.instance, patch=patch)])
    environment = bench.environment()

    before, after = (
        products_for(bench.places.cache, environment, bench.instance.base_commit, patches) for patches in ((), (patch,))
    )
    assert before is not None
    assert before == after
    assert len(list((bench.places.cache / "extensions").glob("*.tar"))) == 1


def test_a_build_that_fails_leaves_the_instance_unmeasured_with_the_end_of_the_log(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, (("sh", "-c", "for i in $(seq 500); do echo line $i; done; echo no such header >&2; exit 1"),)
    )

    with pytest.raises(BuildFailed, match="no environment is ready"):
        bench.prepare()
    (attempt,) = bench.attempts()
    assert attempt.env_id is None
    assert attempt.error.endswith("line 500\nno such header")
    assert "line 400" not in attempt.error


def test_a_build_has_no_network_and_sees_nothing_of_the_cache_but_its_tools(tmp_path: Path) -> None:
    look = f"""
        if test -e {tmp_path}/cache/mirrors; then echo the mirrors are seen; exit 1; fi
        if test -e {tmp_path}/store; then echo the store is seen; exit 1; fi
        if test "$(ls /sys/class/net 2>/dev/null | grep -v lo)"; then echo there is a network; exit 1; fi
        if test "$(grep -c . /proc/net/dev)" != 3; then echo there is more than the loopback; exit 1; fi
    """
    bench = Bench(tmp_path, (("sh", "-ec", look), *COMMANDS))
    bench.prepare()


@pytest.mark.slow
def test_a_build_finds_submodules_and_other_repositories_and_keeps_nothing_of_them(tmp_path: Path) -> None:
    commits = {}
    for name in ("helpers", "library"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "value.txt").write_text(name)
        commits[name] = mirror_of(tmp_path / name, tmp_path / "cache" / "mirrors" / f"owner__{name}.git", {})
    beside = f'"vendored/helpers" = "owner/helpers", "build/lib" = "owner/library@{commits["library"]}"'
    more = f'build_beside = {{ {beside}, "no/submodule" = "owner/nowhere" }}'
    copy = ("sh", "-ec", "cat vendored/helpers/deep/value.txt build/lib/deep/value.txt > fast/values.txt")
    bench = Bench(tmp_path, (copy, *COMMANDS), more, {"vendored/helpers": commits["helpers"]})
    environment = bench.environment()

    built = installed(bench.places.cache, environment, machine_interpreters(), bench.instance.base_commit)
    assert built.made == {"fast/_fast.so", "fast/values.txt"}
    (tmp_path / "seen").mkdir()
    complete(tmp_path / "seen", built)
    assert (tmp_path / "seen" / "fast" / "values.txt").read_text() == "helperslibrary"


@pytest.mark.slow
def test_modules_that_are_gone_are_a_failure_of_ours_and_built_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    environment = bench.environment()
    for path in (bench.places.cache / "extensions").glob("*.json"):
        path.unlink()

    with pytest.raises(InfrastructureError, match="not built"):
        installed(bench.places.cache, environment, machine_interpreters(), bench.instance.base_commit)
    bench.prepare()
    built = installed(bench.places.cache, environment, machine_interpreters(), bench.instance.base_commit)
    assert built.made == {"fast/_fast.so"}


def test_the_tools_of_the_build_are_recorded_as_an_environment(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.prepare()
    recipes = sorted(row.recipe for row in bench.store.read(Environment))
    assert recipes == ["owner__fast.toml#1.0", "owner__fast.toml#1.0 (tools)"]
