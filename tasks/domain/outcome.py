"""The closed vocabularies of a run. Their values are what Parquet and SQL see."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What happened to one test case in one run; `missing` is the absence of a row (metrics.md: raw outcomes)."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    TIMEOUT = "timeout"


FAILURES = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT})
"""An error is thrown, so the test fails (SWT-Bench paper, section 3.1). All else throws none. In SQL: `fails`."""


class Phase(StrEnum):
    """Where the outcome was decided. A module that cannot be collected is one `collect` row with `error`."""

    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


class CodeState(StrEnum):
    """`before` is the base commit, `after` the base commit plus the golden patch."""

    BEFORE = "before"
    AFTER = "after"


class RunVariant(StrEnum):
    """In which form a code state runs. Verdicts come from `plain` alone.

    Robustness checks of a would-be success have to behave as `plain` does. They are untraced, with the cases in
    reversed order and another hash seed:
    `repeat`      the same files
    `placebo`     `before` with the lines of the fix as comments
    `paraphrase`  `after`, likewise
    `variant`     `after` with a change that has no effect

    Conditions of a validation, all untraced, which have to as well:
    `rerun`       once more
    `reordered`   cases shuffled by a seed that follows from the run's key
    `reseeded`    another hash seed
    `online`      with a network
    `later`       with the clock a year on

    `proposed`    `before` with a proposed fix or a decoy in the golden patch's place, untraced (`fix_run` names it)
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
"""Their code has an edit that changes no behaviour."""

OTHER_CODE = (*EDITED, RunVariant.PROPOSED)
"""They run on other files than the code state has, so they say nothing of how stable its tests are."""


class CaseOrder(StrEnum):
    """In which order a runner takes its cases."""

    GIVEN = "given"
    REVERSED = "reversed"
    """Every two of them change places. Cases of one class and one module stay together."""
    SHUFFLED = "shuffled"
    """By lot, from a seed: modules, the classes of each, and the cases of each of these."""


class SuiteKind(StrEnum):
    """`none` is the repository's own tests in the files concerned, without any test patch."""

    NONE = "none"
    GOLDEN = "golden"
    CANDIDATE = "candidate"


class Tracer(StrEnum):
    """How lines are watched: our probes, coverage.py as the referee, or not at all."""

    PROBE = "probe"
    COVERAGE = "coverage"
    NONE = "none"


class RunStatus(StrEnum):
    """How a run ended. `infrastructure` and `golden-unapplied` are ours and never graded; the first is retried.

    `completed`  the runner wrote its last record, whatever the tests said
    `timeout`    the wall limit ended it; cases so far are kept, the one under way is `timeout`
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
    """Which adapter of our runner drives the tests inside the sandbox."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    DJANGO = "django"
    SYMPY = "sympy"


class Policy(StrEnum):
    """Which hunks of a candidate are executed (metrics.md: candidate policy)."""

    TESTS_ONLY = "tests-only"
    AS_SUBMITTED = "as-submitted"


class SandboxKind(StrEnum):
    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"
