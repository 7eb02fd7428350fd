"""Aider: pair programming in a terminal, here with nobody at it."""

from __future__ import annotations

import json

from tasks.adapters.agents.base import Agent, Errand, Launch, PythonKit

WINDOW = 128_000
MAP_TOKENS = 1024
_QUIET = (
    *("--yes-always", "--no-stream", "--no-pretty", "--no-fancy-input", "--no-detect-urls", "--no-notifications"),
    *("--no-analytics", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings"),
    *("--no-check-model-accepts-settings", "--no-suggest-shell-commands", "--disable-playwright"),
)
_GIT = ("--no-auto-commits", "--no-dirty-commits", "--no-gitignore")


def launch(errand: Errand) -> Launch:
    """Its own reflection: it repairs edits that do not fit and files that no longer parse, at most three times."""
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
    options = [word for pair in settings.items() for word in pair]
    return Launch(
        argv=(*errand.python, "-m", "aider", *_QUIET, *_GIT, *options),
        env={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        files={"prompt.md": errand.prompt, "models.json": json.dumps({model: facts})},
    )


AIDER = Agent(
    name="aider",
    summary="Aider itself, with its map of the repository",
    kit=PythonKit(requirements=("aider-chat==0.86.2",)),
    dialect="chat",
    launch=launch,
    leftovers=(".aider*",),
    advice="You see a map of the repository; ask for the files that you need, then write the tests.",
)
