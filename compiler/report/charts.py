"""Charts as SVG, by Vega-Lite: times of layers, a roofline of kernels, the memory plan.

Colours are variables of page.css, which has them for light and dark. Every mark has a text that
says all of it (`aria-label`), and a link into the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import vl_convert

from ncc.compiler.report.facts import Buffer, Roof

Spec: TypeAlias = dict[str, Any]
Rows: TypeAlias = Sequence[dict[str, Any]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH = 1000

CHARACTER, MOST_CHARACTERS = 7.5, 36
LABEL = CHARACTER * MOST_CHARACTERS
"""Room for names, counted in characters: the fonts of a browser are not known here."""

PAGE = "https://page.invalid/"
"""What links begin with for Vega, which would complete links without a host."""

BOUNDS = ("compute", "memory", "latency")
BOUND: Spec = {
    "field": "bound",
    "type": "nominal",
    "scale": {"domain": BOUNDS, "range": [f"var(--{bound})" for bound in BOUNDS]},
    "legend": {"title": "bound by", "orient": "top"},
}

CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": "var(--line)"},
    "axis": {
        "labelColor": "var(--text)",
        "titleColor": "var(--text)",
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "legend": {
        "labelColor": "var(--text)",
        "titleColor": "var(--text)",
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "text": {"color": "var(--text)", "fontSize": 12},
}


def times(rows: Rows) -> str:
    """A bar for each row: `label`, `ms`, `bound`, `said` beside it, `link` and `text`."""
    widest = max((len(row["label"]) for row in rows), default=0)
    axis = {"minExtent": CHARACTER * min(widest, MOST_CHARACTERS), "labelLimit": LABEL}
    place = {"field": "label", "type": "ordinal", "sort": None, "title": None, "axis": axis}
    longest = max((row["ms"] for row in rows), default=0.0)
    length = {
        "field": "ms",
        "type": "quantitative",
        "title": "ms",
        "scale": {"domain": [0, 1.5 * longest or 1]},
    }
    bars = {
        "mark": {"type": "bar"},
        "encoding": {"x": length, "color": BOUND, **_of_marks},
    }
    words = {
        "mark": {"type": "text", "align": "left", "dx": 4, "aria": False},
        "encoding": {"x": length, "text": {"field": "said"}},
    }
    spec = {"height": {"step": 20}, "encoding": {"y": place}, "layer": [bars, words]}
    return _svg(spec, rows, width=WIDTH - 320)


def roofline(rows: Rows, roof: Roof) -> str:
    """A point for each kernel: `intensity`, `rate`, `bound`, `share`, `link`, `text`.

    The roofs are the peaks of arithmetic, and the bandwidth of each level of memory.
    """
    found = [row["intensity"] for row in rows]
    least, most = min(found, default=1.0) / 2, max(found, default=1.0) * 2
    peaks = {"multiply-adds": roof.gigaflops}
    if roof.tile_gigaflops is not None:
        peaks["matrix tiles"] = roof.tile_gigaflops
    if roof.byte_gigaflops is not None:
        peaks["products of bytes"] = roof.byte_gigaflops
    highest = max(peaks.values())
    lines = [
        {"roof": f"{name}: {rate:.0f} GFLOP/s", "intensity": x, "rate": rate}
        for name, rate in peaks.items()
        for x in (least, most)
    ]
    lines += [
        {"roof": f"{size_text(size)}: {rate:.0f} GB/s", "intensity": x, "rate": x * rate}
        for size, rate in roof.gigabytes.items()
        for x in (least, min(most, highest / rate))
        if least < highest / rate
    ]
    axis = {"type": "quantitative", "scale": {"type": "log"}}
    x = {**axis, "field": "intensity", "title": "operations for each byte"}
    y = {**axis, "field": "rate", "title": "GFLOP/s"}
    roofs = {
        "data": {"values": lines},
        "mark": {"type": "line", "color": "var(--muted)", "aria": False},
        "encoding": {
            "x": x,
            "y": y,
            "strokeDash": {
                "field": "roof",
                "type": "nominal",
                "sort": None,
                "legend": {"title": "roofs measured here", "orient": "right", "labelLimit": 260},
            },
        },
    }
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 0.9, "stroke": "var(--card)"},
        "encoding": {
            "x": x,
            "y": y,
            "color": BOUND,
            "shape": {**BOUND, "scale": {"domain": BOUNDS}},
            "size": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 1], "range": [60, 900]},
                "legend": None,
            },
            **_of_marks,
        },
    }
    return _svg({"height": 380, "layer": [roofs, points]}, rows, width=WIDTH - 260)


def memory(buffers: Sequence[Buffer], arena_bytes: int, rows: Rows) -> str:
    """A box for each buffer: the steps in which it is alive across, its addresses upwards. rows:
    `link` and `text` of each.
    """
    last = max((buffer.last for buffer in buffers), default=0) + 1
    boxes = [
        {
            **row,
            "first": buffer.first,
            "last": buffer.last + 1,
            "begin": buffer.offset / 1024,
            "end": (buffer.offset + buffer.bytes) / 1024,
        }
        for buffer, row in zip(buffers, rows, strict=True)
    ]
    spec = {
        "height": 340,
        "mark": {
            "type": "rect",
            "fill": "var(--buffer)",
            "stroke": "var(--buffer-line)",
            "strokeWidth": 1,
        },
        "encoding": {
            "x": {
                "field": "first",
                "type": "quantitative",
                "title": "step of a run",
                "scale": {"domain": [0, last], "nice": False},
            },
            "x2": {"field": "last"},
            "y": {
                "field": "begin",
                "type": "quantitative",
                "title": "address in the arena, KB",
                "scale": {"domain": [0, arena_bytes / 1024], "nice": False},
            },
            "y2": {"field": "end"},
            **_of_marks,
        },
    }
    return _svg(spec, boxes, width=WIDTH - 80)


def size_text(bytes: int) -> str:
    """A size for people."""
    if bytes >= 1 << 20:
        return f"{bytes / (1 << 20):.4g} MB"
    return f"{bytes / (1 << 10):.4g} KB" if bytes >= 1 << 10 else f"{bytes} bytes"


_of_marks: Spec = {"href": {"field": "link"}, "description": {"field": "text"}}


def _svg(spec: Spec, rows: Rows, width: int) -> str:
    """The chart, with links inside of the page."""
    values = [{**row, "link": PAGE + row["link"]} for row in rows]
    whole = {
        "$schema": SCHEMA,
        "config": CONFIG,
        "width": width,
        "data": {"values": values},
        **spec,
    }
    svg: str = vl_convert.vegalite_to_svg(whole)
    linked = svg.replace(f'xlink:href="{PAGE}"', "")
    return linked.replace(f'xlink:href="{PAGE}', 'href="')
