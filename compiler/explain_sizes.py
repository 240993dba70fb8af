"""Whether one compilation runs a network at every size of its inputs, and if not, why.

    inputs: data 3x?x?
    layer 'yolo' on line 12: not supported: Reorg of this kind makes tables, or code, for one size
    so each shape is a compilation of its own

Without a shape, all extents of inputs are open, but the channels of images that the file tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import ModelError, ModelWarning, Unsupported
from ncc.compiler.ncnn.convert_to_linalg import hindrances
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.shapes import OpenShape, shown
from ncc.dialects.size import assuming, is_open
from ncc.dialects.size_needs import needed
from ncc.runtime.paths import PathLike


@dataclass(frozen=True)
class SizesFate:
    """Whether one compilation is for every size.

    inputs: the shape of each, with ? for an open extent. hindrances: the layers, or what else, that
    need one size. conditions: which sizes one compilation runs; none if it runs all.
    """

    inputs: Mapping[str, str]
    hindrances: tuple[str, ...]
    conditions: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """What to print."""
        yield "inputs: " + ", ".join(f"{name} {shape}" for name, shape in self.inputs.items())
        yield from self.hindrances
        if self.hindrances:
            yield "so each shape is a compilation of its own"
        elif not any("?" in shape for shape in self.inputs.values()):
            yield "the layers take this size alone"
        elif self.conditions:
            yield "one compilation runs all sizes for which this holds:"
            yield from (f"  {condition}" for condition in self.conditions)
        else:
            yield "one compilation runs every size that the layers take"


def fate_of_sizes(param: PathLike, bin: PathLike | None, options: Options) -> SizesFate:
    """Compile the network for open shapes, up to its kernels, and tell what stands in the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        first = Compilation(param, bin, options)
        asked = {**_opened(first), **options.input_shapes}
        compilation = first.at(asked)
        try:
            with assuming() as assumed:
                module = compilation.network()
                taken = {name: _text(value) for name, value in Network.of(module).inputs.items()}
                found = hindrances(Network.of(module), options.num_threads)
                if not found:
                    module = compilation.structured(module)
                    compilation.loops(module, compilation.plan(module))
        except (ModelError, Unsupported) as error:
            return SizesFate({name: shown(one) for name, one in asked.items()}, (str(error),), ())
    conditions = () if found else tuple(map(str, needed(assumed)))
    return SizesFate(taken, tuple(map(str, found)), conditions)


def _opened(compilation: Compilation) -> dict[str, OpenShape]:
    """The shapes of the inputs with all extents open, but the channels of images."""
    known = open_shapes(compilation.source)
    return {
        name: tuple(n if axis == 0 and len(shape) > 2 else None for axis, n in enumerate(shape))
        for name, shape in known.items()
        if shape is not None
    }


def _text(value: SSAValue) -> str:
    """The shape of an input, with ? for an open extent."""
    shape = shape_of(value) or ()
    return shown(tuple(None if is_open(n) else n for n in shape))
