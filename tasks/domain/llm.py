"""Model calls: one row for every attempt that reached a provider, and for every replayed reply."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import InstanceId, InstanceKey, MethodName, ModelName, SnapshotName, content_key
from tasks.domain.table import table


class CallStatus(StrEnum):
    """How one attempt ended.

    `answered`  a complete reply arrived, was paid for and is stored
    `replayed`  the reply was already stored: nothing was sent and nothing paid
    `failed`    the provider returned an error, or could not be reached: assumed not charged
    `cut`       no complete reply arrived (cut off, unreadable, too late): the provider may have charged for one
    `unknown`   the process was killed, or failed otherwise, during the call: it is not known whether the provider
                charged for it
    """

    ANSWERED = "answered"
    REPLAYED = "replayed"
    FAILED = "failed"
    CUT = "cut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The unit of work that model calls belong to: one method on one instance."""

    method: str
    snapshot: str = ""
    instance_id: str = ""
    instance_key: str = ""
    sample: int = 0
    """0-based index of the candidate among the samples of the method."""
    step: str = ""
    """Part of the method, if it has several: `localize`, `judge`, `debug`."""
    sweep: str = ""
    """Name of the sweep that pays; its budget counts these calls."""

    def work_id(self, model: str) -> str:
        """Returns the key of the work. It excludes the sweep, because the payer does not change the work."""
        return content_key(
            "work", self.method, model, self.snapshot, self.instance_id, self.instance_key, self.sample, self.step
        )


@table("call_id", folder="model")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCall:
    """One attempt at a model call, or one replay.

    The money spent is the sum of `cost_usd` over `answered`. The cost of a method is the sum over `answered` and
    `replayed`.
    """

    call_id: str
    """The same work, position and content give the same id in every repetition of the work; failed attempts have
    separate ids."""
    call_key: str
    """Content key of the whole request: model, messages, tools, temperature, seed, sample, limit. The store has request
    and reply under `replies/<first two digits>/<call_key>.json.gz`."""
    work_id: str
    """Content key of the work that the call belongs to."""
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
    """Empty for a call without an instance."""
    instance_key: InstanceKey
    work_sample: int
    """0-based index among the samples of one method for one instance."""
    step: str
    """The part of the method that made the call."""
    sweep: str
    """Name of the sweep that pays."""
    run_token: str
    """Public id of the run token used at the gateway; empty for a call from this process."""
    dialect: str
    """API of the caller: `protocol` for this project's own methods, else `chat`, `responses`, `messages`."""
    prompt_hash: str
    """Content key of the messages alone."""
    sample: int
    """0-based index among calls of equal content."""
    temperature: float | None
    """As sent; null if the model does not support it."""
    seed: int | None
    """As sent; null if there was none."""
    tokens_in: int | None
    """Null if the provider did not report it."""
    tokens_out: int | None
    """Null if the provider did not report it."""
    tokens_cached: int | None
    """Part of `tokens_in` read from the provider's prompt cache."""
    tokens_cache_written: int | None
    """Part of `tokens_in` written to the provider's prompt cache at a separate price; null if not reported, and for
    calls older than this column."""
    cost_usd: float | None
    """Null if unknown: no price, no usage, or an attempt that was cut. 0 only if the price is 0 or the provider refused
    before doing any work."""
    estimate_usd: float | None
    """Upper bound of the cost of this attempt, from the sent bytes and the reply limit. A dollar budget reserves it,
    and charges it if `cost_usd` stays null. Null for a replay, and without a price."""
    seconds: float
    """From sending to the last byte; for a replay, of the original call."""
    waited_s: float
    """Seconds before sending: rate limiter, backoff, another call with equal content."""
    finish_reason: str
    """The provider's value."""
    error: str
    """Slug of the error and its first line; empty for a reply."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@table("run_token", folder="method", files=("trajectory",))
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One run of an agent behind the gateway: the use of its run token."""

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
    """Name of the sweep that pays."""
    calls: int
    """Replies that it received, replayed ones included."""
    replayed: int
    """Replies from the reply cache."""
    tokens_in: int
    """Sum of the reported numbers; a reply without token counts adds nothing."""
    tokens_out: int
    """As tokens_in."""
    cost_usd: float | None
    """Of all its replies, replayed or not; null if the cost of any is unknown."""
    stopped: str
    """`budget: calls` (or `usd`, `tokens`, `seconds`) or `expired` if its own limit ended it; `payer: usd` (and so on)
    if the sweep could not pay for the next call; empty otherwise."""
    trouble: str
    """Internal or provider error at the end: such a run has no candidate and is repeated. Empty if there was none, or
    if a later call of the agent succeeded."""
    steps: int
    """Calls in the trajectory."""
    threads: int
    """Number of its conversations."""
    trajectory: str
    """SHA-256 of the JSON lines of `RecordedStep` under `files/` of the store; empty if it made no call."""
    project_commit: str
    project_dirty: bool
    project_version: str
    config_hash: str
    started_at: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One line of a trajectory file: one message of one conversation, in the order of arrival.

    A conversation that an agent rewrites or starts anew, for example by a summary, is a new `thread`. Earlier messages
    are not repeated within a thread. The trajectory audit reads these as `TrajectoryStep`s.
    """

    position: int
    """0-based line of the file."""
    thread: int
    """0-based number of the conversation: agents with sub-agents have several."""
    role: str
    """`system`, `user`, `assistant`, `tool`; or `error` if a budget or the provider prevented a reply."""
    text: str
    tool: str
    """Name of the tool that an `assistant` calls or that a `tool` message belongs to; empty for plain text."""
    arguments: str
    """The arguments of the tool call, as the model wrote them."""
    tool_call_id: str
    call_key: str
    """Content key of the model call that sent or returned the step; empty in notes of this project's own methods, whose
    calls are rows of `llm_call`."""
    at: datetime
