"""Models, their prices and what a call can cost at most."""
