"""The page in a browser: clicks, keys, search, dark and narrow; nothing on the console."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

for package in ("jinja2", "pygraphviz", "vl_convert"):
    pytest.importorskip(package, reason=f"{package} is not installed")

from ncc.compiler.report.facts import Facts, Layer, Roof, Step, Time  # noqa: E402
from ncc.compiler.report.page import html  # noqa: E402
from tests.compiler.report.conftest import Page  # noqa: E402

pytestmark = pytest.mark.slow

MOST_BYTES, MOST_ELEMENTS = 4000, 50
"""What a page may have for each layer: the time until it is open grows with both."""


@pytest.fixture(scope="module")
def path(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a network, with times that are made up."""
    steps = tuple(
        replace(step, ms=0.01 * (1 + number), arithmetic_ms=0.004, memory_ms=0.002, bound="compute")
        for number, step in enumerate(facts.steps)
    )
    roof = Roof(100.0, None, None, {1 << 14: 200.0, 1 << 26: 20.0})
    time = Time(0.2, 0.25, 0.3, 100, 50.0, roof)
    path = tmp_path_factory.mktemp("page") / "net.html"
    path.write_text(html(replace(facts, steps=steps, time=time)))
    return path


@pytest.fixture
def open_page(browser: Any, path: Path) -> Iterator[Any]:
    """Opens the page; in the end, the consoles must be empty."""
    pages, contexts = [], []

    def opened(**options: Any) -> Page:
        contexts.append(browser.new_context(offline=True, **options))
        pages.append(Page(contexts[-1], path))
        return pages[-1]

    yield opened
    for context in contexts:
        context.close()
    assert [said for page in pages for said in page.console] == []


def test_a_click_shows_the_details_of_a_layer(open_page: Any) -> None:
    """Its line, what it became, its rewrites and its kernel; a link in them leads on."""
    page = open_page()
    page.page.click("#graph .node:has-text('drop')")
    text = page.details("Dropout drop")
    assert "line 6 of the file" in text and "Dropout      drop   1 1 act drop" in text
    assert (
        "became (changed)" in text and "fuse_convolution_activation" not in text.partition("x")[0]
    )
    assert page.run("document.querySelectorAll('.node.chosen').length") == 1
    page.page.click("#details a[href^='#now']")
    text = page.details("Convolution first")
    assert "contraction" in text
    assert "stands for layers of the file" in text and "% of its bound" in text
    assert page.page.is_checked("input[value=now]"), "the graph of the compiled network is shown"
    page.page.click("#details a[href^='#kernel']")
    assert "strategy:" in page.details("kernel ")
    page.page.go_back()
    page.details("Convolution first")


def test_search_marks_and_lists_layers(open_page: Any) -> None:
    """Enter shows the first; words may be of the type, the name or the line."""
    page = open_page()
    page.page.fill("#search", "conv 0=16")
    assert page.page.inner_text("#found") == "1 layer found"
    assert page.run("document.querySelectorAll('.node.found').length") == 1
    page.page.press("#search", "Enter")
    page.details("Convolution first")
    page.page.fill("#search", "nothing like this")
    assert page.page.inner_text("#found") == "0 layers found"
    page.page.fill("#search", "")
    assert page.page.inner_text("#found") == ""


def test_chains_fold(open_page: Any) -> None:
    """A folded box names its layers, and its details list them."""
    page = open_page()
    before = page.run("document.querySelectorAll('#graph .node').length")
    page.page.check("#fold")
    assert page.run("document.querySelectorAll('#graph .node').length") < before
    page.page.click("#graph .node:has-text('layers in a row')")
    assert "its box in the graph holds" in page.details("Input data")
    page.page.uncheck("#fold")
    assert page.run("document.querySelectorAll('#graph .node').length") == before


def test_it_works_by_keyboard(open_page: Any) -> None:
    """Boxes are links; a chart is one stop, in which arrows go on and a text follows."""
    page = open_page()
    page.page.focus("#graph .node:has-text('pool')")
    page.page.keyboard.press("Enter")
    page.details("Pooling")
    stops = page.run("document.querySelectorAll('#times .chart [tabindex=\"0\"]').length")
    assert stops == 1
    page.page.focus("#times .chart [tabindex='0']")
    first = page.page.inner_text("#tip")
    page.page.keyboard.press("ArrowDown")
    assert page.page.inner_text("#tip") not in ("", first)
    page.page.keyboard.press("Escape")
    assert page.page.is_hidden("#tip")


def test_the_mouse_tells_blobs_of_the_memory_plan(open_page: Any) -> None:
    """Layer, shape, bytes and steps."""
    page = open_page()
    page.page.hover("#memory .role-mark [aria-label^='first:']")
    text = page.page.inner_text("#tip")
    assert "float32" in text and "bytes at" in text and "from step" in text


def test_every_mark_and_control_has_a_name(open_page: Any) -> None:
    """For people who hear the page."""
    page = open_page()
    assert page.run("[...document.querySelectorAll('.chart a')].every(a => a.ariaLabel)")
    controls = "[...document.querySelectorAll('input, button, [role=group]')]"
    assert page.run(f"{controls}.every(c => c.ariaLabel || c.textContent || c.labels?.length)")
    assert page.run("document.documentElement.lang") == "en"


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (color) => {
    const [r, g, b] = rgb(color).map((c) => c / 255).map((c) =>
      c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
  const of = (a, b) => {
    const [x, y] = [light(value(a)), light(value(b))].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const texts = [["--text", "--card"], ["--text", "--page"], ["--muted", "--card"],
    ["--muted", "--page"], ["--link", "--card"], ["--link", "--page"], ["--text", "--changed-fill"],
    ["--text", "--gone-fill"], ["--muted", "--changed-fill"], ["--muted", "--gone-fill"],
    ["--text", "--found"], ["--text", "--warn"], ["--bad", "--card"]];
  const marks = [["--compute", "--card"], ["--memory", "--card"], ["--latency", "--card"],
    ["--buffer-line", "--card"], ["--line", "--card"], ["--chosen", "--card"]];
  return [...texts.filter((pair) => of(...pair) < 4.5), ...marks.filter((pair) => of(...pair) < 3)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(open_page: Any, scheme: str) -> None:
    """Texts have 4.5 to 1, and marks 3 to 1, as WCAG asks for."""
    page = open_page(color_scheme=scheme)
    assert page.page.evaluate(CONTRAST) == []
    colour = page.run("getComputedStyle(document.body).backgroundColor")
    assert (colour == "rgb(15, 19, 24)") == (scheme == "dark")
    mark = page.run("getComputedStyle(document.querySelector('#memory .role-mark path')).fill")
    assert mark.startswith("rgb("), "a chart has the colours of the page"


def test_it_fits_a_narrow_window(open_page: Any) -> None:
    """Only charts and tables scroll sideways, each in its place."""
    page = open_page(viewport={"width": 360, "height": 700})
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    page.page.click("#graph .node:has-text('side')")
    page.details("Sigmoid side")


def test_without_scripts_there_are_charts_and_tables(browser: Any, path: Path) -> None:
    """And a line that says what is missing."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.is_visible("noscript p") and page.is_visible("#times svg")
    context.close()


def test_a_large_network_makes_a_small_page(facts: Facts, browser: Any, tmp_path: Path) -> None:
    """1,500 layers, in chains with residual sums: folded at first, searched, and unfolded."""
    layers, last = [Layer("Input", "data", 2, "Input data", (), (), 0, 0)], 0
    while len(layers) < 1500:
        start = last
        for _ in range(len(layers) % 5 + 1):
            name = f"stage{len(layers) // 100}/conv{len(layers)}"
            layers.append(Layer("Convolution", name, 0, "", (), (last,), 9, 9, became=len(layers)))
            last = len(layers) - 1
        layers.append(Layer("BinaryOp", f"sum{len(layers)}", 0, "", (), (start, last), 0, 0))
        last = len(layers) - 1
    steps = tuple(
        Step((layer.name,), f"k{number % 40}", 1, 99, 9, 9, 0.1, 0.05, 0.01, "compute")
        for number, layer in enumerate(layers)
    )
    path = tmp_path / "large.html"
    path.write_text(html(replace(facts, file=tuple(layers), now=tuple(layers), steps=steps)))
    context = browser.new_context(offline=True)
    page = Page(context, path)
    assert path.stat().st_size < MOST_BYTES * len(layers)
    assert page.run("document.querySelectorAll('*').length") < MOST_ELEMENTS * len(layers)
    assert page.page.is_checked("#fold")
    page.page.fill("#search", "conv77")
    assert "layers found" in page.page.inner_text("#found")
    page.page.click("#matches a")
    page.details("Convolution")
    page.page.uncheck("#fold")
    assert page.run("document.querySelectorAll('#graph .node').length") == len(layers)
    assert page.console == []
    context.close()
