"""Draws the folders of this checkout and the imports between them, in ARCHITECTURE.md.

    python docs/draw_folders.py

Each folder of `compiler/` is a node; so are `dialects/`, `runtime/` and `ncc/`. A file that lies in
`compiler/` itself is a node, too; those of them that import no folder of the compiler share one.
An arrow leads from a folder to one that it imports. An arrow is left out where a longer way leads
to the same folder.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN = "<!-- made by docs/draw_folders.py: begin -->\n"
END = "<!-- made by docs/draw_folders.py: end -->\n"

Graph: TypeAlias = dict[str, set[str]]
"""The nodes that each node imports."""


def node_of(file: Path) -> str:
    """The node that a Python file belongs to, by its path from the root."""
    parts = file.parts
    return "/".join(parts[:2]) if parts[0] == "compiler" else parts[0]


@cache
def file_of(module: str) -> Path | None:
    """The file of a module of this checkout, from the root; None for other modules.

    An empty `__init__.py` only marks a folder, and is none.
    """
    first, *rest = module.split(".")
    if first != "ncc":
        return None
    path = Path(*rest) if rest and rest[0] in ("compiler", "dialects", "runtime") else Path(first)
    candidates = path.with_suffix(".py"), path / "__init__.py"
    return next((c for c in candidates if (ROOT / c).is_file() and (ROOT / c).stat().st_size), None)


def imported_files(file: Path) -> Iterator[Path]:
    """The files of this checkout that a file imports; of `from a import b` a.b, if a module."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        found: list[Path | None] = []
        if isinstance(node, ast.Import):
            found = [file_of(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            base = node.module
            found = [file_of(f"{base}.{a.name}") or file_of(base) for a in node.names]
        yield from (one for one in found if one is not None)


def graph_of_imports() -> Graph:
    """Every import between two nodes."""
    folders = ("compiler", "dialects", "runtime", "ncc")
    paths = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    graph: Graph = {}
    for path in paths:
        file = path.relative_to(ROOT)
        if file.parts[0] == "ncc" and len(file.parts) > 2:
            continue  # a folder that ncc/ links to
        nodes = {node_of(one) for one in imported_files(file)}
        graph.setdefault(node_of(file), set()).update(nodes - {node_of(file)})
    return graph


def with_shared_files(graph: Graph) -> Graph:
    """Joins the files of `compiler/` that import no folder of the compiler, into one node.

    Files without any import to draw are left out.
    """
    used = set().union(*graph.values())
    graph = {node: below for node, below in graph.items() if below or node in used}

    def is_file(node: str) -> bool:
        return node.endswith(".py")

    shared = {
        node
        for node, below in graph.items()
        if is_file(node) and all(is_file(b) or not b.startswith("compiler/") for b in below)
    }
    while wrong := {node for node in shared if any(is_file(b) for b in graph[node] - shared)}:
        shared -= wrong
    name = "compiler/" + ", ".join(sorted(node.split("/")[1] for node in shared))
    joined: Graph = {}
    for node, below in graph.items():
        target = name if node in shared else node
        joined.setdefault(target, set()).update(name if b in shared else b for b in below)
    joined[name].discard(name)
    return joined


def reduced(graph: Graph) -> list[tuple[str, str]]:
    """The arrows that no longer way replaces; `CycleError` where imports go round."""
    reachable: Graph = {}
    arrows = []
    for node in TopologicalSorter(graph).static_order():
        below = graph.get(node, set())
        indirect = set().union(*(reachable[one] for one in below))
        reachable[node] = below | indirect
        arrows += [(node, one) for one in below - indirect]
    return sorted(arrows)


def picture() -> str:
    """The flowchart, between its two markers."""
    graph = with_shared_files(graph_of_imports())
    numbers = {node: f"n{number}" for number, node in enumerate(sorted(graph))}
    nodes = [f'    {number}["{node}"]' for node, number in numbers.items()]
    arrows = [f"    {numbers[above]} --> {numbers[below]}" for above, below in reduced(graph)]
    lines = ["```mermaid", "flowchart TD", *nodes, *arrows, "```"]
    return BEGIN + "\n".join(lines) + "\n" + END


def main() -> None:
    """Puts the picture into the page."""
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{PAGE} has lost a marker: {BEGIN.strip()} or {END.strip()}")
    PAGE.write_text(before + picture() + after)


if __name__ == "__main__":
    main()
