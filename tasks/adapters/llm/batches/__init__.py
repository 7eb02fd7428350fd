"""Provider batches for methods that make one call: half the price, within a day. Entry point: `desk.py`."""
