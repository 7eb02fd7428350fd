"""mini-swe-agent: a minimal agent, a hundred lines around a shell."""

from __future__ import annotations

import json

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit

COMMAND_SECONDS = 120
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_OBSERVED = "exit code {{ output.returncode }}{{ output.exception_info and ', ' ~ output.exception_info }}\n{% if output.output | length > 10000 %}{{ output.output[:5000] }}\n[ {{ output.output | length - 10000 }} characters left out ]\n{{ output.output[-5000:] }}{% else %}{{ output.output }}{% endif %}"  # noqa: E501
_FORMAT = "{{ error }}\nCall the tool `bash` with a command; `" + SUBMIT + "` alone when you are done."


def launch(errand: AgentTask) -> Launch:
    """Start mini-swe-agent with our templates: its own ask the agent to solve the issue. Its shell does not get the
    token."""
    config = {
        "agent": {
            "system_template": "You work in a shell, by calling the tool `bash`.",
            "instance_template": "{{ task }}",
            "step_limit": errand.calls,
            "cost_limit": 0,
            "mode": "yolo",
            "confirm_exit": False,
            "output_path": f"{errand.outbox}/trajectory.json",
        },
        "environment": {
            "timeout": COMMAND_SECONDS,
            "env": {
                "OPENAI_API_KEY": "",
                "ANTHROPIC_API_KEY": "",
                "PAGER": "cat",
                "MANPAGER": "cat",
                "GIT_PAGER": "cat",
            },
        },
        "model": {
            "model_name": f"openai/{errand.model}",
            "cost_tracking": "ignore_errors",
            "observation_template": _OBSERVED,
            "format_error_template": _FORMAT,
            "model_kwargs": {"drop_params": True, "temperature": 0.0},
        },
        "run": {"task": errand.prompt},
    }
    return Launch(
        argv=(*errand.python, "-m", "minisweagent.run.mini", "-c", f"{errand.outbox}/config.yaml", "-y"),
        env={
            "MSWEA_CONFIGURED": "true",
            "MSWEA_GLOBAL_CONFIG_DIR": f"{errand.outbox}/own",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",  # the gateway retries
        },
        files={"config.yaml": json.dumps(config)},
    )


MINI_SWE_AGENT = Agent(
    name="mini_swe_agent",
    summary="mini-swe-agent itself, with our prompt",
    kit=PythonKit(requirements=("mini-swe-agent==2.4.6", "litellm<1.106")),
    dialect="chat",
    launch=launch,
    advice=(
        "You work in a shell at the root of the repository: every reply calls the tool `bash` with one command, which "
        f"starts in a fresh shell. Run your tests and see them fail for the reason that the issue gives. When you are "
        f"done, the command is `{SUBMIT}`, alone."
    ),
)
