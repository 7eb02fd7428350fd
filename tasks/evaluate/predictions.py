"""Predictions files → `Candidate` rows. Nothing is judged here: an empty patch is a candidate like any other.

| key | what |
| --- | --- |
| `instance_id` | the instance; or the key that the row stands under |
| `model_name_or_path`, `method` | what the method is called |
| `model_patch`, `prediction`, `patch` | the patch; null and empty are the same |
| `model` | the model behind the method, as `data/models.toml` calls it: contamination and cost go by it |
| `sample` | 0-based number among the samples of one method and model for one instance |
| `date` | when the method made it: ISO 8601, or seconds since 1970 |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tasks.adapters.rows.raw import LineProblem, RawRow, WrongValue, is_missing, moment_of, text_of
from tasks.adapters.rows.reader import read_rows
from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, MethodName, ModelName

PATCH_NAMES = ("model_patch", "prediction", "patch")
METHOD_NAMES = ("model_name_or_path", "method")
NO_SUCH_INSTANCE = "there is no such instance in the snapshot"


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a file gave: the candidates in its order, and a problem for every line that deserves one."""

    candidates: tuple[Candidate, ...]
    problems: tuple[LineProblem, ...]


@dataclass(frozen=True, slots=True)
class _Prediction:
    """One row as it was read, before it is held against the snapshot."""

    line: int
    instance_id: InstanceId
    method: str
    model: ModelName | None
    sample: int | None
    """As the row says it; null where it does not."""
    made_at: datetime | None
    patch: str


@dataclass(slots=True)
class _Seen:
    """The sample numbers that are taken, with their lines, per instance, method and model."""

    lines: defaultdict[tuple[str, str, str | None], dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, prediction: _Prediction, *, several: bool) -> tuple[int, int | None]:
        """Its sample number, and the line that has its place already: null where the place was free, or `several` are
        meant."""
        taken = self.lines[prediction.instance_id, prediction.method, prediction.model]
        wanted = prediction.sample or 0
        holder = taken.get(wanted)
        sample = wanted if holder is None else max(taken) + 1
        taken[sample] = prediction.line
        return sample, None if several else holder


def read_predictions(
    path: Path,
    instances: Iterable[TaskInstance],
    *,
    created_at: datetime,
    method: str | None = None,
) -> Predictions:
    """All predictions of a JSON lines, JSON or Parquet file for the instances of one snapshot.

    `method` is what the method is called, whatever the rows call it. Raises `BadInput` only where the file cannot be
    read.
    """
    return predictions_of(read_rows(path), instances, source=path.name, created_at=created_at, method=method)


def predictions_of(
    rows: Iterable[RawRow],
    instances: Iterable[TaskInstance],
    *,
    source: str,
    created_at: datetime,
    method: str | None = None,
    several: bool = False,
) -> Predictions:
    """A second prediction for one instance and method is kept with the next sample number and, unless `several` may be
    meant, a problem."""
    known = {instance.instance_id: instance for instance in instances}
    seen = _Seen()
    candidates: list[Candidate] = []
    problems: list[LineProblem] = []
    for row in rows:
        try:
            prediction = _read(row, method)
            instance = _instance(prediction.instance_id, known)
        except WrongValue as error:
            problems.append(LineProblem(row.line, _name(row), str(error)))
            continue
        sample, holder = seen.add(prediction, several=several)
        problem = ""
        if holder is not None:
            problem = f"line {holder} of {source} holds the first prediction for this instance and method"
            problems.append(LineProblem(row.line, prediction.instance_id, problem))
        candidates.append(_candidate(prediction, instance, sample, problem, source, created_at))
    return Predictions(tuple(candidates), tuple(problems))


def _read(row: RawRow, method: str | None) -> _Prediction:
    if row.problem:
        raise WrongValue(row.problem)
    return _Prediction(
        line=row.line,
        instance_id=_instance_id(row),
        method=_method(row.values, method),
        model=ModelName(_text(row.values, ("model",))) or None,
        sample=_sample(row.values),
        made_at=_date(row.values),
        patch=_patch(row.values),
    )


def _instance_id(row: RawRow) -> InstanceId:
    """Named in the row, or by the key that the row stands under; both must agree."""
    name = _text(row.values, ("instance_id",)) or row.key
    if not name:
        raise WrongValue("instance_id is missing")
    if row.key is not None and name != row.key:
        raise WrongValue(f"instance_id is {name!r}, but the row stands under {row.key!r}")
    return InstanceId(name)


def _method(values: Mapping[str, object], method: str | None) -> str:
    name = method or _text(values, METHOD_NAMES)
    if not name:
        raise WrongValue(f"{METHOD_NAMES[0]} is missing")
    return name


def _patch(values: Mapping[str, object]) -> str:
    """A null patch is an empty one; no patch at all is a mistake in the file."""
    if not any(name in values for name in PATCH_NAMES):
        raise WrongValue(f"{PATCH_NAMES[0]} is missing")
    return _text(values, PATCH_NAMES)


def _sample(values: Mapping[str, object]) -> int | None:
    value = values.get("sample")
    if is_missing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value % 1:
        raise WrongValue(f"sample is {value!r}, and not a number from 0 on")
    return int(value)  # data frames with a null among the numbers write 1.0


def _date(values: Mapping[str, object]) -> datetime | None:
    try:
        return moment_of(values.get("date"))
    except WrongValue as error:
        raise WrongValue(f"date {error}") from error


def _text(values: Mapping[str, object], names: tuple[str, ...]) -> str:
    """The first of the named values that is text and not empty; an empty string where none is."""
    for name in names:
        try:
            text = text_of(values.get(name))
        except WrongValue as error:
            raise WrongValue(f"{name} {error}") from error
        if text:
            return text
    return ""


def _instance(name: InstanceId, known: Mapping[InstanceId, TaskInstance]) -> TaskInstance:
    if name not in known:
        raise WrongValue(NO_SUCH_INSTANCE)
    return known[name]


def _name(row: RawRow) -> InstanceId | None:
    """The instance that a row speaks of, as far as one can tell."""
    name = row.values.get("instance_id", row.key)
    return InstanceId(name) if isinstance(name, str) else None


def _candidate(
    prediction: _Prediction, instance: TaskInstance, sample: int, problem: str, source: str, created_at: datetime
) -> Candidate:
    key, method, patch = instance.instance_key, prediction.method, prediction.patch
    return Candidate(
        candidate_id=Candidate.id_of(key, method, prediction.model, sample, patch),
        snapshot=instance.snapshot,
        instance_id=instance.instance_id,
        instance_key=key,
        method=MethodName(method),
        model=prediction.model,
        sample=sample,
        patch=patch,
        provenance="self_reported",
        source=f"{source}:{prediction.line}",
        problem=problem,
        created_at=created_at,
        made_at=prediction.made_at,
    )
