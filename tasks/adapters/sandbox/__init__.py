"""Where untrusted code runs: one protocol, one contract, one conformance suite, one class per kind of isolation."""
