"""Builds the `llm_call` rows of one call: common columns, and the columns of each attempt."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.errors import ModelError, ProviderFailed
from tasks.adapters.llm.records.reply_cache import RecordedCall
from tasks.adapters.llm.records.request import ModelRequest
from tasks.domain.llm import CallStatus, LlmCall, Work
from tasks.domain.names import InstanceId, InstanceKey, content_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Commit and settings of this project that make the calls."""

    project_commit: str = ""
    project_dirty: bool = False
    project_version: str = ""
    config_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMaker:
    """Builds the rows of one call of one task."""

    request: ModelRequest
    work: Work
    step: str
    dialect: str
    run_token: str
    position: int
    nth: int
    """Number of earlier identical calls of the same task."""
    bound: CostBound
    """Cost bound of one attempt."""
    stamp: Stamp

    @property
    def call_id(self) -> str:
        """The same whenever the task is repeated, so that its rows replace the earlier ones."""
        return content_key("call", self.work.work_id(self.request.model), self.request.call_key, self.nth)

    def answered(
        self, reply: Reply, *, attempt: int, waited_s: float, started: datetime, finished: datetime
    ) -> LlmCall:
        times = {"waited_s": waited_s, "started_at": started, "finished_at": finished}
        most = self.bound.usd
        return self._row(status=CallStatus.ANSWERED, attempt=attempt, estimate_usd=most, **times, **of_reply(reply))

    def replayed(self, known: RecordedCall, now: datetime) -> LlmCall:
        """Return the row of a replay. It repeats the original cost, so a method's cost does not depend on which run
        paid."""
        times = {"waited_s": 0.0, "started_at": now, "finished_at": now}
        return self._row(status=CallStatus.REPLAYED, attempt=0, **times, **of_reply(known.reply))

    def under_way(self, now: datetime, *, attempt: int) -> LlmCall:
        """Return the row to write if the outcome of this call is never known."""
        times = {"waited_s": 0.0, "started_at": now, "finished_at": now}
        error = "killed: the process died, or failed otherwise, while the call was under way"
        own = {"call_id": _own_id(), "error": error, "estimate_usd": self.bound.usd}
        return self._row(status=CallStatus.UNKNOWN, attempt=attempt, **own, **times)

    def failed(
        self, draft: LlmCall, error: ModelError, *, status: CallStatus, seconds: float, finished: datetime
    ) -> LlmCall:
        """Return the row of a failed attempt that was marked with `draft`."""
        kind = error.kind if isinstance(error, ProviderFailed) else error.slug
        said = str(error).partition("\n")[0]
        cost = 0.0 if status is CallStatus.FAILED else None
        return replace(
            draft, status=status, error=f"{kind}: {said}", cost_usd=cost, seconds=seconds, finished_at=finished
        )

    def _row(self, **facts: Any) -> LlmCall:
        return LlmCall(**_NOTHING | self._common() | facts)

    def _common(self) -> dict[str, Any]:
        request, work, stamp = self.request, self.work, self.stamp
        return {
            "call_id": self.call_id,
            "call_key": request.call_key,
            "work_id": work.work_id(request.model),
            "position": self.position,
            "method": work.method,
            "model": request.model,
            "snapshot": work.snapshot,
            "instance_id": InstanceId(work.instance_id),
            "instance_key": InstanceKey(work.instance_key),
            "work_sample": work.sample,
            "step": self.step,
            "sweep": work.sweep,
            "run_token": self.run_token,
            "dialect": self.dialect,
            "prompt_hash": request.prompt_hash,
            "sample": request.sample,
            "temperature": request.temperature,
            "seed": request.seed,
            "project_commit": stamp.project_commit,
            "project_dirty": stamp.project_dirty,
            "project_version": stamp.project_version,
            "config_hash": stamp.config_hash,
        }


_NOTHING: dict[str, Any] = {
    "tokens_in": None,
    "tokens_out": None,
    "tokens_cached": None,
    "tokens_cache_written": None,
    "cost_usd": None,
    "estimate_usd": None,
    "seconds": 0.0,
    "finish_reason": "",
    "error": "",
}


def of_reply(reply: Reply) -> dict[str, Any]:
    """Return the columns that a reply determines."""
    return {
        "tokens_in": reply.usage.prompt,
        "tokens_out": reply.usage.completion,
        "tokens_cached": reply.usage.cached,
        "tokens_cache_written": reply.usage.written,
        "cost_usd": reply.cost_usd,
        "seconds": reply.seconds,
        "finish_reason": str(reply.finish_reason),
    }


def _own_id() -> str:
    """Return a random id, for an event that no repetition reproduces."""
    return secrets.token_hex(16)
