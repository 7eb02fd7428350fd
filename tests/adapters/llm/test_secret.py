"""A key is taken out of what a provider says, however it is spelt there, and nothing else is."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adapters.llm.secret import SHORTEST, Secret

KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=SHORTEST, max_size=50) | st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=SHORTEST, max_size=30
)
"""HTTP takes no control characters in a header."""
CHOICES = st.lists(st.integers(0, 3), min_size=50, max_size=50)


def in_json(key: str, choices: list[int]) -> str:
    """The key in a JSON string, any character escaped in any of the ways that JSON has."""
    return "".join(_escaped(char)[choice] for char, choice in zip(key, choices, strict=False))


def _escaped(char: str) -> tuple[str, str, str, str]:
    usual = json.dumps(char)[1:-1]
    if ord(char) > 0xFFFF:
        return usual, usual.upper().replace("\\U", "\\u"), char, usual
    return usual, f"\\u{ord(char):04x}", f"\\u{ord(char):04X}", "\\/" if char == "/" else usual


@settings(deadline=None)
@given(KEYS, CHOICES)
def test_json_within_json(key: str, choices: list[int]) -> None:
    once = f'{{"text": "before {in_json(key, choices)} after"}}'
    assert json.loads(Secret(key).scrub(once)) == {"text": "before [key] after"}
    twice = json.dumps({"arguments": once})
    assert json.loads(json.loads(Secret(key).scrub(twice))["arguments"]) == {"text": "before [key] after"}


@settings(deadline=None)
@given(KEYS)
def test_urls_base64_and_hexadecimal(key: str) -> None:
    data = key.encode("utf-8", "surrogatepass")
    everything = "".join(f"%{byte:02x}" for byte in data)
    assert Secret(key).scrub(f"?k={everything}&a=b") == "?k=[key]&a=b"
    assert Secret(key).scrub(f"?k={quote(data, safe='')}&a=b") == "?k=[key]&a=b"
    assert Secret(key).scrub(data.hex().upper()) == "[key]"
    for before in (b"", b"u:", b"user:"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            scrubbed = Secret(key).scrub(encode(before + data).decode())
            assert "[key]" in scrubbed
            assert len(scrubbed) < len("[key]") + 14


@settings(deadline=None)
@given(KEYS, st.text())
def test_a_text_without_the_key_stays(key: str, text: str) -> None:
    if key not in text:
        assert Secret(key).scrub(text) == text


@pytest.mark.parametrize("echo", ["sk-abc\\/def-0123456789", "sk\\u002dabc\\u002Fdef\\u002d0123456789"])
def test_spellings_that_were_seen(echo: str) -> None:
    assert Secret("sk-abc/def-0123456789").scrub(echo) == "[key]"


def test_a_stand_in_is_no_key() -> None:
    assert Secret("EMPTY").scrub("EMPTY") == "EMPTY"


@pytest.mark.parametrize("text", ["\\" * 300_000, "%" * 300_000, "%25" * 100_000, "sk-" * 100_000])
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    Secret("sk-abc/def-0123456789").scrub(text)
    assert time.process_time() - began < 5
