"""Language models: protocol, clients, prices, reply cache and replay, budgets, and the metering gateway."""
