"""Where untrusted code runs: one protocol, one contract, one conformance suite, an implementation per kind of isolation."""
