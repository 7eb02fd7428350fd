"""OpenCode: a terminal agent. Runs the binary in its npm package, so it needs no Node inside."""

from __future__ import annotations

import json

from tasks.adapters.agents.base import Agent, AgentTask, Launch, NpmKit

VERSION = "1.18.33"
_START = 'exec "$0" "$@" < "$SWT_PROMPT"'
_PROGRAM = "node_modules/opencode-linux-*[0-9]/bin/opencode"


def launch(errand: AgentTask) -> Launch:
    """Start OpenCode with the run's provider only, without requests for lists, updates, plug-ins or language servers.

    The token is in its configuration, so that its shell does not get it.
    """
    (program,) = errand.root.glob(_PROGRAM)
    model = f"swt/{errand.model}"
    config = {
        "model": model,
        "small_model": model,
        "enabled_providers": ["swt"],
        "provider": {
            "swt": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{errand.url}/v1", "apiKey": errand.token},
                "models": {errand.model: {"name": errand.model}},
            }
        },
        "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny", "question": "deny"},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "lsp": False,
        "formatter": False,
    }
    own = f"{errand.outbox}/opencode"
    return Launch(
        argv=("/bin/sh", "-c", _START, str(program), "run", "--format", "json"),
        env={
            "OPENCODE_CONFIG": f"{errand.outbox}/opencode.json",
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "true",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            "OPENCODE_DISABLE_PROJECT_CONFIG": "true",
            "XDG_CACHE_HOME": f"{own}/cache",
            "XDG_CONFIG_HOME": f"{own}/config",
            "XDG_DATA_HOME": f"{own}/data",
            "XDG_STATE_HOME": f"{own}/state",
            "OPENAI_API_KEY": "",
            "ANTHROPIC_API_KEY": "",
            "SWT_PROMPT": f"{errand.outbox}/prompt.md",
        },
        files={"prompt.md": errand.prompt, "opencode.json": json.dumps(config)},
    )


OPENCODE = Agent(
    name="opencode",
    summary="OpenCode itself",
    kit=NpmKit(packages=(f"opencode-ai@{VERSION}",)),
    dialect="chat",
    launch=launch,
    leftovers=(".opencode",),
    advice="Work until the tests are written and you saw them fail for the reason that the issue gives.",
)
