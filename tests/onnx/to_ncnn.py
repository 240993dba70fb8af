"""Converts ONNX networks by `ncc optimize` and runs the files by ncnn: right, refused, or WRONG.

    python -m tests.onnx.to_ncnn node                 the node cases of the `onnx` package
    python -m tests.onnx.to_ncnn light packages       the package's light models; networks of PyPI
    python -m tests.onnx.to_ncnn vision --keep made   networks of torchvision, exported by torch
    python -m tests.onnx.to_ncnn open --keep made     the same with open sides, at several sizes
    python -m tests.onnx.to_ncnn modules --like lstm  modules of tests/onnx/torch_modules

Right is what onnxruntime computes; for cases, what they say. The reasons of refusals are counted.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ncc.compiler.diagnostics import Unsupported
from ncc.runtime.results import Array
from tests.onnx.backend import Outcome, cases, files_of
from tests.onnx.converted import check_converted, io_names
from tests.onnx.forked import forked

SECONDS = 600
EXPORTERS = ("dynamo", "script")

Task = tuple[str, Callable[[], Outcome]]


def judged(name: str, check: Callable[[], None]) -> Outcome:
    """How a conversion went. check: raises where it went wrong."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            check()
    except Unsupported as error:
        return Outcome(name, "", "refused", error.what)
    except Skipped as error:
        return Outcome(name, "", "skipped", str(error))
    except Exception as error:  # which is a finding, and no reason to end
        text = " ".join(str(error).split())[:300]
        return Outcome(name, "", "WRONG", f"{type(error).__name__}: {text}")
    return Outcome(name, "", "right")


class Skipped(Exception):
    """A case that says nothing about ncnn."""


def against_onnxruntime(path: str, feeds: Sequence[Mapping[str, Array]], sized: bool) -> None:
    """Raise where the files do not make what onnxruntime makes of the .onnx. sized: by files for
    each shape of the inputs; else by one pair for all.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    names = [one.name for one in session.get_outputs()]
    for number, fed in enumerate(feeds):
        try:
            found = session.run(None, dict(fed))
        except Exception:
            if not number:
                raise
            continue  # a size that the network does not take
        wanted = dict(zip(names, found, strict=True))
        shapes = {name: array.shape for name, array in fed.items()} if sized else None
        check_converted(path, fed, wanted, shapes)


def _case(case: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, data_sets = files_of(case, folder)
        for inputs, outputs in data_sets:
            arrays = [one for one in (*inputs, *outputs) if isinstance(one, np.ndarray)]
            if len(arrays) < len(inputs) + len(outputs):
                raise Skipped("values that are no arrays")
            given, made = io_names(str(path))
            fed = dict(zip(given, inputs, strict=False))
            check_converted(str(path), fed, dict(zip(made, outputs, strict=True)))


def of_cases(kind: str, folder: Path) -> Iterator[Task]:
    """Cases of the `onnx` package."""
    for name, case in cases("real" if kind == "light" else kind).items():
        yield name, partial(judged, name, partial(_case, case))


def of_packages(kind: str, folder: Path) -> Iterator[Task]:
    """Trained networks of packages, at each size."""
    from tests.onnx.packages import NETWORKS, folder_of

    for name, (package, file, feeds_of) in NETWORKS.items():

        def check(package: str = package, file: str = file, feeds_of: Any = feeds_of) -> None:
            path = str(folder_of(package) / file)
            against_onnxruntime(path, list(feeds_of()), sized=True)

        yield name, partial(judged, name, check)


def of_vision(kind: str, folder: Path) -> Iterator[Task]:
    """Networks of torchvision, by both exporters, and with open sides."""
    from tests.onnx.torch_vision import NAMES

    for name in NAMES:
        for exporter in EXPORTERS:
            one = f"{name} ({exporter})"
            yield one, partial(judged, one, partial(_vision, name, exporter, folder))


def _vision(name: str, exporter: str, folder: Path) -> None:
    import onnx

    from tests.onnx.torch_vision import exported

    path = exported(name, exporter, folder)
    extents = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    x = np.random.default_rng(0).standard_normal([one.dim_value for one in extents], np.float32)
    against_onnxruntime(str(path), [{"x": x}], sized=False)


OPEN_SIDES = ((0, 0), (32, 64), (64, 32), (7, 13), (-9, 41))
"""Height and width of images, beyond the side that a network is exported with."""


def of_open(kind: str, folder: Path) -> Iterator[Task]:
    """Networks of torchvision with open sides: one pair of files for all sizes."""
    from tests.onnx.torch_vision import NAMES

    for name in NAMES:
        for exporter in EXPORTERS:
            one = f"{name} ({exporter}, open)"
            yield one, partial(judged, one, partial(_open, name, exporter, folder))


def _open(name: str, exporter: str, folder: Path) -> None:
    from tests.onnx.torch_vision import exported, side_of

    try:
        path = exported(name, exporter, folder, sides_open=True)
    except Exception as error:  # of torch, which exports some networks for one size only
        raise Skipped(f"torch does not export it: {str(error)[:80]}") from error
    random, side = np.random.default_rng(0), side_of(name)
    sizes = [(1, 3, side + high, side + wide) for high, wide in OPEN_SIDES]
    against_onnxruntime(
        str(path), [{"x": random.standard_normal(one, np.float32)} for one in sizes], sized=False
    )


def of_modules(kind: str, folder: Path) -> Iterator[Task]:
    """Small modules of torch, by both exporters."""
    from tests.onnx.torch_modules.export import FAMILIES, export, load

    def check(case: Any, exporter: str) -> None:
        made = export(case, exporter, folder)
        if isinstance(made, str):
            raise Skipped(made)
        given = io_names(str(made.path))[0]
        against_onnxruntime(str(made.path), [dict(zip(given, made.inputs, strict=True))], False)

    for case in load(FAMILIES):
        for exporter in EXPORTERS:
            name = f"{case.name} ({exporter})"
            yield name, partial(judged, name, partial(check, case, exporter))


KINDS: Mapping[str, Callable[[str, Path], Iterator[Task]]] = {
    "node": of_cases,
    "simple": of_cases,
    "pytorch-converted": of_cases,
    "pytorch-operator": of_cases,
    "light": of_cases,
    "packages": of_packages,
    "vision": of_vision,
    "open": of_open,
    "modules": of_modules,
}


def run(kind: str, folder: Path, like: str = "", workers: int = 2) -> Iterator[Outcome]:
    """The outcomes of a kind, as they are known."""
    tasks = [task for task in KINDS[kind](kind, folder) if like in task[0]]
    for name, found in forked(tasks, workers, SECONDS):
        yield Outcome(name, "", "WRONG", found) if isinstance(found, str) else found


def reasons(why: str) -> Iterator[str]:
    """The operators, or other things, that a refusal names; without names of nodes and shapes."""
    plain = re.sub(r"\([^()]*\)|'[^']*'", "", why.partition("in ncnn: ")[2] or why)
    for part in plain.split(";"):
        yield " ".join(re.sub(r"which is \S+", "which has too many axes", part).split())[:70]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    parser.add_argument("--like", default="", help="a part of the names")
    parser.add_argument("--keep", help="a folder for what torch exports")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quiet", action="store_true", help="only what is WRONG, and the counts")
    chosen = parser.parse_args(arguments)
    kinds: Counter[str] = Counter()
    why: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        for kind in chosen.kinds:
            folder = Path(chosen.keep or temporary)
            for one in run(kind, folder, chosen.like, chosen.workers):
                kinds[one.kind] += 1
                if one.kind == "refused":
                    why.update(set(reasons(one.why)))
                if one.kind == "WRONG" or not chosen.quiet:
                    print(one, flush=True)
    for reason, count in why.most_common():
        print(f"{count:5} {reason}")
    print(dict(kinds))
    return int(kinds["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
