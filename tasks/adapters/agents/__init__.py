"""Third-party agents (Claude Code, Codex, …): installation, launch and limits."""
