"""The prompts of the methods that write tests."""

from __future__ import annotations

from pathlib import Path

from tasks.methods.prompts import Templates

PROMPTS = Templates(Path(__file__).parent / "methods")
prompt = PROMPTS.render
