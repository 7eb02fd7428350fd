"""The three dialects of agents: chat, responses, messages. Each parses calls and renders replies."""
