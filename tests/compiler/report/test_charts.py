"""Charts are SVG with a text and a link for every mark, in colours of the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")

from ncc.compiler.report.charts import memory, roofline, size_text, times  # noqa: E402
from ncc.compiler.report.facts import Buffer, Roof  # noqa: E402

XLINK = "{http://www.w3.org/1999/xlink}href"
SVG = "{http://www.w3.org/2000/svg}"

ODD = 'a<b>&"x'
ROW = {"label": ODD, "ms": 1.5, "bound": "memory", "said": "1.5 ms", "link": "#now-3", "text": ODD}


def marks(svg: str) -> list[tuple[str | None, str]]:
    """The links and texts of all marks."""
    root = ElementTree.fromstring(svg)
    return [
        (link.get("href"), mark.attrib["aria-label"])
        for link in root.iter(f"{SVG}a")
        for mark in link
    ]


def test_bars() -> None:
    """A bar has the colour of its bound, and its time beside it."""
    svg = times([ROW, {**ROW, "bound": "compute", "link": "#now-4", "text": "b"}])
    assert marks(svg) == [("#now-3", ODD), ("#now-4", "b")]
    assert "var(--memory)" in svg and "var(--compute)" in svg and "var(--text)" in svg
    assert "1.5 ms" in svg and "page.invalid" not in svg


def test_a_mark_without_a_link() -> None:
    """It has a text all the same."""
    svg = times([{**ROW, "link": ""}])
    assert marks(svg) == [(None, ODD)] and "href" not in svg


def test_a_roofline() -> None:
    """Peaks of arithmetic and bandwidths are named with what was measured."""
    roof = Roof(100.0, None, 400.0, {1 << 14: 200.0, 1 << 26: 20.0})
    point = {"intensity": 1.0, "rate": 60.0, "bound": "latency", "share": 0.5}
    svg = roofline([{**point, "link": "#kernel-0", "text": "k"}], roof)
    assert ("#kernel-0", "k") in marks(svg)
    for text in ("multiply-adds: 100 GFLOP/s", "products of bytes: 400", "16 KB: 200", "64 MB: 20"):
        assert text in svg


def test_a_roofline_without_kernels_has_roofs() -> None:
    """There may be no kernel of which all is known."""
    assert "multiply-adds" in roofline([], Roof(100.0, None, None, {1 << 14: 200.0}))


def test_the_memory_plan() -> None:
    """Time across, addresses upwards."""
    buffers = [
        Buffer(("a",), "16", "float32", 1024, 0, 0, 0),
        Buffer(("b",), "16", "float32", 1024, 1024, 1, 1),
    ]
    rows = [{"link": f"#now-{number}", "text": f"t{number}"} for number in range(2)]
    svg = memory(buffers, 2048, rows)
    assert marks(svg) == [("#now-0", "t0"), ("#now-1", "t1")]
    paths = re.findall(r'aria-label="t\d"[^>]* d="M([\d.]+),([\d.]+)h', svg)
    (x0, y0), (x1, y1) = [(float(x), float(y)) for x, y in paths]
    assert x0 < x1 and y0 > y1, "y of SVG counts downwards"


def test_sizes() -> None:
    """A size has the largest unit that it fills."""
    sizes = [size_text(size) for size in (12, 16384, 3 << 20, 1536)]
    assert sizes == ["12 bytes", "16 KB", "3 MB", "1.5 KB"]
