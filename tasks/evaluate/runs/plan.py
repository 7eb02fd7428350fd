"""Plans the runs that judge an instance and its candidates (design.md: the run plan).

Reference runs, {no suite, golden suite} × {before, after}, belong to the instance; all candidates share them.

A candidate adds two runs of its own suite, and two of suite `none` on the base files that it edits. Candidates that
edit the same files share the latter. A candidate that only adds files has nothing to compare with at the base commit,
so it needs no run of suite `none`.

A success adds its robustness checks, at most eight runs: a repeat of each code state, a placebo, a paraphrase, a right
variant and three decoys (guards.md). A secret of the store determines their order, and all have the same conditions. So
a test that counts its runs cannot infer the code that it runs on.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tasks.adapters.runner.launch import FIXED_ENV, other_seed
from tasks.domain.candidate import Suite
from tasks.domain.environment import Environment
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.instance import ChangedLine, TaskInstance
from tasks.domain.names import LineNo, RepoPath, sorted_lines
from tasks.domain.outcome import CaseOrder, CodeState, RunVariant, SandboxKind, SuiteKind, Tracer
from tasks.domain.proposed_fix import ProposedFix
from tasks.domain.run import Limits, RunSpec, Watch

STATES = (CodeState.BEFORE, CodeState.AFTER)
DECOY_WALL_S = 300.0
"""Time limit of a run on a decoy: a mutant can loop forever, and is then no valid decoy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The inputs that all runs of one instance share."""

    instance: TaskInstance
    environment: Environment
    watches: Mapping[CodeState, tuple[Watch, ...]]
    """Lines to watch in each code state; see `watches`."""
    sandbox: SandboxKind
    limits: Limits
    runner_version: str
    tracer: Tracer = Tracer.PROBE


def suite_specs(bench: RunContext, suite: Suite) -> tuple[RunSpec, ...]:
    """Returns the runs of the suite before and after, and those of suite `none` on the base files that it edits.

    For the golden suite these are the reference runs.
    """
    own = tuple(run_spec(bench, suite, state, suite.files, bench.tracer) for state in STATES)
    if not suite.base_files:
        return own
    return own + tuple(run_spec(bench, None, state, suite.base_files, bench.tracer) for state in STATES)


def confirmation_specs(bench: RunContext, suite: Suite) -> tuple[RunSpec, ...]:
    """Returns the runs of the suite before and after, without watched lines.

    Only golden tests run without any probe, which separates the effect of probes from other effects. A candidate
    without probes could infer that coverage is not measured in this run.
    """
    specs = tuple(run_spec(bench, suite, state, suite.files, Tracer.NONE) for state in STATES)
    return tuple(without_probes(spec) for spec in specs) if suite.kind is SuiteKind.GOLDEN else specs


def guard_specs(
    bench: RunContext, suite: Suite, edits: Iterable[GuardEdit], decoys: Iterable[ProposedFix]
) -> tuple[RunSpec, ...]:
    """Returns the robustness checks of a success.

    All use reversed case order and another hash seed, so a test cannot distinguish the checks by these conditions.
    """
    edited = (_edited(_repeat(bench, suite, edit.code_state), edit) for edit in edits if edit.patch)
    repeats = (_repeat(bench, suite, state) for state in STATES)
    return (*repeats, *edited, *(decoy_spec(bench, suite, decoy) for decoy in decoys))


def in_secret_order(specs: Iterable[RunSpec], secret: str) -> tuple[RunSpec, ...]:
    """Returns the runs in an order that depends only on the secret and on their variants, code states and keys."""
    shuffled = sorted(specs, key=lambda spec: (spec.variant, spec.code_state, spec.run_key))
    random.Random(secret).shuffle(shuffled)  # noqa: S311 - the seed is what is secret
    return tuple(shuffled)


def fix_spec(bench: RunContext, suite: Suite, fix: ProposedFix) -> RunSpec:
    """Returns the run of the suite on the base commit with a proposed fix instead of the golden patch."""
    plain = run_spec(bench, suite, CodeState.BEFORE, suite.files, Tracer.NONE)
    return replace(plain, variant=RunVariant.PROPOSED, patches=(fix.patch, *plain.patches))


def decoy_spec(bench: RunContext, suite: Suite, decoy: ProposedFix) -> RunSpec:
    """Returns the run of the suite on a decoy, like the other robustness checks but with at most `DECOY_WALL_S`."""
    limits = replace(bench.limits, wall_s=min(bench.limits.wall_s, DECOY_WALL_S))
    return replace(_as_check(bench, fix_spec(bench, suite, decoy)), limits=limits)


def _repeat(bench: RunContext, suite: Suite, state: CodeState) -> RunSpec:
    plain = run_spec(bench, suite, state, suite.files, Tracer.NONE)
    return replace(_as_check(bench, plain), variant=RunVariant.REPEAT)


def _as_check(bench: RunContext, plain: RunSpec) -> RunSpec:
    return replace(plain, order=CaseOrder.REVERSED, env=other_seed(plain.env, bench.environment.env))


def _edited(repeat: RunSpec, edit: GuardEdit) -> RunSpec:
    """Returns `repeat` with an edit of the code, applied right before the suite."""
    *golden, suite = repeat.patches
    return replace(repeat, variant=edit.variant, patches=(*golden, edit.patch, suite))


def without_probes(spec: RunSpec) -> RunSpec:
    """Returns the run without line probes. Only for trusted tests."""
    return replace(spec, probe_near=())


def traced(bench: RunContext, spec: RunSpec) -> RunSpec:
    """Returns `spec` with watched lines, as `suite_specs` plans it. Its outcomes also serve the untraced run."""
    return replace(spec, tracer=Tracer.PROBE, watch=bench.watches.get(spec.code_state, ()))


def distinct(specs: Iterable[RunSpec]) -> tuple[RunSpec, ...]:
    """Returns the first spec of each run key, in order."""
    seen: dict[str, RunSpec] = {}
    for spec in specs:
        seen.setdefault(spec.run_key, spec)
    return tuple(seen.values())


def run_spec(
    bench: RunContext, suite: Suite | None, state: CodeState, files: tuple[RepoPath, ...], tracer: Tracer
) -> RunSpec:
    """Returns a run of `suite`, or of suite `none` if it is None."""
    instance, environment = bench.instance, bench.environment
    golden = (instance.patch,) if state is CodeState.AFTER else ()
    return RunSpec(
        instance_key=instance.instance_key,
        instance_id=instance.instance_id,
        repo=instance.repo,
        base_commit=instance.base_commit,
        env_id=environment.env_id,
        runner=environment.runner,
        runner_version=bench.runner_version,
        test_args=environment.test_args,
        env=(*FIXED_ENV, *environment.env),
        source_roots=environment.source_roots,
        suite_kind=suite.kind if suite else SuiteKind.NONE,
        suite_id=suite.suite_id if suite else None,
        code_state=state,
        patches=golden + ((suite.patch,) if suite else ()),
        files=tuple(sorted(set(files))),
        watch=bench.watches.get(state, ()) if tracer is not Tracer.NONE else (),
        tracer=tracer,
        repeat=0,
        sandbox=bench.sandbox,
        limits=bench.limits,
        probe_near=tuple(one.path for one in bench.watches.get(state, ())) if bench.tracer is not Tracer.NONE else (),
    )


def watches(changed: Iterable[ChangedLine]) -> dict[CodeState, tuple[Watch, ...]]:
    """Returns the lines to watch in each code state: per file the union of removed and added line numbers.

    Both states watch both, because the public harness reads the coverage of removed lines from the run on `after`. A
    query about one side filters by `changed_line.side`.
    """
    lines: dict[RepoPath, set[LineNo]] = defaultdict(set)
    for change in changed:
        lines[change.path].add(change.line)
    watched = tuple(Watch(path=path, lines=sorted_lines(lines[path])) for path in sorted(lines))
    return dict.fromkeys(CodeState, watched)
