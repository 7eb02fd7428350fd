"""Models, their prices and the cost bound of a call."""
