"""Every story: its name, what it is asked for, and what tells it. Commands and deployments follow from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from flows.parameters import (
    EvaluationRequest,
    GenerateRequest,
    LocalizeRequest,
    PublishRequest,
    Q,
    RebuildRequest,
    StrengthRequest,
    SweepRequest,
    ValidationRequest,
    WithdrawRequest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Generic[Q]):
    """One thing that the product does, as a command and as a deployment."""

    name: str
    """Of the command, and of the flow."""
    request: type[Q]
    tells: str
    """`module:function` that takes the request, settings and the run."""
    example: str
    group: str = ""
    """The command's group."""


STORIES: tuple[Story[Any], ...] = (
    Story(
        name="evaluate",
        request=EvaluationRequest,
        tells="flows.evaluation:evaluate",
        example="swt evaluate preds.jsonl golden nop --snapshot lite",
    ),
    Story(
        name="validate",
        request=ValidationRequest,
        tells="flows.validation:validate",
        example="swt validate --snapshot lite --instances pallets__flask-4045",
    ),
    Story(
        name="strength",
        request=StrengthRequest,
        tells="flows.strength:strength",
        example="swt strength failed-repairs.jsonl partial --snapshot lite",
    ),
    Story(
        name="rebuild",
        request=RebuildRequest,
        tells="flows.rebuild:rebuild",
        example="swt rebuild --repos pallets/flask --since 2026-01-01 --limit 20",
    ),
    Story(
        name="localize",
        request=LocalizeRequest,
        tells="flows.localization:localize",
        example="swt localize --snapshot lite --retriever lucene",
    ),
    Story(
        name="generate",
        request=GenerateRequest,
        tells="flows.sweep_plan:sweep_or_plan",
        example="swt generate --method zero_shot_plus --model gpt-4o-2024-08-06 --snapshot lite --limit 20",
    ),
    Story(
        name="sweep",
        request=SweepRequest,
        tells="flows.sweep_plan:sweep_or_plan",
        example="swt sweep --method zero_shot_plus --method agent --model gpt-4o-2024-08-06 --snapshot lite "
        "--budget-usd 20",
    ),
    Story(
        name="withdraw",
        request=WithdrawRequest,
        tells="flows.snapshots:withdraw",
        example="swt snapshot withdraw 2026-11 --reason 'collected without a network'",
        group="snapshot",
    ),
    Story(
        name="freeze",
        request=PublishRequest,
        tells="flows.snapshots:freeze",
        example="swt snapshot freeze lite --as lite-validated",
        group="snapshot",
    ),
)
