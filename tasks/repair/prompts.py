"""The prompts of the sub-agents."""

from __future__ import annotations

from pathlib import Path

from tasks.methods.prompts import Templates

PROMPTS = Templates(Path(__file__).parent / "templates")
prompt = PROMPTS.render
