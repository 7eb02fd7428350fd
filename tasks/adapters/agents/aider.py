"""Aider: pair programming in a terminal, run here without a user."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit

WINDOW = 128_000
MAP_TOKENS = 1024
_QUIET = (
    *("--yes-always", "--no-stream", "--no-pretty", "--no-fancy-input", "--no-detect-urls", "--no-notifications"),
    *("--no-analytics", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings"),
    *("--no-check-model-accepts-settings", "--no-suggest-shell-commands", "--disable-playwright"),
)
VALIDATE = """\
import json, os, subprocess, sys
from pathlib import Path

told = json.loads((Path(__file__).parent / "validation.json").read_text())
found = []
for words in (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"]):
    found += subprocess.run(["git", *words, "-z"], capture_output=True, text=True, check=True).stdout.split("\\0")
tests = [path for path in found if path.endswith(".py") and "test" in path and Path(path).exists()]
if told["targets"] == "module":
    tests = [path.removesuffix(".py").removeprefix("tests/").replace("/", ".") for path in tests]
env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
try:
    sys.exit(subprocess.run([*told["command"], *tests], env=env, timeout=300).returncode if tests else 0)
except subprocess.TimeoutExpired:
    sys.exit("the tests took more than 300 seconds")
"""
"""Script that runs the tests edited so far."""
REFLECTIONS = 3
"""Default number of replies to failed edits or tests in Aider; its command line has no option for it."""
_START = "from aider.coders.base_coder import Coder; Coder.max_reflections = {}; from aider.main import main; main()"
_GIT = ("--no-auto-commits", "--no-dirty-commits", "--no-gitignore")


def launch(errand: AgentTask) -> Launch:
    """Start Aider with its own reflection.

    Aider repairs edits that do not apply and files that do not parse. It does so at most three times, unless an
    experiment sets another number of replies. With a validation it also runs the edited tests and shows the model what
    fails, which includes tests that reproduce the issue.
    """
    model, outbox = f"openai/{errand.model}", str(errand.outbox)
    facts = {"max_input_tokens": WINDOW, "max_output_tokens": 8192, "litellm_provider": "openai", "mode": "chat"}
    settings = {
        "--model": model,
        "--weak-model": model,
        "--edit-format": "diff",
        "--map-tokens": str(MAP_TOKENS),
        "--model-metadata-file": f"{outbox}/models.json",
        "--message-file": f"{outbox}/prompt.md",
        "--chat-history-file": f"{outbox}/chat.md",
        "--input-history-file": f"{outbox}/input",
        "--env-file": f"{outbox}/none",
    }
    files = {"prompt.md": errand.prompt, "models.json": json.dumps({model: facts})}
    checks: tuple[str, ...] = ()
    if errand.validation:
        files |= {"validate.py": VALIDATE, "validation.json": json.dumps(asdict(errand.validation))}
        run = shlex.join((*errand.python, f"{outbox}/validate.py"))
        checks = ("--auto-test", "--test-cmd", run)
    options = [word for pair in settings.items() for word in pair]
    return Launch(
        argv=(*errand.python, "-c", _START.format(errand.calls - 1), *_QUIET, *_GIT, *checks, *options),
        env={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        files=files,
    )


AIDER = Agent(
    name="aider",
    summary="Aider itself, with its map of the repository",
    kit=PythonKit(requirements=("aider-chat==0.86.2",)),
    dialect="chat",
    launch=launch,
    leftovers=(".aider*",),
    validates=True,
    stops_after=1 + REFLECTIONS,
    advice="You see a map of the repository; ask for the files that you need, then write the tests.",
)
