"""Makes the page of a report: facts in, HTML out. It needs jinja2, Graphviz and Vega-Lite.

The page loads nothing. Pictures are SVG in it; a script shows the details of the layer that is
chosen, from data in the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ncc.compiler.progress import tell
from ncc.compiler.report import charts
from ncc.compiler.report.charts import size_text
from ncc.compiler.report.facts import Buffer, Facts, Layer, Step
from ncc.compiler.report.layout import Picture, chains, one_by_one, placed

FOLDED_FROM = 120
"""The number of layers from which on chains are folded at first."""

MOST_BARS = 40
"""The number of bars for layers; a table has all layers."""

MOST_PLACED = 4000
"""The number of boxes up to which a network is drawn; of a larger one only folded chains are."""


@dataclass(frozen=True)
class Graph:
    """The pictures of one network. unfolded: None if it has too many layers for that."""

    key: str
    title: str
    layers: Sequence[Layer]
    folded: Picture
    unfolded: Picture | None

    @property
    def starts_folded(self) -> bool:
        return self.unfolded is None or len(self.layers) > FOLDED_FROM


@dataclass(frozen=True)
class LayerTime:
    """The steps of some layers together. link: of the first of these layers."""

    label: str
    link: str
    ms: float
    share: float
    flops: int | None
    bytes: int
    bound: str
    of_bound: float | None


def html(facts: Facts) -> str:
    """The page."""
    tell("drawing the page")
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"size": size_text, "count": _count, "ms": ms_text, "part": _part}
    layer_times = times_of(facts)
    template = environment.get_template("page.html.jinja")
    return template.render(
        facts=facts,
        graphs=graphs_of(facts),
        layer_times=layer_times,
        without_bar=layer_times[MOST_BARS:],
        whole_ms=sum(row.ms for row in layer_times),
        bound_ms=sum(step.bound_ms or 0.0 for step in facts.steps),
        data=_data(facts),
        **_charts(facts, layer_times),
    )


def graphs_of(facts: Facts) -> list[Graph]:
    """The network of the file, and the optimized one."""
    found = []
    both = (("file", "in the file", facts.file), ("now", "as compiled", facts.now))
    for key, title, layers in both:
        if layers:
            unfolded = placed(layers, one_by_one(layers)) if len(layers) <= MOST_PLACED else None
            found.append(Graph(key, title, layers, placed(layers, chains(layers)), unfolded))
    return found


def times_of(facts: Facts) -> list[LayerTime]:
    """The times of layers, the longest first; none if nothing was measured."""
    groups: dict[tuple[str, ...], list[Step]] = {}
    for step in facts.steps:
        if step.ms is not None:
            groups.setdefault(step.layers, []).append(step)
    whole = sum(step.ms or 0.0 for steps in groups.values() for step in steps)
    links = _links(facts)
    rows = [_layer_time(layers, links(layers), steps, whole) for layers, steps in groups.items()]
    return sorted(rows, key=lambda row: -row.ms)


def _layer_time(
    layers: tuple[str, ...], link: str, steps: Sequence[Step], whole: float
) -> LayerTime:
    ms = sum(step.ms or 0.0 for step in steps)
    bound_ms = sum(step.bound_ms or 0.0 for step in steps)
    counts = [step.flops for step in steps]
    longest = max(steps, key=lambda step: step.ms or 0.0)
    return LayerTime(
        "+".join(layers) or longest.kernel,
        link,
        ms,
        ms / whole if whole else 0.0,
        None if None in counts else sum(count or 0 for count in counts),
        sum(step.bytes for step in steps),
        longest.bound or "",
        bound_ms / ms if ms else None,
    )


def _links(facts: Facts) -> Callable[[Iterable[str]], str]:
    """A function: names of layers to the part of the page about the first that a graph has."""
    both = (("file", facts.file), ("now", facts.now))
    places = {
        layer.name: f"#{key}-{number}"
        for key, layers in both
        for number, layer in enumerate(layers)
    }
    return lambda names: next((places[name] for name in names if name in places), "")


def _charts(facts: Facts, layer_times: Sequence[LayerTime]) -> dict[str, str | None]:
    """The charts, as far as there are facts for them."""
    found: dict[str, str | None] = dict.fromkeys(("times", "roofline", "memory"))
    if layer_times:
        found["times"] = charts.times(_bars(layer_times[:MOST_BARS]))
    if facts.time is not None and facts.time.roof is not None:
        found["roofline"] = charts.roofline(_points(facts), facts.time.roof)
    plan = facts.memory
    if plan is not None and plan.arena_bytes is not None and plan.buffers:
        links = _links(facts)
        rows = [{"link": links(b.layers), "text": buffer_text(b)} for b in plan.buffers]
        found["memory"] = charts.memory(plan.buffers, plan.arena_bytes, rows)
    return found


def _bars(rows: Sequence[LayerTime]) -> list[dict[str, Any]]:
    """A bar for each row."""
    return [
        {
            "label": f"{number}. {row.label}",
            "ms": row.ms,
            "bound": row.bound,
            "said": f"{ms_text(row.ms)}, {row.share:.1%}, {row.bound}",
            "link": row.link,
            "text": f"{row.label}: {ms_text(row.ms)}, {row.share:.1%} of all, bound by {row.bound}",
        }
        for number, row in enumerate(rows, 1)
    ]


def _points(facts: Facts) -> list[dict[str, Any]]:
    """The kernels, and loops of kernels, of which operations, bytes and time are known."""
    numbers = {kernel.name: number for number, kernel in enumerate(facts.kernels)}
    groups: dict[str, list[Step]] = {}
    for step in facts.steps:
        if step.ms and step.flops and step.bytes:
            groups.setdefault(step.kernel, []).append(step)
    links, whole = _links(facts), sum(step.ms or 0.0 for step in facts.steps)
    found = []
    for name, steps in groups.items():
        layers = tuple(dict.fromkeys(layer for step in steps for layer in step.layers))
        link = f"#kernel-{numbers[name]}" if name in numbers else links(layers)
        found.append({"link": link, **_point(name, steps, layers, whole)})
    return found


def _point(name: str, steps: Sequence[Step], layers: Sequence[str], whole: float) -> dict[str, Any]:
    ms = sum(step.ms or 0.0 for step in steps)
    flops = sum(step.flops or 0 for step in steps)
    intensity, rate = flops / sum(step.bytes for step in steps), 1e-6 * flops / ms
    bound = max(steps, key=lambda step: step.ms or 0.0).bound
    text = (
        f"{name}: {rate:.1f} GFLOP/s at {intensity:.2g} operations for each byte, {ms_text(ms)}, "
        f"bound by {bound}; {_some(layers)}"
    )
    return {
        "intensity": intensity,
        "rate": rate,
        "bound": bound,
        "share": ms / whole,
        "text": text,
    }


def buffer_text(buffer: Buffer) -> str:
    """All that a box of the memory plan says."""
    return (
        f"{_some(buffer.layers)}: {buffer.shape} {buffer.type}, {buffer.bytes:,} bytes at "
        f"{buffer.offset:,}, from step {buffer.first} to {buffer.last}"
    )


def _some(layers: Sequence[str], most: int = 4) -> str:
    """The first names of some."""
    more = f" and {len(layers) - most} more" if len(layers) > most else ""
    return (", ".join(layers[:most]) or "scratch memory") + more


def _data(facts: Facts) -> dict[str, Any]:
    """What the script of the page shows of a layer or a kernel."""
    results = facts.results.rows if facts.results is not None else ()
    return {
        "file": list(map(_layer_data, facts.file)),
        "now": list(map(_layer_data, facts.now)),
        "steps": [{**asdict(step), "bytes": step.bytes} for step in facts.steps],
        "kernels": list(map(asdict, facts.kernels)),
        "results": list(map(asdict, results)),
    }


def _layer_data(layer: Layer) -> dict[str, Any]:
    return {**asdict(layer), "fate": layer.fate}


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def ms_text(ms: float | None) -> str:
    """A time for people."""
    if ms is None:
        return "-"
    return f"{ms:.3f} ms" if ms >= 0.1 else f"{1e3 * ms:.2f} µs"


def _part(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"
