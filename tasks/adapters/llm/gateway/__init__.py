"""The metering gateway: one local proxy, three dialects, run tokens instead of keys."""
