"""What runs in the environments of code under test: standard library only, CPython 3.6 to 3.13."""

from pathlib import Path

TRACER = Path(__file__).with_name("line_tracer.py")
SPENT = Path(__file__).with_name("spent.py")
