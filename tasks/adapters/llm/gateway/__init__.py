"""The metering gateway: a local proxy for three dialects, with run tokens instead of keys."""
