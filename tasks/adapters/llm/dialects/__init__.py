"""The three dialects that agents speak: chat, responses, messages. Each reads a call and writes a reply."""
