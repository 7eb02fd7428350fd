"""Claude Code: the agent of Anthropic. Proprietary, so this repository contains only the adapter."""

from __future__ import annotations

from tasks.adapters.agents.base import Agent, AgentTask, Launch, NpmKit

VERSION = "2.1.330"
_START = 'exec "$0" "$@" < "$SWT_PROMPT"'
_PROGRAM = "node_modules/@anthropic-ai/claude-code-linux-*[0-9]/claude"
_WEB = "WebFetch,WebSearch"


def launch(errand: AgentTask) -> Launch:
    """Start Claude Code. The run's model answers whatever model it requests. It writes its settings to a temporary
    folder."""
    (program,) = errand.root.glob(_PROGRAM)
    how = ("-p", "--bare", "--verbose", "--output-format", "stream-json", "--max-turns", str(errand.calls))
    rules = ("--model", errand.model, "--disallowedTools", _WEB, "--permission-mode", "bypassPermissions")
    return Launch(
        argv=("/bin/sh", "-c", _START, str(program), *how, *rules),
        env={
            "CLAUDE_CONFIG_DIR": f"{errand.outbox}/claude",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            "SWT_PROMPT": f"{errand.outbox}/prompt.md",
        },
        files={"prompt.md": errand.prompt},
    )


CLAUDE_CODE = Agent(
    name="claude_code",
    summary="Claude Code itself",
    kit=NpmKit(packages=(f"@anthropic-ai/claude-code@{VERSION}",)),
    dialect="messages",
    launch=launch,
    leftovers=(".claude", ".claude.json"),
    advice="Run your tests and see them fail for the reason that the issue gives, then stop.",
)
