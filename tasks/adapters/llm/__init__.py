"""Language models: one small protocol, clients, prices, cache and replay, budgets, and the metering gateway."""
