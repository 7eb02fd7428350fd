"""One package per stage, over two floors: `adapters` (the hands) and `domain` (the nouns)."""
