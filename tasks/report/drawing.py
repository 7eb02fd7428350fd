"""Vega-Lite drawn as SVG and PDF, and SVG made fit to stand in a page: plain elements and attributes, text escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

SVG = "http://www.w3.org/2000/svg"
ELEMENTS = frozenset(("svg", "g", "path", "rect", "line", "text", "tspan", "circle", "title"))
ATTRIBUTES = frozenset(
    (
        *("class", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dx", "dy", "width", "height", "viewBox"),
        *("transform", "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray"),
        *("stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "opacity", "display", "pointer-events"),
        *("text-anchor", "font-size", "font-weight", "font-style", "dominant-baseline"),
    )
)
"""What a page lets through. Neither `style` nor `font-family`: the style sheet says both. Nothing that refers to
anything: no `href`, and no `url(…)` in a value."""
LEGIBLE = 480
"""Pixels; what is wider is not shrunk to the width of a phone, but moved."""
_VALUE = re.compile(r"[\w\s.,#%+()-]*")
_SIZE = re.compile(r"[\d.]+")


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure in the forms in which people take it along."""

    svg: str
    pdf: bytes


def draw(spec: str) -> Drawing:
    """Draw Vega-Lite, whose data stand in it: nothing is fetched."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return Drawing(svg, vl_convert.svg_to_pdf(svg))


def inline(svg: str, label: str) -> Markup:
    """The drawing for a page, as an image that readers of screens hear by `label`."""
    root = _kept(ElementTree.fromstring(svg))  # noqa: S314 - our own drawing, and no entity is expanded
    assert root is not None
    wide = _SIZE.match(root.get("width", ""))
    root.attrib.update({"role": "img", "aria-label": label})
    if wide:
        root.attrib["class"] = "wide" if float(wide[0]) > LEGIBLE else "narrow"
    ElementTree.register_namespace("", SVG)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - the serializer escapes all text


def _kept(element: ElementTree.Element) -> ElementTree.Element | None:
    tag = element.tag.removeprefix(f"{{{SVG}}}")
    if tag not in ELEMENTS:
        return None
    attributes = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES and _harmless(value)}
    copy = ElementTree.Element(f"{{{SVG}}}{tag}", attributes)
    copy.text = element.text
    copy.extend([one for child in element if (one := _kept(child)) is not None])
    for child in copy:
        child.tail = None
    return copy


def _harmless(value: str) -> bool:
    return _VALUE.fullmatch(value) is not None and "url" not in value
