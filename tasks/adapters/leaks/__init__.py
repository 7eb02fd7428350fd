"""The gate: what a method would be given of an instance is looked through, checkout and environment at once."""
