"""The gateway without HTTP: tokens, model names, and the path of one call."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from threading import Lock
from types import ModuleType

from tasks.adapters.llm.base import ModelQuestion, Options, Reply
from tasks.adapters.llm.dialects.by_name import name_of
from tasks.adapters.llm.dialects.native import native
from tasks.adapters.llm.dialects.spoken import ClientRequest, SpokenAnswer
from tasks.adapters.llm.errors import BudgetExhausted, ContentFiltered, ContextTooLong, ModelError
from tasks.adapters.llm.gateway.grant import Grant, GrantedRun, new_token, token_hash
from tasks.adapters.llm.gateway.recorder import Recorder
from tasks.adapters.llm.limits.budget import Meter
from tasks.adapters.llm.records.request import ModelRequest
from tasks.adapters.llm.router import Caller, ModelRouter
from tasks.domain.errors import SwtError
from tasks.domain.llm import AgentRun
from tasks.domain.names import InstanceId, InstanceKey, MethodName, ModelName, SnapshotName

PAYER = "payer"
"""Prefix in `AgentRun.stopped` if the payer's budget, not the run's own, stopped the run."""
OWN_FAULT = (BudgetExhausted, ContextTooLong, ContentFiltered)
"""Errors that the agent caused itself; no internal trouble."""

SAMPLES_APART = 1000
"""Offset between the sample numbers of candidates: repeated calls within one candidate get samples of their own."""


class TokenRefused(ModelError):
    """Missing, unknown or expired run token."""

    slug = "run-token"


class ModelRefused(ModelError):
    """The token does not allow this model."""

    slug = "run-model"


@dataclass(frozen=True, slots=True)
class Issued:
    """A run token; the gateway returns it only once."""

    token: str = field(repr=False)
    run_id: str


@dataclass(slots=True)
class Gateway:
    """Grants and serves agent runs; one per process. Holds no key: the router's transports do. Thread-safe."""

    board: ModelRouter
    folder: Path
    """Folder for trajectories of active runs."""
    _runs: dict[str, GrantedRun] = field(default_factory=dict, init=False, repr=False)
    """Hash of the token → run."""
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def issue(self, grant: Grant) -> Issued:
        """Issue a token for one run. Raises `NotFound` if a model of the grant is not in data/models.toml."""
        for name in (grant.model, *grant.aliases.values()):
            self.board.models.card(name)
        token, run_id, now = new_token(), token_hex(8), self.board.clock.now()
        meter = Meter(f"run {run_id}", grant.budget, replays=True, clock=self.board.clock)
        run = GrantedRun(
            grant=grant,
            run_id=run_id,
            started_at=now,
            expires_at=now + timedelta(seconds=grant.valid_s),
            meter=meter,
            caller=Caller(work=grant.work, meters=(meter, *grant.meters), run_token=run_id, options=grant.options),
            recorder=Recorder(self.folder / f"{run_id}.jsonl"),
        )
        with self._lock:
            self._runs[token_hash(token)] = run
        return Issued(token, run_id)

    def finish(self, issued: Issued) -> AgentRun:
        """End a token; return the row of its run, which is stored with its trajectory."""
        with self._lock:
            run = self._runs.pop(token_hash(issued.token))
        store, trajectory = self.board.archive.store, run.recorder.close()
        row = self._account(run, store.put_file(trajectory) if trajectory else "")
        store.write([row], key=run.run_id)
        return row

    def run_of(self, token: str) -> GrantedRun:
        """Return the run of a token. Raises `TokenRefused`."""
        with self._lock:
            run = self._runs.get(token_hash(token))
        if run is None:
            raise TokenRefused("this is not the token of a run that is under way")
        if self.board.clock.now() >= run.expires_at:
            run.stopped = run.stopped or "expired"
            raise TokenRefused("the token of this run has expired")
        return run

    def call(self, run: GrantedRun, dialect: ModuleType, spoken: ClientRequest) -> SpokenAnswer:
        """Return the answer to a call. Records errors of `ModelRouter.call` in the run and raises them again."""
        first = self._request(run, dialect, spoken)
        request = replace(first, sample=first.sample + run.nth(first.call_key))
        thread = run.recorder.asked(request.messages, request.call_key, self.board.clock.now())
        caller = replace(run.caller, dialect=name_of(dialect))
        try:
            reply = self.board.call(request, caller)
        except SwtError as error:
            self._note_error(run, error)
            run.recorder.failed(thread, f"{error.slug}: {error}", request.call_key, self.board.clock.now())
            raise
        self._note_reply(run, reply)
        run.recorder.answered(thread, reply, request.call_key, self.board.clock.now())
        body = json.loads(reply.raw) if request.body else None
        return SpokenAnswer(reply, spoken, token_hex(12), int(time.time()), body)

    def unheard(self, run: GrantedRun, dialect: ModuleType, spoken: ClientRequest) -> None:
        """Record that the caller disconnected before its reply."""
        with suppress(SwtError):  # a refused call has no reply to repeat
            run.unheard(self._request(run, dialect, spoken).call_key)

    def _request(self, run: GrantedRun, dialect: ModuleType, spoken: ClientRequest) -> ModelRequest:
        """Return the request as for the first call with this content."""
        name = run.model_for(spoken.model)
        if name is None:
            hint = f"ask for {run.grant.model}"
            raise ModelRefused(f"this run may not use the model {spoken.model}; {hint}", hint=hint)
        said = Options(temperature=spoken.temperature, seed=spoken.seed, max_tokens=spoken.max_tokens)
        question = ModelQuestion(
            messages=spoken.messages,
            tools=spoken.tools,
            options=said,
            sample=run.grant.work.sample * SAMPLES_APART,
        )
        card = self.board.models.card(name)
        first = card.request(question, run.grant.options, spoken.options)
        if card.dialect == name_of(dialect):
            first = native(first, dialect, spoken, over=run.grant.options, under=card.options)
        return first

    def _note_error(self, run: GrantedRun, error: SwtError) -> None:
        with run.lock:
            if isinstance(error, BudgetExhausted):
                whose = "budget" if error.payer == run.meter.name else PAYER
                run.stopped = f"{whose}: {error.what}"
            elif not isinstance(error, OWN_FAULT):
                run.trouble = f"{error.slug}: {error}"

    def _note_reply(self, run: GrantedRun, reply: Reply) -> None:
        with run.lock:
            run.trouble = ""
            run.calls += 1
            run.replayed += reply.cached
            run.tokens_in += reply.usage.prompt or 0
            run.tokens_out += reply.usage.completion or 0

    def _account(self, run: GrantedRun, trajectory: str) -> AgentRun:
        work, spent = run.grant.work, run.spent
        return AgentRun(
            run_token=run.run_id,
            work_id=work.work_id(run.grant.model),
            method=MethodName(work.method),
            model=ModelName(run.grant.model),
            snapshot=SnapshotName(work.snapshot),
            instance_id=InstanceId(work.instance_id),
            instance_key=InstanceKey(work.instance_key),
            work_sample=work.sample,
            sweep=work.sweep,
            calls=run.calls,
            replayed=run.replayed,
            tokens_in=run.tokens_in,
            tokens_out=run.tokens_out,
            cost_usd=None if spent.unpriced else spent.usd,
            stopped=run.stopped,
            trouble=run.trouble,
            steps=run.recorder.steps,
            threads=run.recorder.threads,
            trajectory=trajectory,
            project_commit=self.board.stamp.project_commit,
            project_dirty=self.board.stamp.project_dirty,
            project_version=self.board.stamp.project_version,
            config_hash=self.board.stamp.config_hash,
            started_at=run.started_at,
            finished_at=self.board.clock.now(),
        )
