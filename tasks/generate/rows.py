"""Turn proposals into rows, and compute the content key of a unit."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from tasks.adapters.store.files.provenance import provenance
from tasks.domain.candidate import Candidate
from tasks.domain.errors import SwtError
from tasks.domain.generation import Generation, GenerationStatus, Mode
from tasks.domain.instance import TaskInstance
from tasks.domain.names import CandidateId, MethodName, ModelName, content_key
from tasks.generate.prompts import PROMPTS
from tasks.generate.same_work import SAME_WORK
from tasks.methods.method import Assignment, Method, MethodBudget, Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodUnit:
    """One method with one model on one instance."""

    instance: TaskInstance
    assignment: Assignment
    method: Method
    model: ModelName
    budget: MethodBudget

    @property
    def config_key(self) -> str:
        """Content key of everything that the method gets, and of its own code and prompts."""
        asked = self.assignment
        files = [[file.path, file.text] for file in (*asked.context, *filter(None, [asked.test_file]))]
        patch = asked.code_patch.text if asked.code_patch else ""
        task = content_key("task", asdict(asked.task))
        parts = (version_of(self.method), asdict(self.budget), task, asked.mode.value, asked.given, files, patch)
        return content_key("generate", *parts, *filter(None, [asked.variant.parameters]))

    @property
    def label(self) -> MethodName:
        """Method name of the candidates. Another variant, more information in the prompt or another mode gives another
        name, so such candidates never replace those of the plain method."""
        mode = self.assignment.mode
        asked = () if mode is Mode.UNIT_TEST else (mode.value,)
        return MethodName("+".join((self.variant, *self.assignment.given, *asked)))

    @property
    def variant(self) -> str:
        """Method name with the parameters of the experiment."""
        return self.assignment.variant.label(self.method.name)

    def generation_id(self, sample: int) -> str:
        instance = self.instance
        return Generation.id_of(
            instance.instance_key, self.method.name, self.model, instance.snapshot, self.config_key, sample
        )

    @property
    def generation_ids(self) -> tuple[str, ...]:
        return tuple(self.generation_id(sample) for sample in range(self.method.samples))


def candidate_of(unit: MethodUnit, proposal: Proposal, made_at: datetime) -> Candidate:
    """Returns the candidate of a proposal. Its provenance is `oracle` if the method saw golden information."""
    instance = unit.instance
    return Candidate(
        candidate_id=_candidate_id(unit, proposal),
        snapshot=instance.snapshot,
        instance_id=instance.instance_id,
        instance_key=instance.instance_key,
        method=unit.label,
        model=unit.model,
        sample=proposal.sample,
        patch=proposal.patch,
        provenance="oracle" if unit.assignment.oracle else "verified",
        source=unit.method.name,
        problem="",
        created_at=made_at,
    )


def generation_of(
    unit: MethodUnit, proposal: Proposal, started: datetime, finished: datetime, trajectory: str | None
) -> Generation:
    """Returns the row of a proposal; `trajectory` is the file that shows how the method made it."""
    status = GenerationStatus.PROPOSED if proposal.patch else GenerationStatus.NOTHING
    row = _row(unit, proposal, status, _candidate_id(unit, proposal), started, finished)
    return replace(row, trajectory=trajectory)


def failure_of(unit: MethodUnit, error: SwtError, started: datetime, finished: datetime) -> Generation:
    """Returns the row of a method that provider, budget or machine stopped. It has no candidate."""
    first_line = (str(error).splitlines() or [""])[0]
    proposal = Proposal(sample=0, patch="", path=("stopped",), reasons=(f"{error.slug}: {first_line}",))
    return _row(unit, proposal, GenerationStatus.INFRASTRUCTURE, None, started, finished)


@cache
def version_of(method: Method) -> str:
    """Content key of the method's own file and, for built-in methods, of all prompts. A change of either starts new
    work."""
    target = inspect.unwrap(method.run)
    file = Path(inspect.getsourcefile(target if inspect.isroutine(target) else type(target)) or "")
    texts = [file.read_text(encoding="utf-8")]
    if file.parent == PROMPTS.folder:
        texts += PROMPTS.texts()
    key = content_key("method", method.name, method.samples, texts, *filter(None, [method.version]))
    return SAME_WORK.get(key, key)


def _candidate_id(unit: MethodUnit, proposal: Proposal) -> CandidateId:
    return Candidate.id_of(unit.instance.instance_key, unit.label, unit.model, proposal.sample, proposal.patch)


def _row(
    unit: MethodUnit,
    proposal: Proposal,
    status: GenerationStatus,
    candidate_id: CandidateId | None,
    started: datetime,
    finished: datetime,
) -> Generation:
    instance, asked = unit.instance, unit.assignment
    return Generation(
        generation_id=unit.generation_id(proposal.sample),
        method=MethodName(unit.method.name),
        model=unit.model,
        snapshot=instance.snapshot,
        instance_id=instance.instance_id,
        instance_key=instance.instance_key,
        config_key=unit.config_key,
        variant=unit.variant,
        mode=asked.mode,
        given=asked.given,
        sample=proposal.sample,
        candidate_id=candidate_id,
        status=status,
        path=proposal.path,
        retries=proposal.retries,
        rung=proposal.rung,
        reasons=proposal.reasons,
        calls=proposal.calls,
        seconds=round((finished - started).total_seconds(), 3),
        **asdict(provenance(started, finished, asdict(unit.budget))),
    )


def finished_rows(rows: Sequence[Generation]) -> tuple[Generation, ...]:
    """Returns the rows that need no retry."""
    return tuple(row for row in rows if row.status is not GenerationStatus.INFRASTRUCTURE)
