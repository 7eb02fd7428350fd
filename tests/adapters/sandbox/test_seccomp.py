"""The filter's numbers are those of the kernel's own headers, and it has a program for every machine it knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tasks.adapters.sandbox.seccomp import AUDITED, REFUSALS, job_filter

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
NUMBER = re.compile(r"#define __NR(?:3264)?_(\w+)\s+(\d+)")


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_are_those_of_the_headers(machine):
    if not HEADERS[machine].is_file():
        pytest.skip("the kernel's headers are not installed (Debian: linux-libc-dev)")
    known = {name: int(number) for name, number in NUMBER.findall(HEADERS[machine].read_text())}
    told = {refusal.call.name: refusal.call.number(machine) for refusal in REFUSALS}
    assert {name: number for name, number in told.items() if name in known} == {
        name: known[name] for name in told if name in known
    }
    assert len(told.keys() & known.keys()) > 40


@pytest.mark.parametrize("machine", AUDITED)
def test_a_program_is_short_and_whole(machine):
    """The kernel takes 4,096 steps; every step has eight bytes."""
    program = job_filter(machine)
    assert len(program) % 8 == 0
    assert 0 < len(program) // 8 < 4096


def test_an_unknown_machine_has_none():
    assert job_filter("riscv64") == b""
