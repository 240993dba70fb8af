"""A page of every network beside the checkout, in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

for package in ("jinja2", "pygraphviz", "vl_convert"):
    pytest.importorskip(package, reason=f"{package} is not installed")

from ncc.compiler.report.gather import gather  # noqa: E402
from ncc.compiler.report.page import html  # noqa: E402
from ncc.compiler.report.request import Request  # noqa: E402
from tests.compiler.report.conftest import Page  # noqa: E402

MODELS = Path(__file__).parents[4] / "shared" / "models"
FOUND = sorted(MODELS.rglob("*.param"))


@pytest.mark.sweep
@pytest.mark.skipif(not FOUND, reason="there are no models beside the checkout")
@pytest.mark.parametrize("model", FOUND, ids=lambda path: path.stem)
def test_every_network_has_a_page(model: Path, browser: Any, tmp_path: Path) -> None:
    """It opens without a word on the console, and every layer has details.

    Language models, with their gigabytes of weights, are not run.
    """
    param, measured = shutil.copy(model, tmp_path), model.parent.name != "llm"
    options = {"random_weights": 0}
    facts = gather(Request(param, None, options, rounds=1, measured=measured, compared=False))
    path = tmp_path / "net.html"
    path.write_text(html(facts))
    context = browser.new_context(offline=True)
    page = Page(context, path)
    for kind, layers in (("file", facts.file), ("now", facts.now)):
        for number, layer in enumerate(layers):
            page.run(f"location.hash = '#{kind}-{number}'")
            page.details(f"{layer.type} {layer.name}")
    assert page.console == []
    context.close()
