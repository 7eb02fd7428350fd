"""Five samples, run on the code before the fix; the model judges whether a failure shows the issue (the paper, App. B).

The method never sees the fixed code. It prefers samples whose failure shows the issue, then samples that fail, then
those that apply. It submits the shortest of the best group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.adapters.llm.base import Model
from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.split import Kind, kind_of
from tasks.adapters.workbench.base import Workbench
from tasks.domain.outcome import FAILURES
from tasks.domain.pairing import paired
from tasks.domain.run import CaseOutcome
from tasks.domain.variant import Variant
from tasks.generate.methods.zero_shot_plus import sample_of
from tasks.generate.prompts import prompt
from tasks.methods.conversation import Conversation, OutOfBudget, Thread, Unusable
from tasks.methods.method import CALLS_A_SAMPLE, Assignment, MethodBudget, Proposal
from tasks.methods.replies.json_replies import first_object

SAMPLES = 5
TEMPERATURE = 0.7
SHOWN, FAILURE_CHARACTERS = 3, 2_000
"""Maximum failing cases in the judge's prompt, and characters of each message."""
GROUPS = ("same-problem", "fails", "passes")
"""Groups of samples, most preferred first."""
UNFILTERED = GROUPS[-1]
"""Group of all samples if they are neither run nor judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample that applies."""

    sample: int
    patch: str
    rung: str
    group: str
    added: int
    """Number of added lines."""


def libro(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """Draw five samples at temperature 0.7 unless the experiment sets other values, and submit the chosen one as sample
    0.

    With `filter=off` no sample is run or judged. The method then submits the shortest of the samples that `pass_at_5`
    draws.
    """
    asked = assignment.variant
    samples, temperature, filtered = _samples(asked), asked.number("temperature"), _is_filtered(asked)
    conversation = Conversation(model, budget)
    drawn: list[Sample] = []
    groups: dict[str, str] = {}
    try:
        for number in range(samples):
            proposal = sample_of(
                assignment,
                bench,
                conversation,
                sample=number,
                temperature=TEMPERATURE if temperature is None else temperature,
            )
            if proposal.rung:
                group = _group(assignment, bench, conversation, proposal, groups) if filtered else UNFILTERED
                drawn.append(_sample(proposal, group))
    except OutOfBudget:
        pass
    if not drawn:
        yield conversation.proposal("")
        return
    chosen = choose(drawn)
    conversation.took(f"chose {chosen.sample}")
    yield conversation.proposal(chosen.patch, rung=chosen.rung)


def most_replies(variant: Variant) -> int:
    """Returns the maximum number of replies; without the filter no reply is spent on judging."""
    return _samples(variant) * (CALLS_A_SAMPLE if _is_filtered(variant) else 1)


def _samples(variant: Variant) -> int:
    return variant.count("samples") or SAMPLES


def _is_filtered(variant: Variant) -> bool:
    return variant["filter"] != "off"


def choose(drawn: Sequence[Sample]) -> Sample:
    """Returns the shortest sample of the best group; on a tie, the one drawn first."""
    return min(drawn, key=lambda one: (GROUPS.index(one.group), one.added, one.sample))


def _sample(proposal: Proposal, group: str) -> Sample:
    lines = proposal.patch.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    return Sample(sample=proposal.sample, patch=proposal.patch, rung=proposal.rung, group=group, added=added)


def _group(
    assignment: Assignment, bench: Workbench, conversation: Conversation, proposal: Proposal, groups: dict[str, str]
) -> str:
    """Returns the group of a sample. `groups` has the groups of earlier patches."""
    if proposal.patch not in groups:
        failure = failure_of(bench, proposal.patch)
        group = "passes"
        if failure:
            group = "same-problem" if _same_problem(assignment, failure, conversation) else "fails"
        groups[proposal.patch] = group
    conversation.took(groups[proposal.patch])
    return groups[proposal.patch]


def failure_of(bench: Workbench, patch: str) -> str:
    """Returns cases that fail with the patch but not without it, on the code before the fix; empty if there are
    none."""
    read = read_patch(patch)
    applied = apply_to_files(read, bench.base) if isinstance(read, Patch) else read
    if not isinstance(applied, Applied):
        return ""
    files = [change.path for change in applied.changes if change.after is not None and _runs(change.path)]
    old = [change.path for change in applied.changes if change.before is not None and change.path in files]
    if not files:
        return ""
    base = bench.run_tests(old).cases if old else ()
    with bench.fork() as fork:
        for change in applied.changes:
            fork.write(change.path, change.after)
        cases = fork.run_tests(files).cases
    known, same = {case.case_id for case in _failing(base)}, paired(base, cases)
    new = [case for case in _failing(cases) if (same.get(case.case_id) or case.case_id) not in known]
    return "\n\n".join(f"{case.case_id}\n{case.message[-FAILURE_CHARACTERS:]}" for case in new[:SHOWN])


def _runs(path: str) -> bool:
    return path.endswith(".py") and kind_of(path) in (Kind.MODULE, Kind.HELPER)


def _failing(cases: Iterable[CaseOutcome]) -> list[CaseOutcome]:
    return [case for case in cases if case.outcome in FAILURES]


def _same_problem(assignment: Assignment, failure: str, conversation: Conversation) -> bool:
    """Ask the model whether the failure shows the issue. An unreadable verdict is asked for once more, then counts as
    no."""
    question = prompt("libro_judge.j2", task=assignment.task, failure=failure)
    try:
        return Thread(conversation, step="judge").ask_until(question, read_verdict, _ask_again, tries=2)
    except Unusable:
        return False


def read_verdict(text: str) -> bool:
    """Returns `same_problem` from the first JSON object that has it as a boolean. Raises `Unusable` if there is
    none."""
    return first_object(text, _verdict)


def _verdict(found: Mapping[str, Any]) -> bool:
    if not isinstance(verdict := found.get("same_problem"), bool):
        raise Unusable("unreadable-verdict", "same_problem has to be true or false")
    return verdict


def _ask_again(_: Unusable) -> str:
    return 'Answer with one JSON object: {"reason": "…", "same_problem": true}'
