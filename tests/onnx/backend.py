"""The backend tests of the `onnx` package, run through ncc: right, refused by name, or WRONG.

    python -m tests.onnx.backend Conv Relu          every case of these operators, one line each
    python -m tests.onnx.backend --all --table docs/onnx.md
    python -m tests.onnx.backend --like test_pad_   cases by their names

A case is right where all its data sets are, by its own tolerances, at -O0 and at -O2. It is refused
where ncc raises Unsupported. Everything else is WRONG: another value, another error, a crash.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ncc.compiler.diagnostics import NccError, Unsupported
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.options import Options
from ncc.runtime.results import Array
from tests.onnx.forked import forked

LEVELS = (0, 2)
SECONDS = 300
"""The time of a case."""


@dataclass(frozen=True)
class Outcome:
    """How a case went: "right", "refused" or "WRONG", and why."""

    name: str
    operator: str
    kind: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind:8} {self.operator:22} {self.name}  {self.why}".rstrip()


@cache
def cases(kind: str = "node") -> Mapping[str, Any]:
    """All cases of a kind, by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind=kind)}


def case_named(name: str, file: str) -> Any:
    """One node case, of the file of the package that makes it: all cases take ten seconds."""
    from importlib import import_module

    from onnx.backend.test.case import node

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        import_module(f"onnx.backend.test.case.node.{file}")
    return next(case for case in node._NodeTestCases if case.name == name)


def operator_of(name: str, known: Mapping[str, Any]) -> str:
    """The operator that a case is about; of one whose function is expanded, that function."""
    plain = name.split("_expanded")[0]
    case = known.get(plain, known[name])
    nodes = case.model.graph.node if case.model is not None else ()
    kinds = [node.op_type for node in nodes if node.op_type != "Constant"]
    return kinds[0] if kinds else "Constant"


def outcome(case: Any, operator: str = "", levels: Sequence[int] = LEVELS) -> Outcome:
    """Compile and run one case."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for level in levels:
                _check(case, level)
    except Unsupported as error:
        return Outcome(case.name, operator, "refused", error.what)
    except NccError as error:
        return Outcome(case.name, operator, "WRONG", f"{type(error).__name__}: {_line(error)}")
    except Exception as error:  # which is a finding, and no reason to end
        return Outcome(case.name, operator, "WRONG", f"{type(error).__name__}: {_line(error)}")
    return Outcome(case.name, operator, "right")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _check(case: Any, level: int) -> None:
    """Raise where ncc does not make what the case says."""
    with tempfile.TemporaryDirectory() as folder:
        path, data_sets = files_of(case, folder)
        model = compile_with(path, None, Options.of(opt_level=level, tuned=False))
        for inputs, outputs in data_sets:
            names = [binding.name for binding in model.inputs]
            if len(inputs) != len(names):
                raise AssertionError(f"{len(names)} inputs instead of {len(inputs)}")
            feeds = {name: _array(x) for name, x in zip(names, inputs, strict=True)}
            results = list(model.run(feeds).values())
            if len(results) != len(outputs):
                raise AssertionError(f"{len(results)} outputs instead of {len(outputs)}")
            for found, wanted in zip(results, outputs, strict=True):
                compare(found, _array(wanted), case.rtol, case.atol, level)


def compare(found: Array, wanted: Array, rtol: float, atol: float, level: int) -> None:
    """Raise where two arrays differ by more than a tolerance, and by more than one rounding of the
    largest value that is wanted: some cases want no rounding where their own values have one.
    """
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise AssertionError(
            f"-O{level}: {found.dtype} {found.shape} instead of {wanted.dtype} {wanted.shape}"
        )
    if np.issubdtype(wanted.dtype, np.floating):
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
        atol = max(atol, float(largest * np.finfo(wanted.dtype).eps))
    np.testing.assert_allclose(found, wanted, rtol, atol, err_msg=f"-O{level}")


def _array(value: Any) -> Array:
    """An array of a data set as ncc takes it: of bfloat16, the bits."""
    if isinstance(value, list | tuple | dict) or value is None:
        raise Unsupported("values that are no tensors")
    if hasattr(value, "data_type"):  # a TensorProto
        from onnx import numpy_helper

        value = numpy_helper.to_array(value)
    array = np.asarray(value)
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def files_of(case: Any, folder: str) -> tuple[Path, list[tuple[list[Any], list[Any]]]]:
    """The path of the model, and inputs and outputs of each data set."""
    if case.model is not None:
        path = Path(folder, "case.onnx")
        path.write_bytes(case.model.SerializeToString())
        return path, [(list(inputs), list(outputs)) for inputs, outputs in case.data_sets]
    if case.model_dir is None:
        return _light(case)
    return Path(case.model_dir, "model.onnx"), list(_stored(Path(case.model_dir)))


def _light(case: Any) -> tuple[Path, list[tuple[list[Any], list[Any]]]]:
    """A classic network, which the package has without its weights; input and output are those of
    the package's own runner.
    """
    import onnx
    from onnx.backend.test.runner import Runner

    path = Path(onnx.__file__).parent.parent / case.url
    graph = onnx.load(path).graph
    held = {tensor.name for tensor in graph.initializer}
    inputs = [
        Runner.generate_dummy_data(info, seed=0, name=case.model_name, random=False)
        for info in graph.input
        if info.name not in held
    ]
    return path, [(inputs, [_stored_array(Path(f"{path.with_suffix('')}_output_0.pb"))])]


def _stored(folder: Path) -> Iterator[tuple[list[Any], list[Any]]]:
    """The data sets beside a stored model."""
    for data in sorted(folder.glob("test_data_set_*")):
        counts = {kind: len(list(data.glob(f"{kind}_*.pb"))) for kind in ("input", "output")}
        inputs, outputs = (
            [_stored_array(data / f"{kind}_{k}.pb") for k in range(counts[kind])]
            for kind in ("input", "output")
        )
        yield inputs, outputs


def _stored_array(path: Path) -> Array:
    import onnx

    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    array: Array = onnx.numpy_helper.to_array(tensor)
    return array


# --- many cases, each in a process of its own -----------------------------------------------------


def run(chosen: Sequence[Any], known: Mapping[str, Any], workers: int) -> Iterator[Outcome]:
    """The outcomes of cases as they are done; a case that crashes ends no other."""
    # Loaded once: a fork of this process has them.
    import ncc.compiler.driver.assemble
    import ncc.compiler.llvm.object_code  # noqa: F401

    operators = {case.name: operator_of(case.name, known) for case in chosen}
    tasks = [(case.name, partial(outcome, case, operators[case.name])) for case in chosen]
    for name, found in forked(tasks, workers, SECONDS):
        if isinstance(found, str):
            found = Outcome(name, operators[name], "WRONG", found)
        yield found


def table(outcomes: Iterable[Outcome]) -> str:
    """A row for each operator."""
    rows: dict[str, list[Outcome]] = {}
    for one in outcomes:
        rows.setdefault(one.operator, []).append(one)
    head = "| operator | cases | right | refused | other | why it is refused |"
    lines = [head, "|---|---|---|---|---|---|"]
    total: Counter[str] = Counter()
    for operator, found in sorted(rows.items()):
        counts = Counter(one.kind for one in found)
        total.update(counts)
        why = Counter(_reason(one.why) for one in found if one.kind == "refused")
        told = "; ".join(f"{count}: {reason}" for reason, count in why.most_common(3))
        numbers = [counts["right"], counts["refused"] or "", counts["WRONG"] or ""]
        lines.append(f"| {operator} | {len(found)} | {' | '.join(map(str, numbers))} | {told} |")
    counted = (
        f"{sum(total.values())} cases: {total['right']} right, {total['refused']} refused, "
        f"{total['WRONG']} other"
    )
    return f"{counted}.\n\n" + "\n".join(lines) + "\n"


def _reason(why: str) -> str:
    """A reason without the names of nodes."""
    return why.split(" (")[0].replace("|", "/")[:80]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--like", default="", help="a part of the names of cases")
    parser.add_argument("--kind", default="node")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--table", help="the page to write")
    parser.add_argument("--quiet", action="store_true", help="only what is WRONG")
    chosen = parser.parse_args(arguments)
    known = cases(chosen.kind)
    wanted = [
        case
        for name, case in known.items()
        if chosen.all
        or (chosen.like and chosen.like in name)
        or operator_of(name, known) in chosen.operators
    ]
    outcomes = []
    for one in run(wanted, known, chosen.workers):
        outcomes.append(one)
        if one.kind == "WRONG" or not chosen.quiet:
            print(one, flush=True)
    print(Counter(one.kind for one in outcomes))
    if chosen.table:
        Path(chosen.table).write_text(HEADER + table(outcomes))
    return int(any(one.kind == "WRONG" for one in outcomes))


HEADER = """# ONNX operators

Made by `python -m tests.onnx.backend --all --table docs/onnx.md`: the node cases of the `onnx`
package's backend tests, each compiled at -O0 and at -O2. A case is right within its own tolerances
at both; it is refused where ncc says by name what it cannot do; any other outcome is "other".

"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
