"""OpenHands: its command line in headless mode."""

from __future__ import annotations

from tasks.adapters.agents.base import Agent, AgentTask, Launch, PythonKit


def launch(errand: AgentTask) -> Launch:
    """Start OpenHands. Commands run in its own process, not in its own container, since it runs in our sandbox."""
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
