"""A warehouse with the demo's first instance, for the stage's task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.base import Model
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.host_environment import host_environment
from tasks.demo.history import build_mirror
from tasks.domain.places import Places
from tasks.generate.task import Generated, GenerationSettings, MethodWork, generate
from tasks.scrape.dataset_rows import import_instances

DEMO = Path(__file__).parents[2] / "data" / "demo"
SNAPSHOT = "demo"
SETTINGS = GenerationSettings(trusted=True)


class Desk:
    """A warehouse with the demo's first instance, and how a method is let loose on it."""

    def __init__(self, folder: Path, *, fresh: bool = True) -> None:
        self.places = Places(
            store=str(folder / "store"), cache=folder / "cache", recipes=folder, scratch=folder / "scratch"
        )
        self.store = Store(self.places.store)
        self.instance = import_instances(DEMO / "instances.jsonl", snapshot=SNAPSHOT).instances[0]
        if fresh:
            Mirrors(self.places.mirrors).add(self.instance.repo, build_mirror(DEMO, folder / "demo.git"))
        self.environment = host_environment(self.instance.repo).environment
        if fresh:
            self.store.write([self.instance])
            self.store.write([self.environment])
        self.request = MethodWork(
            snapshot=SNAPSHOT,
            method="",
            model="scripted",
            instance_id=self.instance.instance_id,
            env_id=self.environment.env_id,
            context=("larder/recipe.py",),
        )

    def generate(
        self, method: str, model: Model, request: MethodWork | None = None, settings: GenerationSettings = SETTINGS
    ) -> Generated:
        work = replace(request or self.request, method=method)
        return generate(self.places, settings, lambda _work, _key: model, work)
