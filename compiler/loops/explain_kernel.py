"""Which layers a kernel computes, why it has its schedule, and where its time goes.

@contraction_2f9a0c5b7d11
  layers: conv1, relu1
  operations: 21,954,560 in 29 chunks
  ..
  cycles: 219,803 (multiply-adds 81 %, stores 12 %, iterations 5 %, starts 3 %)
  step 0: conv1, relu1: reads 618,348 bytes of data and 1,792 of weights, writes 839,808
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ncc.compiler.loops.build_network import Step
from ncc.compiler.loops.kernels_text import KernelsText
from ncc.compiler.loops.units import Unit
from ncc.compiler.loops.work import work_of
from ncc.runtime.errors import InputError


def explain_kernels(kernels: KernelsText, names: Sequence[str]) -> Iterator[str]:
    """Lines about kernels with these names, and about those that compute layers with these names.

    Raises InputError for a name that neither a kernel nor a layer has.
    """
    loops = kernels.loops
    layers = {unit.name: loops.layers_of(unit) for unit in loops.units}
    known = {*layers, *(layer for held in layers.values() for layer in held)}
    for name in names:
        if name not in known:
            raise InputError.unknown_name("kernel or layer", name, sorted(known))
    for unit in loops.units:
        if any(name == unit.name or name in layers[unit.name] for name in names):
            yield f"@{unit.name}"
            yield from (f"  {line}" for line in _told(kernels, unit))


def _told(kernels: KernelsText, unit: Unit) -> Iterator[str]:
    yield from kernels.comments(unit)
    told: dict[str, list[str]] = {}
    for number, step in enumerate(kernels.loops.steps):
        for call in step.of_iteration or (step,):
            if call.kernel == unit.name:
                told.setdefault(_memory_text(call), []).append(str(number))
    for text, steps in told.items():
        yield f"step{'s' * (len(steps) > 1)} {', '.join(steps)}: {text}"


def _memory_text(call: Step) -> str:
    work = work_of(call)
    return (
        f"{', '.join(call.layers)}: reads {work.read_bytes:,} bytes of data and "
        f"{work.weight_bytes:,} of weights, writes {work.written_bytes:,}"
    )
