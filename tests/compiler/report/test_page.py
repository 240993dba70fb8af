"""The page is one file that loads nothing, says all facts, and is safe with any names."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

for package in ("jinja2", "pygraphviz", "vl_convert"):
    pytest.importorskip(package, reason=f"{package} is not installed")

from ncc.compiler.report import page  # noqa: E402
from ncc.compiler.report.facts import Facts, Missing, Result, Results, Step  # noqa: E402
from ncc.compiler.report.page import graphs_of, html, times_of  # noqa: E402
from tests.compiler.report.conftest import NETWORK, of_text  # noqa: E402


class Links(HTMLParser):
    """The ids of a page, and what it links to or loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.to: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href", "data", "action", "srcset"):
                self.to.append(value or "")


@pytest.fixture(scope="module")
def text(facts: Facts) -> str:
    return html(facts)


def test_it_loads_nothing(text: str) -> None:
    """All links stay in the page."""
    links = Links(text)
    assert all(to.startswith("#") or to == "data:," for to in links.to)
    assert "url(" not in text and "@import" not in text and "fetch(" not in text
    assert len(links.ids) == len(set(links.ids)), "an id is there twice"


def test_links_lead_somewhere(facts: Facts, text: str) -> None:
    """To a part of the page, or to a layer or kernel that the script knows."""
    known = set(Links(text).ids)
    known |= {f"file-{number}" for number in range(len(facts.file))}
    known |= {f"now-{number}" for number in range(len(facts.now))}
    known |= {f"kernel-{number}" for number in range(len(facts.kernels))}
    assert {to[1:] for to in Links(text).to if to.startswith("#")} <= known


def test_the_data_of_the_script(facts: Facts, text: str) -> None:
    """JSON in the page, whatever is in it."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    data = json.loads(found)
    assert [layer["name"] for layer in data["file"]] == [layer.name for layer in facts.file]
    assert [layer["fate"] for layer in data["file"]] == [layer.fate for layer in facts.file]
    assert len(data["steps"]) == len(facts.steps)


def test_colours_are_said_in_words(text: str) -> None:
    """A graph's box says what became of its layer."""
    (box,) = re.findall(r'<a class="node changed"[^>]*>(?:(?!</a>).)*>drop<.*?</a>', text)
    assert "changed" in box.partition(">")[2]


def test_names_are_no_markup(tmp_path: Path) -> None:
    """A file may name its layers as it likes."""
    names = ("</script><b>", "<img/src=x>", "\"&'{{7*7}}", "\\N日本")
    network = NETWORK
    for plain, odd in zip(("side", "first", "act", "pool"), names, strict=True):
        network = network.replace(f" {plain} ", f" {odd} ").replace(f" {plain}\n", f" {odd}\n")
    text = html(of_text(tmp_path, network))
    assert "<img/src" not in text and "&lt;img/src=x&gt;" in text and "{{7*7}}" in text
    assert text.count("</script>") == 2
    assert text.rstrip().endswith("</html>")


def test_what_is_missing_is_said(facts: Facts) -> None:
    """Notices and reasons are texts."""
    text = html(replace(facts, missing=(Missing("time", "no <clock>"),), notices=("a & b",)))
    assert "Not here: time." in text and "no &lt;clock&gt;" in text and "a &amp; b" in text


def test_nothing_but_a_name(facts: Facts) -> None:
    """Each part may be left out."""
    empty = Facts("net", {}, (), (), (), (), (), (), (), None, None, None, (), ())
    assert "<h1>net</h1>" in html(empty) and "Memory plan" not in html(empty)


def test_results(facts: Facts) -> None:
    """The verdict is a word, and so is why ncnn did not run."""
    rows = (Result("score", "InnerProduct", "score", "10", None, True, True, 1e-7, 1.0, 2e-7),)
    found = Results("exact results", rows, "the wheel is not installed")
    text = html(replace(facts, results=found))
    assert "Not compared with ncnn: the wheel is not installed." in text
    assert "1 differ" in text and "<td>differs</td>" in text


def test_times_of_layers_are_sums_over_their_steps(facts: Facts) -> None:
    """The longest layer is first."""

    def step(name: str, ms: float, bound: str) -> Step:
        return Step((name,), "k", 1, 10, 20, 30, ms, ms / 2, ms / 4, bound)

    steps = (step("act", 1.0, "memory"), step("first", 5.0, "compute"), step("act", 2.0, "latency"))
    first, act = times_of(replace(facts, steps=steps))
    assert (first.label, first.ms, first.share, first.link) == ("first", 5.0, 5 / 8, "#now-1")
    assert (act.ms, act.flops, act.bytes, act.bound, act.of_bound) == (3.0, 20, 100, "latency", 0.5)
    assert act.link == "#file-2", "a layer that is no more is one of the file"


def test_a_large_network_starts_folded(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    """A very large one is drawn in no other way."""
    assert not any(graph.starts_folded for graph in graphs_of(facts))
    monkeypatch.setattr(page, "FOLDED_FROM", 3)
    assert all(graph.starts_folded and graph.unfolded for graph in graphs_of(facts))
    monkeypatch.setattr(page, "MOST_PLACED", 3)
    assert all(graph.starts_folded and not graph.unfolded for graph in graphs_of(facts))
