"""Reads predictions files into `Candidate` rows, for `swt evaluate` and `swt submit check`.

The reader does not judge: an empty patch is a candidate too.

| key | meaning |
| --- | --- |
| `instance_id` | the instance; by default the key of the row |
| `model_name_or_path`, `method` | name of the method |
| `model_patch`, `prediction`, `patch` | the patch; null and empty are the same |
| `model` | the model of the method, as named in `data/models.toml`; contamination and cost use it |
| `sample` | 0-based number among the samples of one method and model for one instance |
| `date` | when the method made the patch: ISO 8601, or seconds since 1970 |
| `cost_usd`, `seconds`, `tokens_in`, `tokens_out`, `calls` | numbers from 0 on; invalid: a problem, ignored |
| `trajectory` | a file in the folder of the predictions; invalid: a problem, ignored |

Rows of OpenHands' `output.jsonl` have the patch in `test_result.git_patch`; their method is `openhands`. All unknown
keys together are one note for the file.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tasks.adapters.input_files.raw import LineProblem, RawRow, WrongValue, is_missing, moment_of, text_of, unread_note
from tasks.adapters.input_files.reader import read_rows
from tasks.domain.candidate import Candidate
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, MethodName, ModelName

PATCH_NAMES = ("model_patch", "prediction", "patch")
METHOD_NAMES = ("model_name_or_path", "method")
NUMBERS = ("cost_usd", "seconds", "tokens_in", "tokens_out", "calls")
TRAJECTORY = "trajectory"
"""Path of a file in the folder of the predictions."""
OPENHANDS, OPENHANDS_PATCH = "openhands", ("test_result", "git_patch")
"""The default method name of an OpenHands output file, and the path of its patch in a row."""
READ = frozenset(
    {"instance_id", "model", "sample", "date", TRAJECTORY, OPENHANDS_PATCH[0], *METHOD_NAMES, *PATCH_NAMES, *NUMBERS}
)
HIGHEST_SAMPLE = 2**31 - 1
NO_SUCH_INSTANCE = "there is no such instance in the snapshot"
EMPTY = "the file holds no row"


@dataclass(frozen=True, slots=True)
class Predictions:
    """The contents of a file: candidates in file order, and the problems by line."""

    candidates: tuple[Candidate, ...]
    problems: tuple[LineProblem, ...]
    notes: tuple[str, ...] = ()
    """Notes about the whole file: unknown keys. These are no problems."""


@dataclass(frozen=True, slots=True)
class _Prediction:
    """One parsed row, before it is compared with the snapshot."""

    line: int
    instance_id: InstanceId
    method: str
    model: ModelName | None
    sample: int | None
    """The number in the row; None if the row has none."""
    made_at: datetime | None
    patch: str


@dataclass(slots=True)
class _Seen:
    """The used sample numbers with their lines, by instance, method and model."""

    lines: defaultdict[tuple[str, str, str | None], dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, prediction: _Prediction, *, several: bool) -> tuple[int, int | None]:
        """Returns the sample number, and the line that already uses the wanted number.

        The line is None if the number was free, or if `several` predictions per instance are allowed.
        """
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
    """Reads all predictions of a JSON lines, JSON or Parquet file for the instances of one snapshot.

    `method` overrides the method name of the rows. Raises `BadInput` only if the file cannot be read.
    """
    return predictions_of(
        read_rows(path), instances, source=path.name, created_at=created_at, method=method, folder=path.parent
    )


def predictions_of(
    rows: Iterable[RawRow],
    instances: Iterable[TaskInstance],
    *,
    source: str,
    created_at: datetime,
    method: str | None = None,
    several: bool = False,
    folder: Path | None = None,
    also_read: Iterable[str] = (),
) -> Predictions:
    """Reads predictions from rows. A file without rows is a problem.

    A second prediction for one instance and method gets the next sample number. It is a problem unless `several` is
    true. `folder` is where trajectories are expected, if given. `also_read` are keys that the caller reads itself.
    """
    known = {instance.instance_id: instance for instance in instances}
    seen = _Seen()
    candidates: list[Candidate] = []
    problems: list[LineProblem] = []
    unread: Counter[str] = Counter()
    lines = 0
    for row in rows:
        lines += 1
        unread.update(row.values.keys() - READ - set(also_read))
        try:
            prediction = _read(row, method)
            instance = _instance(prediction.instance_id, known)
        except WrongValue as error:
            problems.append(LineProblem(row.line, _name(row), str(error)))
            continue
        problems += [LineProblem(row.line, prediction.instance_id, what) for what in _misread(row.values, folder)]
        sample, holder = seen.add(prediction, several=several)
        problem = ""
        if holder is not None:
            problem = f"line {holder} of {source} holds the first prediction for this instance and method"
            problems.append(LineProblem(row.line, prediction.instance_id, problem))
        candidates.append(_candidate(prediction, instance, sample, problem, source, created_at))
    if not lines:
        problems.append(LineProblem(1, None, EMPTY))
    return Predictions(tuple(candidates), tuple(problems), unread_note(source, unread))


def _read(row: RawRow, method: str | None) -> _Prediction:
    if row.problem:
        raise WrongValue(row.problem)
    return _Prediction(
        line=row.line,
        instance_id=_instance_id(row),
        method=_method(row.values, method),
        model=ModelName(_name_in(row.values, ("model",))) or None,
        sample=_sample(row.values),
        made_at=_date(row.values),
        patch=_patch(row.values),
    )


def _misread(values: Mapping[str, object], folder: Path | None) -> Iterator[str]:
    """Yields one message per optional value that is ignored because it is invalid for its key."""
    for name in NUMBERS:
        value = values.get(name)
        if not (value is None or value == "" or _is_amount(value)):
            yield f"{name} is {value!r}, and not a number from 0 on: read as missing"
    place = values.get(TRAJECTORY)
    if not (place is None or place == "" or folder is None or _is_beside(folder, place)):
        yield f"{TRAJECTORY} is {place!r}, and not a file beside the predictions: read as missing"


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_beside(folder: Path, place: object) -> bool:
    try:
        found = (folder / str(place)).resolve()
        return isinstance(place, str) and found.is_file() and found.is_relative_to(folder.resolve())
    except (OSError, ValueError):  # not a valid file name on this file system
        return False


def _instance_id(row: RawRow) -> InstanceId:
    """Returns the id in the row, or the key of the row. Raises `WrongValue` if they differ."""
    name = _name_in(row.values, ("instance_id",)) or row.key
    if not name:
        raise WrongValue("instance_id is missing")
    if row.key is not None and name != row.key:
        raise WrongValue(f"instance_id is {name!r}, but the row stands under {row.key!r}")
    return InstanceId(name)


def _method(values: Mapping[str, object], method: str | None) -> str:
    name = method or _name_in(values, METHOD_NAMES) or (OPENHANDS if _of_openhands(values) is not None else "")
    if not name:
        raise WrongValue(f"{METHOD_NAMES[0]} is missing")
    return name


def _of_openhands(values: Mapping[str, object]) -> Mapping[str, object] | None:
    """Returns the object of an OpenHands output row that contains the patch; None for other rows."""
    outer, inner = OPENHANDS_PATCH
    found = values.get(outer)
    return found if isinstance(found, dict) and inner in found else None


def _patch(values: Mapping[str, object]) -> str:
    """Returns the patch; null counts as empty. Raises `WrongValue` if no key for a patch exists."""
    if any(name in values for name in PATCH_NAMES):
        return _text(values, PATCH_NAMES)
    if (found := _of_openhands(values)) is not None:
        return _text(found, OPENHANDS_PATCH[1:])
    raise WrongValue(f"{PATCH_NAMES[0]} is missing")


def _sample(values: Mapping[str, object]) -> int | None:
    value = values.get("sample")
    if is_missing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HIGHEST_SAMPLE or value % 1:
        raise WrongValue(f"sample is {value!r}, and not a whole number from 0 to {HIGHEST_SAMPLE:,}")
    return int(value)  # pandas writes 1.0 if a column of integers has a null


def _date(values: Mapping[str, object]) -> datetime | None:
    try:
        return moment_of(values.get("date"))
    except WrongValue as error:
        raise WrongValue(f"date {error}") from error


def _text(values: Mapping[str, object], names: tuple[str, ...]) -> str:
    """Returns the first named value that is non-empty text. Returns an empty string if none is; NaN counts as empty."""
    for name in names:
        value = values.get(name)
        try:
            text = "" if isinstance(value, float) and math.isnan(value) else text_of(value)
        except WrongValue as error:
            raise WrongValue(f"{name} {error}") from error
        if text:
            return text
    return ""


def _name_in(values: Mapping[str, object], names: tuple[str, ...]) -> str:
    """Returns the first non-empty name. Raises `WrongValue` if it is not UTF-8, since names are displayed and
    compared."""
    text = _text(values, names)
    if not text.isascii() and text.encode("utf-8", "replace").decode() != text:
        raise WrongValue(f"{names[0]} is {text!r}, which is not UTF-8")
    return text


def _instance(name: InstanceId, known: Mapping[InstanceId, TaskInstance]) -> TaskInstance:
    if name not in known:
        raise WrongValue(NO_SUCH_INSTANCE)
    return known[name]


def _name(row: RawRow) -> InstanceId | None:
    """Returns the instance id of a row, if it can be read."""
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
