"""Five samples of `zero_shot_plus` (the paper, section 4.3).

The method does not select the best sample, because that needs the fixed code. A SQL query over verdicts selects it, and
also computes the unbiased pass@k.
"""

from __future__ import annotations

from collections.abc import Iterator

from tasks.adapters.llm.base import Model
from tasks.adapters.workbench.base import Workbench
from tasks.generate.methods.zero_shot_plus import sample_of
from tasks.methods.conversation import Conversation
from tasks.methods.method import Assignment, MethodBudget, Proposal

SAMPLES = 5
TEMPERATURE = 0.7


def pass_at_5(assignment: Assignment, bench: Workbench, model: Model, budget: MethodBudget) -> Iterator[Proposal]:
    """Five samples at temperature 0.7, each a proposal."""
    for sample in range(SAMPLES):
        yield sample_of(assignment, bench, Conversation(model, budget), sample=sample, temperature=TEMPERATURE)
