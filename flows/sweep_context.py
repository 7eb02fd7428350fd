"""What each method is given of each instance: retrieved files, or what an experiment hands out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.fan_out import Failed, FanOut, Unit
from flows.settings import Settings
from flows.sweep_given import Give, changed_files, most_changed
from flows.sweep_request import SweepRequest
from tasks.adapters.store.warehouse import Store
from tasks.domain.instance import TaskInstance
from tasks.domain.localization import Localization, Report
from tasks.domain.names import EnvId, InstanceId
from tasks.generate.task import Request
from tasks.localize.settings import Bm25Settings
from tasks.localize.task import localize_with_bm25
from tasks.methods.method import CodePatch, Method

BATCH = 25
"""Reports for one task of retrieval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Retrieved files of the instances, best first."""

    files: Mapping[InstanceId, tuple[str, ...]]
    problems: tuple[str, ...] = ()
    """One line for each batch or report that could not be ranked; these instances have no context."""

    def covers(self, method: Method, instance: TaskInstance) -> bool:
        """Whether what the method wants is there."""
        return not method.retrieval or instance.instance_id in self.files


def retrieve(
    request: SweepRequest, methods: Sequence[Method], instances: Sequence[TaskInstance], settings: Settings, fan: FanOut
) -> Context:
    """BM25's files for the instances, unless no method wants any."""
    if Give.MODIFIED_FILES in request.give or not any(method.retrieval for method in methods):
        return Context(files={instance.instance_id: () for instance in instances})
    wanted = Bm25Settings(variant=request.context)
    batches = [instances[at : at + BATCH] for at in range(0, len(instances), BATCH)]
    units: list[Unit] = [(settings.places, wanted, tuple(map(Report.of_instance, batch))) for batch in batches]
    files: dict[InstanceId, tuple[str, ...]] = {}
    problems: list[str] = []
    results = fan("retrieval", localize_with_bm25, units)
    for batch, result in zip(batches, results, strict=True):
        if isinstance(result, Failed):
            problems.append(f"retrieval: {result.error}")
            continue
        problems += [f"retrieval: {line}" for line in result.problems]
        ranked = _rankings(settings, result.localization_ids)
        for instance, key in zip(batch, result.localization_ids, strict=True):
            if key in ranked:
                files[instance.instance_id] = ranked[key]
    return Context(files=files, problems=tuple(problems))


def _rankings(settings: Settings, ids: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, list[Localization]] = defaultdict(list)
    for row in Store(settings.store).read(Localization, localization_id=ids):
        found[row.localization_id].append(row)
    return {key: tuple(row.path for row in sorted(rows, key=lambda row: row.rank)) for key, rows in found.items()}


def request_for(
    request: SweepRequest, method: Method, instance: TaskInstance, env_id: EnvId, context: Context
) -> Request:
    """What the method is given of the instance."""
    fix = _fix(request, instance)
    files = context.files.get(instance.instance_id, ()) if method.retrieval else ()
    if fix and Give.MODIFIED_FILES in request.give:
        files = changed_files(fix.text)
    return Request(
        instance_id=instance.instance_id,
        env_id=env_id,
        context=files,
        modified_files=Give.MODIFIED_FILES in request.give,
        test_file=most_changed(instance.test_patch) if Give.TEST_FILE in request.give else "",
        code_patch=fix,
    )


def _fix(request: SweepRequest, instance: TaskInstance) -> CodePatch | None:
    if Give.GOLDEN_PATCH in request.give:
        return CodePatch(text=instance.patch, correct=True)
    if Give.INCORRECT_PATCH in request.give:
        return CodePatch(text=request.incorrect[instance.instance_id], correct=False)
    return None
