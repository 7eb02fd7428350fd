"""A candidate that searches the memory of its process finds the same in every run: not which lines are golden, and not
whether it is judged or checked again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flows.demo import SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest
from flows.interface.settings import Settings
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.instance import ChangedLine, TaskInstance

INSTANCE = "rolling-swt-bench__larder-3"
SEARCH = """

def test_what_is_in_memory(capfd):
    import gc, json, sys, types
    LEFT_OUT = ("order", "order_seed", "report")
    configs, probed = [], {}
    for found in gc.get_objects():
        if type(found) is dict and "probe" in found and "runner" in found:
            configs.append({name: value for name, value in found.items() if name not in LEFT_OUT})
    import larder
    functions = [found for found in gc.get_objects() if isinstance(found, types.FunctionType)]
    codes = [function.__code__ for function in functions if "larder" in (function.__module__ or "")]
    while codes:
        code = codes.pop()
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                codes.append(constant)
            elif type(constant).__name__ == "method-wrapper" or callable(constant):
                probed.setdefault(code.co_filename.rpartition("/")[2], set()).add(code.co_name)
    names = {name: sorted(found) for name, found in probed.items()}
    with capfd.disabled():
        print("SEEN", json.dumps([configs, names], sort_keys=True), flush=True)
"""


@pytest.fixture
def candidate(settings: Settings, tmp_path: Path) -> Path:
    """The golden tests, and a case beside them that says what it sees."""
    (instance,) = Store(settings.store).read(TaskInstance, snapshot=SNAPSHOT, instance_id=INSTANCE)
    lines = SEARCH.splitlines()
    new = "".join(f"+{line}\n" for line in lines)
    path = "tests/test_memory.py"
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    patch = f"{head}@@ -0,0 +1,{len(lines)} @@\n{new}"
    row = {"instance_id": INSTANCE, "model_name_or_path": "searcher", "model_patch": instance.test_patch + patch}
    (tmp_path / "preds.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path / "preds.jsonl"


@pytest.mark.slow
def test_all_runs_of_a_suite_look_alike(settings: Settings, candidate: Path) -> None:
    request = EvaluationRequest(
        candidates=("golden", str(candidate)), snapshot=SNAPSHOT, instances=(INSTANCE,), guards=True
    )
    run_flow(request, settings)
    asked = "SELECT log, variant, tracer, code_state FROM run WHERE suite_kind = 'candidate' ORDER BY ALL"
    runs = query(settings.database, asked).to_pylist()
    forms = {(run["variant"], run["tracer"]) for run in runs}
    assert forms >= {("plain", "probe"), ("repeat", "none"), ("placebo", "none"), ("proposed", "none")}
    store = Store(settings.store)
    seen = []
    for run in runs:
        with store.open_file(run["log"]) as log:
            seen += re.findall(r"SEEN (.*)", log.read().decode())
    assert len(seen) == len(runs)
    [configs, _] = json.loads(seen[0])
    assert len(configs) == 1, "it is found where it is"
    assert len({json.dumps(json.loads(one)[0]) for one in seen}) == 1
    for one in seen:
        names = json.loads(one)[1]
        assert sum(map(len, names.values())) > 10, "probes are everywhere"
    changed = {line.path for line in store.read(ChangedLine)}
    assert not any(path in seen[0] for path in changed)
    rows = query(settings.database, "SELECT DISTINCT path, unnest(lines) AS line FROM line_hit").to_pylist()
    (instance,) = store.read(TaskInstance, snapshot=SNAPSHOT, instance_id=INSTANCE)
    own = {(line.path, line.line) for line in store.read(ChangedLine, instance_key=instance.instance_key)}
    assert rows
    assert {(row["path"], row["line"]) for row in rows} <= own, "what is stored is about watched lines only"
