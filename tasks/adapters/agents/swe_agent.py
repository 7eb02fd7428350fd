"""SWE-agent: a shell and an editor for models. A variant has instructions to run tests, its own included."""

from __future__ import annotations

import json
from dataclasses import replace

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit

COMMAND_SECONDS = 120
_BUNDLES = ("registry", "edit_anthropic", "submit")

_BASHRC = """\
pip() {
    if [ "$1" = install ]; then echo "There is no network: nothing was installed."; else command pip "$@"; fi
}
"""
"""Makes `pip install` a no-op: SWE-agent's editor installs two optional packages and stops if that fails."""


def launch(errand: AgentTask) -> Launch:
    """Start SWE-agent with our settings. It must write to /root. It gets no repository to reset: it starts in one."""
    source, outbox = f"{errand.root}/source", str(errand.outbox)
    config = {
        "output_dir": f"{outbox}/runs",
        "problem_statement": {"type": "text_file", "path": f"{outbox}/prompt.md", "id": "issue"},
        "env": {
            "deployment": {"type": "local"},
            "repo": None,
            "post_startup_commands": [f"cd {errand.checkout}", "export ROOT=$(pwd -P)"],
        },
        "agent": {
            "model": _model(errand),
            "templates": {
                "system_template": "You work in a shell and with an editor, by calling tools.",
                "instance_template": "{{problem_statement}}",
                "next_step_template": "{{observation}}",
                "next_step_no_output_template": "It printed nothing.",
            },
            "tools": {
                "bundles": [{"path": f"{source}/tools/{name}"} for name in _BUNDLES],
                "registry_variables": {"USE_FILEMAP": "false"},
                "env_variables": {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "PAGER": "cat", "GIT_PAGER": "cat"},
                "enable_bash_tool": True,
                "execution_timeout": COMMAND_SECONDS,
                "parse_function": {"type": "function_calling"},
            },
        },
    }
    return Launch(
        argv=(*errand.python, "-m", "sweagent", "run", "--config", f"{outbox}/config.yaml"),
        env={
            "SWE_AGENT_CONFIG_DIR": f"{source}/config",
            "SWE_AGENT_TOOLS_DIR": f"{source}/tools",
            "SWE_AGENT_TRAJECTORY_DIR": f"{outbox}/runs",
            "SWE_AGENT_LOG_STREAM_LEVEL": "WARNING",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        files={
            "prompt.md": errand.prompt,
            "config.yaml": json.dumps(config),
            "runs/.keep": "",
            "root/.bashrc": _BASHRC,
        },
        writable={"/root": "root"},
    )


def _model(errand: AgentTask) -> dict[str, object]:
    """Return the model settings. The gateway enforces dollar limits; SWE-agent has no price for the model's name."""
    return {
        "name": f"openai/{errand.model}",
        "api_base": f"{errand.url}/v1",
        "temperature": 0.0,
        "top_p": None,
        "per_instance_call_limit": errand.calls,
        "per_instance_cost_limit": 0,
        "total_cost_limit": 0,
        "max_input_tokens": 0,
        "retry": {"retries": 1},
    }


SWE_AGENT = Agent(
    name="swe_agent",
    summary="SWE-agent itself, with our prompt",
    kit=PythonKit(
        requirements=("litellm<1.106",),
        repository="SWE-agent/SWE-agent",
        tag="v1.1.0",
        parts=("sweagent", "config", "tools", "trajectories", "pyproject.toml", "README.md", "LICENSE"),
    ),
    dialect="chat",
    launch=launch,
    advice="Every reply calls one tool. When the tests are written, call `submit`.",
    program="swe_agent",
    test_command=False,
)
SWE_AGENT_PLUS = replace(
    SWE_AGENT,
    name="swe_agent_plus",
    summary="SWE-agent, told how to run tests, and to do so before it submits",
    advice=(
        "Every reply calls one tool. Before you submit, run your tests, look at how they fail, and improve them until "
        "they fail for the reason that the issue gives and for no other. Then call `submit`."
    ),
    test_command=True,
)
