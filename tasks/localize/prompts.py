"""The prompts of the localization agent."""

from __future__ import annotations

from pathlib import Path

from tasks.methods.prompts import Templates

PROMPTS = Templates(Path(__file__).parent / "prompts")
prompt = PROMPTS.render
