"""Model calls: one row for every attempt that reached a provider, and for every reply that was replayed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import InstanceId, InstanceKey, MethodName, ModelName, SnapshotName, content_key
from tasks.domain.table import table


class CallStatus(StrEnum):
    """How one attempt ended.

    `answered`  a whole reply came, was paid for and is kept
    `replayed`  the reply was there already: nothing was sent and nothing paid
    `failed`    the provider gave an error, or could not be reached: taken as not paid for
    `cut`       no whole reply came (cut off, unreadable, none in time): the provider may have charged for one
    `unknown`   this process was killed, or failed otherwise, while the call was under way: nobody can tell whether it
                was paid for
    """

    ANSWERED = "answered"
    REPLAYED = "replayed"
    FAILED = "failed"
    CUT = "cut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The unit of work that model calls are made for: one method on one instance."""

    method: str
    snapshot: str = ""
    instance_id: str = ""
    instance_key: str = ""
    sample: int = 0
    """0-based index of the candidate among the samples of the method."""
    step: str = ""
    """Part of the method, where it has several: `localize`, `judge`, `debug`."""
    sweep: str = ""
    """Name of the sweep that pays; its budget counts these calls."""

    def work_id(self, model: str) -> str:
        """Who pays does not make it other work: the sweep is left out."""
        return content_key(
            "work", self.method, model, self.snapshot, self.instance_id, self.instance_key, self.sample, self.step
        )


@table("call_id", folder="model")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCall:
    """One attempt at a model call, or one replay. Dollars spent are the sum of `cost_usd` where `answered`; what a
    method costs is the sum over `answered` and `replayed`."""

    call_id: str
    """Same work, same position and same content make the same id, however often the work is done again;
    attempts that failed have an id of their own."""
    call_key: str
    """Content key of everything sent: model, messages, tools, temperature, seed, sample, limit. What was sent and
    what came back lie in the store under `replies/<first two digits>/<call_key>.json.gz`."""
    work_id: str
    """Content key of the work that the call is a part of."""
    position: int
    """0-based place among the calls of the work."""
    attempt: int
    """1-based; 0 for a replay."""
    status: CallStatus
    method: MethodName
    model: ModelName
    """Name in data/models.toml."""
    snapshot: SnapshotName
    instance_id: InstanceId
    """Empty for a call that serves no instance."""
    instance_key: InstanceKey
    work_sample: int
    """0-based index among the samples of one method for one instance."""
    step: str
    """Which part of the method asked."""
    sweep: str
    """Who pays."""
    run_token: str
    """Public id of the run token that the gateway took the call with; empty for a call from this process."""
    dialect: str
    """How the caller spoke: `protocol` for our own methods, else `chat`, `responses`, `messages`."""
    prompt_hash: str
    """Content key of the messages alone."""
    sample: int
    """0-based index among calls of equal content."""
    temperature: float | None
    """As it was sent; null where the model takes none."""
    seed: int | None
    """As it was sent; null where none was."""
    tokens_in: int | None
    """Null where the provider did not say."""
    tokens_out: int | None
    """Null where the provider did not say."""
    tokens_cached: int | None
    """Part of `tokens_in` that the provider had in its prompt cache."""
    tokens_cache_written: int | None
    """Part of `tokens_in` that was put into the provider's prompt cache for a price of its own; null where it does not
    say, and for calls from before this was asked."""
    cost_usd: float | None
    """Null where it is unknown: no price, no usage, or an attempt that was cut. 0 only where the price is 0 or the
    provider refused before doing any work."""
    estimate_usd: float | None
    """The most that this attempt can have cost, by the bytes that were sent and the limit on the reply: what a budget
    in dollars sets aside for it, and books where `cost_usd` stays null. Null for a replay, and where there is no
    price."""
    seconds: float
    """From sending to the last byte; of the original call for a replay."""
    waited_s: float
    """Seconds spent before sending: limiter, backoff, another call with equal content."""
    finish_reason: str
    """As the provider says it."""
    error: str
    """Slug of what went wrong and its first line; empty for a reply."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@table("run_token", folder="method", files=("trajectory",))
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One run of an agent behind the gateway: what its run token was used for."""

    run_token: str
    """Public id of the token, as in `llm_call`."""
    work_id: str
    """As in `llm_call`."""
    method: MethodName
    model: ModelName
    snapshot: SnapshotName
    instance_id: InstanceId
    instance_key: InstanceKey
    work_sample: int
    """As in `llm_call`."""
    sweep: str
    """Who pays."""
    calls: int
    """Replies that it got, replayed ones included."""
    replayed: int
    """Those of them that the archive gave."""
    tokens_in: int
    """Sum of what the provider told; a reply without token counts adds nothing."""
    tokens_out: int
    """As tokens_in."""
    cost_usd: float | None
    """Of all its replies, replayed or not; null where that of any is unknown."""
    stopped: str
    """`budget: calls` (or `usd`, `tokens`, `seconds`) or `expired` where a ceiling of its own ended it; `payer: usd`
    (and so on) where the sweep had too little left for its next call; empty otherwise."""
    trouble: str
    """What of ours or the provider's went wrong at the end: such a run has no candidate, and is done again. Empty
    where nothing did, or where a later call of the agent went well."""
    steps: int
    """Calls that the trajectory shows."""
    threads: int
    """Conversations that it had."""
    trajectory: str
    """SHA-256 of the JSON lines of `RecordedStep` under `files/` of the store; empty where it asked nothing."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One line of a trajectory file: one message of one conversation, in the order in which they were seen.

    A conversation that an agent rewrites (it summarised, or began another) is a new `thread`; a message that was there
    before is not repeated within a thread. The trajectory audit reads these as `TrajectoryStep`s.
    """

    position: int
    """0-based line of the file."""
    thread: int
    """0-based number of the conversation: agents with helpers of their own have several."""
    role: str
    """`system`, `user`, `assistant`, `tool`; or `error` for an answer that was none: a budget, the provider."""
    text: str
    tool: str
    """Name of the tool that an `assistant` calls or a `tool` message answers; empty for plain text."""
    arguments: str
    """What the tool is called with, as the model wrote it."""
    tool_call_id: str
    call_key: str
    """Content key of the model call that the step went out with or came back from; empty in notes of our own methods,
    whose calls are rows of `llm_call` anyway."""
    at: datetime
