"""Rules for tests whose outcome depends on random values or the clock."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tasks.integrity.lint.module import Finding, LintedModule

_COIN = re.compile(
    r"random\.(?:random|randint|randrange|choice|choices|getrandbits|uniform|sample)|secrets\.\w+"
    r"|random\.SystemRandom\(\)\.\w+|os\.(?:urandom|getrandom|getpid|getppid)"
)
_NUMBERS = re.compile(r"uuid\.uuid[14]|numpy\.random\.(?:rand|random|random_sample|randint|choice|uniform)")
_SEED = re.compile(r"random\.seed|random\.Random|numpy\.random\.(?:seed|default_rng|RandomState)")
_CLOCK = re.compile(
    r"time\.(?:time|time_ns|monotonic|monotonic_ns|perf_counter|perf_counter_ns|process_time|localtime|gmtime)"
    r"|datetime\.(?:datetime\.)?(?:now|utcnow|today)|datetime\.date\.today|os\.path\.get[mac]time|.*\.stat\(\)\.st_\w+"
)


def coin(module: LintedModule) -> Iterator[Finding]:
    """A random value or a process id decides the outcome, and the file sets no seed. Random input for numpy is
    allowed."""
    if any(isinstance(node, ast.Call) and _SEED.fullmatch(module.resolved(node.func)) for node in module.nodes):
        return
    for call in module.calls_of(lambda name: _COIN.fullmatch(name) is not None):
        if module.decides(call):
            yield from module.find("coin", call)
    for call in module.calls_of(lambda name: _NUMBERS.fullmatch(name) is not None):
        if module.compared(call):
            yield from module.find("coin", call)


def clock(module: LintedModule) -> Iterator[Finding]:
    """The time decides the outcome."""
    for call in module.calls_of(lambda name: _CLOCK.fullmatch(name) is not None):
        if module.decides(call):
            yield from module.find("clock", call)
