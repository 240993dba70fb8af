"""Networks to report on, their facts, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ncc.compiler.report.facts import Facts
from ncc.compiler.report.gather import gather
from ncc.compiler.report.request import Request

NETWORK = """7767517
8 9
Input        data   0 1 data 0=8 1=8 2=16
Convolution  first  1 1 data first 0=16 1=3 4=1 5=1 6=2304
ReLU         act    1 1 first act
Dropout      drop   1 1 act drop
Split        two    1 2 drop left right
Pooling      pool   1 1 left pool 0=1 4=1
Sigmoid      side   1 1 right side
InnerProduct score  1 1 pool score 0=10 1=1 2=160
"""
"""A layer that stays, some that become one, and a fork."""

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def of_text(folder: Path, text: str, **options: Any) -> Facts:
    """The facts of a network with weights that are made up; nothing is measured or compared."""
    path = folder / "net.param"
    path.write_text(text)
    return gather(
        Request(path, None, {"random_weights": 0, **options}, measured=False, compared=False)
    )


class Page:
    """A page that is open in the browser, and what its console shows."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.console: list[str] = []
        self.page.on("console", lambda said: self.console.append(said.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url))
        self.page.goto(path.as_uri())

    def _note(self, url: str) -> None:
        if not url.startswith(("file:", "data:")):
            self.console.append(f"it loads {url}")

    def details(self, start: str) -> str:
        """The text of the details, as soon as it begins with `start`.

        The page follows a link in an event of its own, behind the click.
        """
        self.page.wait_for_function("start => details.textContent.startsWith(start)", arg=start)
        text: str = self.page.inner_text("#details")
        return text

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """Those of the network above."""
    return of_text(tmp_path_factory.mktemp("report"), NETWORK)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, as the system has it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    paths = [path for name in CHROMIUM if (path := shutil.which(name))]
    if not paths:
        pytest.skip("there is no Chromium here: apt install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=paths[0], args=["--no-sandbox"])
        yield browser
        browser.close()
