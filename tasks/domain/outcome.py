"""The enums of a run. Parquet and SQL use their values."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The result of one test case in one run; `missing` is the absence of a row (metrics.md: raw outcomes)."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    TIMEOUT = "timeout"


FAILURES = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT})
"""Outcomes with a raised error, so the test fails (SWT-Bench paper, section 3.1). In SQL: `fails`."""


class Phase(StrEnum):
    """The phase that determined the outcome. A module that cannot be collected is one `collect` row with `error`."""

    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


class CodeState(StrEnum):
    """`before` is the base commit, `after` the base commit plus the golden patch."""

    BEFORE = "before"
    AFTER = "after"


class RunVariant(StrEnum):
    """The form in which a code state runs. Verdicts use only `plain`.

    Robustness checks of a success have to give the same outcomes as `plain`. They are untraced, with the cases in
    reversed order and another hash seed:

    `repeat`      the same files
    `placebo`     `before` with the lines of the fix as comments
    `paraphrase`  `after` with the same comments
    `variant`     `after` with a change that has no effect

    Conditions of a validation, all untraced, have to give the same outcomes too:

    `rerun`       another run
    `reordered`   cases shuffled by a seed derived from the run's key
    `reseeded`    another hash seed
    `online`      with a network
    `later`       with the clock a year ahead

    `proposed`    `before` with a proposed fix or a decoy instead of the golden patch, untraced (`fix_run` names it)
    """

    PLAIN = "plain"
    REPEAT = "repeat"
    PLACEBO = "placebo"
    PARAPHRASE = "paraphrase"
    VARIANT = "variant"
    RERUN = "rerun"
    REORDERED = "reordered"
    RESEEDED = "reseeded"
    ONLINE = "online"
    LATER = "later"
    PROPOSED = "proposed"


EDITED = (RunVariant.PLACEBO, RunVariant.PARAPHRASE, RunVariant.VARIANT)
"""Variants whose code has an edit that changes no behaviour."""

OTHER_CODE = (*EDITED, RunVariant.PROPOSED)
"""Variants with other code than the code state, which are no evidence for the stability of its tests."""


class CaseOrder(StrEnum):
    """The order in which a runner executes its cases."""

    GIVEN = "given"
    REVERSED = "reversed"
    """Reversed order. Cases of one class and one module stay together."""
    SHUFFLED = "shuffled"
    """Random order from a seed: modules, the classes of each, and the cases of each of these."""


class SuiteKind(StrEnum):
    """`none` is the repository's own tests in the affected files, without any test patch."""

    NONE = "none"
    GOLDEN = "golden"
    CANDIDATE = "candidate"


class Tracer(StrEnum):
    """How lines are watched: by this project's probes, by coverage.py for comparison, or not at all."""

    PROBE = "probe"
    COVERAGE = "coverage"
    NONE = "none"


class RunStatus(StrEnum):
    """How a run ended. `infrastructure` and `golden-unapplied` are internal and never graded; the first is retried.

    `completed`  the runner wrote its last record, independent of the tests' outcomes
    `timeout`    the wall limit ended it; earlier cases are stored, the running one is `timeout`
    `crashed`    the process ended without the runner's last record (os._exit, a signal, a kill of its parent)
    `limit`      a memory, process or disk limit ended it
    `unapplied`  the suite's patch does not apply on this code state, so no process was started
    `golden-unapplied`  the golden patch or the golden tests do not apply or cannot be built, so no process was started
    """

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    LIMIT = "limit"
    UNAPPLIED = "unapplied"
    GOLDEN_UNAPPLIED = "golden-unapplied"
    INFRASTRUCTURE = "infrastructure"


class RunnerKind(StrEnum):
    """The adapter of this project's runner that runs the tests inside the sandbox."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    DJANGO = "django"
    SYMPY = "sympy"


class Policy(StrEnum):
    """The patch filter: which hunks of a candidate are executed (metrics.md: candidate policy)."""

    TESTS_ONLY = "tests-only"
    AS_SUBMITTED = "as-submitted"


class SandboxKind(StrEnum):
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"
