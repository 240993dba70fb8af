"""What ncnn computes, of a network's outputs and of single layers, where its wheel can."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.judge import counts_rows
from ncc.compiler.verification.pieces import Piece, name_of, origin
from ncc.compiler.write.weights import write_weights
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.runtime.paths import PathLike

Array: TypeAlias = NDArray[Any]


class ByNcnn:
    """A network as ncnn runs it; a context, since weights that have no file get one.

    reason: why it did not, where it did not.
    """

    def __init__(self, param: PathLike, bin: PathLike | None, random_weights: int | None) -> None:
        self.param = param
        self.reason: str | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="ncc-verify-")
        self._bin = bin or default_bin_path(param)
        if random_weights is not None and oracle.available():
            self._bin = Path(self._folder.name, "weights.bin")
            module = read(param, random_weights=random_weights).module
            with self._bin.open("wb") as file:
                write_weights(Network.of(module).layers, file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    def blobs(self, inputs: Mapping[str, Array], names: Iterable[str]) -> dict[str, Array]:
        """The named blobs of the network; none where ncnn cannot."""
        wanted = list(names)
        try:
            return oracle.run(self.param, self._bin, inputs, wanted) if wanted else {}
        except (Unsupported, oracle.OracleError) as error:
            self.reason = self.reason or str(error)
            return {}

    def layers(self, piece: Piece) -> dict[SSAValue, Array]:
        """What each layer of a piece makes of what compiled code gave it; none where ncnn cannot.

        Only of layers of float32 and int8, and not of those that find rows.
        """
        arrays: dict[str, Array] = {}
        steps: list[oracle.Step] = []
        made: list[SSAValue] = []
        for op in piece.layers:
            if not op.operands or not _is_plain(op, piece):
                continue
            reads = {name_of(operand): name_of(origin(operand)) for operand in op.operands}
            arrays |= {
                name_of(origin(operand)): piece.values[origin(operand)] for operand in op.operands
            }
            steps.append(oracle.Step(reads, [name_of(result) for result in op.results]))
            made += op.results
        if not steps or self.reason is not None:
            return {}
        try:
            found = oracle.run_steps(self.param, self._bin, arrays, steps)
        except (Unsupported, oracle.OracleError) as error:
            self.reason = str(error)
            return {}
        return {value: found[name_of(value)] for value in made}


def own_layout(op: Layer) -> set[SSAValue]:
    """The results that ncnn hands out in a layout of its own."""
    return {op.results[k] for k in op.OWN_LAYOUT if k < len(op.results)}


def _is_plain(op: Layer, piece: Piece) -> bool:
    """Whether ncnn can run a layer by itself, to the same values."""
    arrays = [*piece.given(op), *piece.made(op)]
    plain = all(array.dtype in (np.float32, np.int8) and array.size for array in arrays)
    return plain and not own_layout(op) and not counts_rows(op, piece.given(op))
