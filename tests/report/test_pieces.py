"""Code, patches, texts, drawings and the folder, each by itself."""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

from flows.report import serving
from tasks.adapters.text import CONTROL
from tasks.domain.errors import UsageError
from tasks.report.code import Painted, clean, patch_lines, python
from tasks.report.drawing import draw, inline
from tasks.report.naming import candidate_page
from tasks.report.prose import TextPiece, pieces
from tasks.report.rendering import render
from tasks.report.site import BUILT, open_site

PACKAGE = Path(__file__).parents[2] / "tasks" / "report"
PATCH = """\
diff --git a/src.py b/src.py
--- a/src.py
+++ b/src.py
@@ -3,3 +3,4 @@ def f():
 same
-old <b>
+new
+more
"""


def test_lines_of_a_patch_have_the_numbers_of_both_sides() -> None:
    lines = [(line.kind, line.old, line.new) for line in patch_lines(PATCH)][4:]
    assert lines == [("context", 3, 3), ("removed", 4, None), ("added", None, 4), ("added", None, 5)]


def test_a_separator_inside_a_line_begins_no_line() -> None:
    torn = PATCH + "+text\u2028+no line\n"
    assert len(patch_lines(torn)) == len(patch_lines(PATCH)) + 1


def test_changed_lines_say_who_executes_them() -> None:
    known = Painted(
        executable={("src.py", "after"): [4, 5], ("src.py", "before"): [4]}, hits={("src.py", "after", 4): 2}
    )
    painted = {(line.kind, line.old or line.new): (line.state, line.hits) for line in patch_lines(PATCH, known)[5:]}
    assert painted == {("removed", 4): ("missed", 0), ("added", 4): ("hit", 2), ("added", 5): ("missed", 0)}


def test_code_is_escaped() -> None:
    assert "<b>" not in "".join(line.text for line in patch_lines(PATCH))
    assert re.sub(r"</?span[^>]*>", "", python("x = 1 < 2  # </pre>")) == "x = 1 &lt; 2  # &lt;/pre&gt;"


def test_a_control_character_gets_into_no_page() -> None:
    """Not even where a template shows a text as it is."""
    shown = {"snapshot": "s", "golden": False, "extra": (("other.html", "a\x1b[31m\u202eb\x9bc\r"),)}
    page = render("guide.html", "guide.html.j2", shown)
    assert ">a\ufffd[31m\ufffdb\ufffdc\ufffd</a>" in page
    assert not CONTROL.search(page)


def test_text_cannot_turn_the_page_around() -> None:
    assert clean("a\x00b\u202ec\ud800\rd\te\n") == "a\ufffdb\ufffdc\\ud800\ufffdd\te\n"


def test_fences_are_code() -> None:
    assert pieces("Look:\n```python\nx = 1\n```\nend") == (
        TextPiece("prose", "Look:"),
        TextPiece("python", "x = 1"),
        TextPiece("prose", "end"),
    )
    assert pieces("```\nnever closed") == (TextPiece("code", "never closed"),)


def test_a_page_has_one_place_whatever_its_names_are() -> None:
    assert candidate_page("../x", "1").count("/") == 2


def test_a_drawing_keeps_only_what_it_needs() -> None:
    """Hostile names are text; what refers to anything is left out."""
    hostile = '<svg xmlns="http://www.w3.org/2000/svg" onload="x()" width="10"><script>x()</script>'
    hostile += '<a href="http://x"><text>in a link</text></a><g style="fill:url(http://x)" fill="url(#x)">'
    hostile += "<text>&lt;script&gt;</text></g></svg>"
    shown = inline(hostile, 'says "so"')
    assert shown == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="10" role="img" aria-label="says &quot;so&quot;" class="narrow">'
        "<g><text>&lt;script&gt;</text></g></svg>"
    )


def test_a_figure_is_drawn_without_a_network() -> None:
    spec = {"data": {"url": "http://127.0.0.1:9/x.json"}, "mark": "point"}
    try:
        drawn = draw(json.dumps(spec))
    except ValueError:
        return
    assert "<svg" in drawn.svg


def test_no_template_says_that_anything_is_safe() -> None:
    for path in PACKAGE.rglob("*"):
        if path.suffix == ".j2":
            assert not re.search(r"\|\s*safe|autoescape|style=|\son\w+=|<script(?! src)", path.read_text()), path.name
        if path.suffix == ".py" and path.name not in ("code.py", "drawing.py"):
            assert "Markup" not in path.read_text() or path.name == "rendering.py", path.name


def test_a_folder_with_anything_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(UsageError), open_site(tmp_path):
        pass


def test_a_build_that_ended_early_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        broken_build(tmp_path)
    with open_site(tmp_path) as site:
        assert not site.put("a.html", 1, lambda: "anew")
        assert site.put("b.html", 1, lambda: "b")
    with open_site(tmp_path) as site:
        site.put("a.html", 2, lambda: "changed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", BUILT]


def broken_build(folder: Path) -> None:
    nothing: dict[str, str] = {}
    with open_site(folder) as site:
        site.put("a.html", 1, lambda: "a")
        site.put("b.html", 1, lambda: nothing["b"])


def test_a_report_is_served_to_this_machine(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("here")
    with serving(tmp_path, 0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        with urlopen(f"http://127.0.0.1:{server.server_address[1]}/index.html") as answer:
            assert answer.read() == b"here"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("example.org:{port}", 421),
        ("127.0.0.1.example.org:{port}", 421),
        ("localhost:1", 421),
        ("localhost", 421),
        ("", 421),
        (None, 421),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_report_is_served_under_no_other_name(tmp_path: Path, host: str | None, status: int, method: str) -> None:
    (tmp_path / "index.html").write_text("here")
    with serving(tmp_path, 0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        port = server.server_address[1]
        connection = HTTPConnection("127.0.0.1", port)
        connection.putrequest(method, "/index.html", skip_host=True)
        if host is not None:
            connection.putheader("Host", host.format(port=port))
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == status
        assert (b"here" in answer.read()) == (status == 200 and method == "GET")
        connection.close()
        server.shutdown()
        thread.join()
