"""Imports go down only.

   10  compiler/{cli.py,commands}, ncc/       the doors
    9  compiler/report                        what the others find, on one page
    8  compiler/{measure,verification}        they run what the driver compiles
    7  compiler/feeds.py, dask_map.py         arrays to run on, workers to run them
    6  compiler/driver                        compilations: cache, workers, models of open shapes
       compiler/explain*.py                   what passes decide, and why
    5  compiler/{pipeline,optimizer,...}.py    all stages in order; commands without machine code
    4  compiler/{artifact,library}, {network_files,passes,..}.py  what some stages make together
    3  compiler/{read,read_onnx,onnx,ncnn,...}  the stages; they meet only in the IR
    2  compiler/{cost_model,diagnostics,options,plan,progress,..}.py  the notions they share
    1  dialects/                              what is true
    0  runtime/                               what happens

A module imports lower floors and its own room. Rooms of the same floor do not see each other.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

NOTIONS = (
    "ncc.compiler.background",
    "ncc.compiler.barriers",
    "ncc.compiler.cost_model",
    "ncc.compiler.diagnostics",
    "ncc.compiler.options",
    "ncc.compiler.plan",
    "ncc.compiler.progress",
    "ncc.compiler.stopwatch",
    "ncc.compiler.target",
)
DOORS = ("ncc", "ncc.__main__", "ncc.dask", "ncc.image", "ncc.layers", "ncc.compiler.cli")
COMMANDS = "ncc.compiler.commands"
STAGES = tuple(
    f"ncc.compiler.{stage}"
    for stage in ("read", "read_onnx", "onnx", "ncnn", "linalg", "loops", "llvm", "write")
)

ABOVE_STAGES = {
    "artifact": 4,
    "library": 4,
    "passes": 4,
    "network_files": 4,
    "open_blobs": 4,
    "optimizer": 5,
    "summary": 5,
    "pipeline": 5,
    "dask_map": 7,
    "explain": 6,
    "universe": 5,
    "driver": 6,
    "explain_linalg": 6,
    "explain_sizes": 6,
    "feeds": 7,
    "measure": 8,
    "verification": 8,
    "report": 9,
}
"""The floors of the compiler's other rooms."""

LINALG = "ncc.compiler.linalg"
LOOPS = "ncc.compiler.loops"

SHARED = {
    # A view, of linear forms, is how the linalg level is read; writing loops is reading it.
    "ncc.compiler.linalg.analysis.linalg_op": "ncc.compiler.loops",
    "ncc.compiler.linalg.analysis.attributes": "ncc.compiler.loops",
    "ncc.compiler.linalg.analysis.affine_form": "ncc.compiler.loops",
}

LIBRARIES = {
    # room or module: what it may import besides the standard library; the first match holds
    "ncc.runtime.images": {"numpy", "PIL"},
    "ncc.runtime": {"numpy"},
    "ncc.dialects": {"numpy", "xdsl"},
    "ncc.compiler.llvm": {"numpy", "xdsl", "llvmlite"},
    "ncc.compiler.verification.oracle": {"numpy", "ncnn"},
    "ncc.compiler.verification.by_onnxruntime": {"onnx", "onnxruntime"},
    "ncc.compiler.measure.peers": {"numpy", "ncnn", "onnxruntime", "openvino"},
    "ncc.compiler.dask_map": {"numpy", "distributed"},
    "ncc.compiler.read_onnx": {"numpy", "xdsl", "onnx"},
    "ncc.compiler.report.charts": {"vl_convert"},
    "ncc.compiler.report.layout": {"pygraphviz"},
    "ncc.compiler.report.page": {"jinja2"},
    "ncc.compiler.cli": {"click"},
    COMMANDS: {"numpy", "click", "rich"},
    "ncc.compiler": {"numpy", "xdsl", "platformdirs", "filelock"},
    "ncc": set[str](),
}


@dataclass(frozen=True)
class Import:
    """One module that a file names, on a line."""

    module: str
    line: int
    only_for_types: bool


def inside(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def room_of(module: str) -> tuple[int, str]:
    """The floor, and the name of the room on it."""
    if inside(module, "ncc.runtime"):
        return 0, "runtime"
    if inside(module, "ncc.dialects"):
        return 1, "dialects"
    if module in NOTIONS:
        return 2, "notions"
    for stage in STAGES:
        if inside(module, stage):
            return 3, stage
    if module in DOORS or inside(module, COMMANDS):
        return 10, "doors"
    if module == "ncc.compiler":
        return 2, "the package"
    room = module.split(".")[2]
    return ABOVE_STAGES[room], room


def imports(source: Any, known: set[str]) -> Iterator[Import]:
    """Every import of a file, wherever it stands; `from a import b` names a.b, if a module."""
    for node in source.statements:
        types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node) if types else ():
            child.only_for_types = True  # type: ignore[attr-defined]
        flag = getattr(node, "only_for_types", False)
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, flag) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            named = [f"{base}.{alias.name}" for alias in node.names]
            for module in dict.fromkeys(full if full in known else base for full in named):
                yield Import(module, node.lineno, flag)


@pytest.fixture(scope="module")
def imported(modules: tuple[Any, ...]) -> dict[Any, list[Import]]:
    """What every module imports."""
    known = {source.module for source in modules}
    return {source: list(imports(source, known)) for source in modules}


def test_every_import_is_absolute(imported: dict[Any, list[Import]]) -> None:
    """A moved file fails loudly, and the rest of this file can read the imports."""
    relative = [
        f"{source.place}:{found.line}"
        for source, all_found in imported.items()
        for found in all_found
        if found.module.startswith(".")
    ]
    assert not relative


def test_no_test_imports_another(sources: tuple[Any, ...]) -> None:
    """What several files of tests need stands in a file that says what it is."""
    imports_a_test = re.compile(r"^ *(?:from|import) +(tests\.(?:\w+\.)*test_\w+)", re.MULTILINE)
    wrong = [
        f"{source.place} imports {module}"
        for source in sources
        for module in imports_a_test.findall(source.text)
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_go_down_only(imported: dict[Any, list[Import]]) -> None:
    """No module imports a higher floor, or a neighbour on its own."""
    wrong = []
    for source, all_found in imported.items():
        floor, room = room_of(source.module)
        for found in all_found:
            if not inside(found.module, "ncc") or inside(
                source.module, SHARED.get(found.module, "-")
            ):
                continue
            target_floor, target_room = room_of(found.module)
            if target_floor > floor or (target_floor == floor and target_room != room):
                wrong.append(f"{source.place}:{found.line} imports {found.module}")
    assert not wrong, "\n".join(wrong)


def cycle(needs: dict[str, set[str]]) -> list[str]:
    """What is left when all is taken away that needs nothing that is left."""
    while free := [one for one, below in needs.items() if not below & needs.keys()]:
        for one in free:
            del needs[one]
    return sorted(needs)


def test_no_cycle(imported: dict[Any, list[Import]]) -> None:
    """No module needs itself in order to be imported."""
    known = {source.module for source in imported}
    needs = {
        source.module: {found.module for found in all_found if not found.only_for_types} & known
        for source, all_found in imported.items()
    }
    assert not (found := cycle(needs)), f"a cycle among {found}"


def test_no_cycle_of_the_stations_of_linalg(imported: dict[Any, list[Import]]) -> None:
    """No folder of `linalg` needs itself by way of another; files beside them need no folder."""

    def station(module: str) -> str:
        return ".".join(module.split(".")[:4]) if module.count(".") > 3 else LINALG

    needs: dict[str, set[str]] = {}
    for source, all_found in imported.items():
        if inside(source.module, LINALG):
            rooms = {station(found.module) for found in all_found if inside(found.module, LINALG)}
            needs.setdefault(station(source.module), set()).update(rooms)
    for room, below in needs.items():
        below.discard(room)
    assert len(needs) > 1
    assert not (found := cycle(needs)), f"a cycle among {found}"


def test_rooms_of_loops_are_in_order(imported: dict[Any, list[Import]]) -> None:
    """A kernel is read, scheduled, written, launched: no room imports a later one, or files beside
    the rooms.
    """
    order = [f"{LOOPS}.{room}" for room in ("kernel", "schedule", "emit", "launch")]

    def position(module: str) -> int:
        return next((n for n, room in enumerate(order) if inside(module, room)), len(order))

    wrong = [
        f"{source.place}:{found.line} imports {found.module}"
        for source, all_found in imported.items()
        for found in all_found
        if inside(source.module, LOOPS)
        and inside(found.module, LOOPS)
        and position(found.module) > position(source.module)
    ]
    assert not wrong, "\n".join(wrong)


def test_libraries_stay_in_their_rooms(imported: dict[Any, list[Import]]) -> None:
    """The runtime needs numpy alone, LLVM is seen in one room, the terminal behind the doors."""
    wrong = []
    for source, all_found in imported.items():
        allowed = next(a for room, a in LIBRARIES.items() if inside(source.module, room))
        for found in all_found:
            library = found.module.partition(".")[0]
            if library not in allowed | {"ncc"} | sys.stdlib_module_names:
                wrong.append(f"{source.place}:{found.line} imports {found.module}")
    assert not wrong, "\n".join(wrong)
