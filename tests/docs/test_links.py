"""Pages point at what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
ROOMS = ("compiler", "dialects", "runtime", "examples", "tests")
FILES = [str(file) for room in ROOMS for file in (ROOT / room).rglob("*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file or a folder of this checkout."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """`linalg/memory/assign_buffers.py` is a file whose path ends so."""
    named = re.findall(r"`([\w/]+\.py)`", page.read_text())
    assert [name for name in named if not any(f.endswith(f"/{name}") for f in FILES)] == []


def test_all_pages_are_found_from_the_first_one() -> None:
    """Whoever reads README.md, and what it links to, has seen that they exist."""
    seen: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop().resolve()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        ahead += [page.parent / t for t in re.findall(r"\]\(([^)#]+)", page.read_text())]
    assert {page.resolve() for page in PAGES} <= seen
