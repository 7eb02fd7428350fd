"""Codex CLI: the agent of OpenAI. Runs the binary in its npm package, so it needs no Node inside."""

from __future__ import annotations

import json

from tasks.adapters.agents.base import Agent, AgentTask, Launch, NpmKit

VERSION = "0.169.0"
_START = 'exec "$0" "$@" < "$SWT_PROMPT"'
_PROGRAM = "node_modules/@openai/codex-linux-*/vendor/*/bin/codex"


def launch(errand: AgentTask) -> Launch:
    """Start Codex without its own sandbox, since it runs in ours, and without web search and telemetry.

    The prompt goes to standard input: it may be too long for an argument.
    """
    (program,) = errand.root.glob(_PROGRAM)
    settings = {
        "model": errand.model,
        "model_provider": "swt",
        "model_providers.swt.name": "swt",
        "model_providers.swt.base_url": f"{errand.url}/v1",
        "model_providers.swt.env_key": "OPENAI_API_KEY",
        "model_providers.swt.wire_api": "responses",
        "model_providers.swt.request_max_retries": 0,
        "model_providers.swt.stream_max_retries": 0,
        "web_search": "disabled",
        "check_for_update_on_startup": False,
        "analytics.enabled": False,
        "history.persistence": "none",
        "shell_environment_policy.exclude": ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={json.dumps(value)}")]
    how = ("--json", "--skip-git-repo-check", "--ephemeral", "--dangerously-bypass-approvals-and-sandbox")
    return Launch(
        argv=("/bin/sh", "-c", _START, str(program), "exec", *how, "-C", str(errand.checkout), *options, "-"),
        env={"CODEX_HOME": f"{errand.outbox}/codex", "SWT_PROMPT": f"{errand.outbox}/prompt.md"},
        files={"prompt.md": errand.prompt, "codex/config.toml": ""},
    )


CODEX = Agent(
    name="codex",
    summary="Codex CLI itself",
    kit=NpmKit(packages=(f"@openai/codex@{VERSION}",)),
    dialect="responses",
    launch=launch,
    leftovers=(".codex",),
    advice="Work until the tests are written and you saw them fail for the reason that the issue gives.",
)
