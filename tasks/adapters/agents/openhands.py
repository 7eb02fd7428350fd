"""OpenHands: its command line without a screen."""

from __future__ import annotations

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit


def launch(errand: AgentTask) -> Launch:
    """Commands run in its own process, not in a container of its own: it is in ours."""
    return Launch(
        argv=(
            *(*errand.python, str(errand.root / "bin" / "openhands"), "--headless", "--json", "--override-with-envs"),
            *("--file", f"{errand.outbox}/prompt.md"),
        ),
        env={
            "LLM_BASE_URL": f"{errand.url}/v1",
            "LLM_API_KEY": errand.token,
            "LLM_MODEL": f"openai/{errand.model}",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENHANDS_SUPPRESS_BANNER": "1",
        },
        files={"prompt.md": errand.prompt},
    )


OPENHANDS = Agent(
    name="openhands",
    summary="OpenHands' command line itself",
    kit=PythonKit(requirements=("openhands==1.16.0",)),
    dialect="chat",
    launch=launch,
    leftovers=(".openhands", ".openhands_instructions"),
    advice="Run your tests and see them fail for the reason that the issue gives, then finish.",
)
