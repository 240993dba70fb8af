"""Kernels written in the loops level compute what numpy computes, on every target."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target
from tests.compiler.llvm.called import Compile, constants, random


def pointwise_convolution(pixels: int, blocks: int, lanes: int) -> str:
    """A 1x1 convolution of 2 row tiles, 32 input channels, with its accumulators in registers."""
    vector = f"vector<{lanes}xf32>"
    image = f"memref<2x{2 * pixels}x16xf32>"
    weights = f"memref<2x2x16x{lanes}xf32>"
    result = f"memref<{blocks}x{2 * pixels}x{lanes}xf32>"
    tile = [(p, q) for p in range(pixels) for q in range(blocks)]
    names = [f"%r{p}_{q}" for p, q in tile]
    initial = ", ".join(f"%a{p}_{q} = %zero" for p, q in tile)
    inner = ", ".join(f"%b{p}_{q} = %a{p}_{q}" for p, q in tile)
    types = ", ".join([vector] * len(tile))
    loads = [f"%x{p} = arith.addi %x, %c{p} : index" for p in range(1, pixels)]
    body = [
        f"%w{q} = vector.load %weights[%c{q}, %ib, %i, %c0] : {weights}, {vector}"
        for q in range(blocks)
    ]
    for p in range(pixels):
        place = f"%x{p}" if p else "%x"
        body.append(f"%s{p} = memref.load %image[%ib, {place}, %i] : {image}")
        body.append(f"%v{p} = vector.broadcast %s{p} : f32 to {vector}")
        body += [
            f"%n{p}_{q} = vector.fma %v{p}, %w{q}, %b{p}_{q} : {vector}" for q in range(blocks)
        ]
    stores = [
        f"vector.store %t{p}_{q}, %result[%c{q}, {f'%x{p}' if p else '%x'}, %c0] : "
        f"{result}, {vector}"
        for p, q in tile
    ]
    newline = "\n"
    return f"""
func.func @k(%image: {image}, %weights: {weights}, %result: {result}) {{
  {constants(*range(17), 2 * pixels)}
  %step = arith.constant {pixels} : index
  %zero = arith.constant dense<0.0> : {vector}
  scf.for %x = %c0 to %c{2 * pixels} step %step {{
    {newline.join(loads)}
    {", ".join(f"%t{p}_{q}" for p, q in tile)} = scf.for %ib = %c0 to %c2 step %c1
        iter_args({initial}) -> ({types}) {{
      {", ".join(names)} = scf.for %i = %c0 to %c16 step %c1 iter_args({inner}) -> ({types}) {{
        {newline.join(body)}
        scf.yield {", ".join(f"%n{p}_{q}" for p, q in tile)} : {types}
      }}
      scf.yield {", ".join(names)} : {types}
    }}
    {newline.join(stores)}
  }}
  func.return
}}
"""


TILES = [(14, 2, 16, AVX512), (6, 2, 8, AVX2), (5, 2, 4, BASELINE)]


@pytest.mark.parametrize(("pixels", "blocks", "lanes", "natural"), TILES)
def test_register_tile(
    pixels: int, blocks: int, lanes: int, natural: Target, compiled: Compile
) -> None:
    """A tile of accumulators in nested loops gives the convolution, also split over registers."""
    image, weights = random(2, 2 * pixels, 16), random(2, 2, 16, lanes)
    result = np.zeros((blocks, 2 * pixels, lanes), np.float32)
    compiled(pointwise_convolution(pixels, blocks, lanes)).call("k", image, weights, result)
    exact = np.einsum("bpi,qbic->qpc", image, weights[:blocks], dtype=np.float64)
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("pixels", "blocks", "lanes", "natural"), TILES)
def test_register_tile_does_not_spill(
    pixels: int, blocks: int, lanes: int, natural: Target, parse: Callable[[str], ModuleOp]
) -> None:
    """A tile that fits the registers of its target touches the stack in no loop."""
    module = parse(pointwise_convolution(pixels, blocks, lanes))
    assembly = emit_assembly(emit_llvm(lower(module, natural), natural), natural)
    vectors = [line for line in assembly.splitlines() if re.search(r"[xyz]mm\d", line)]
    assert sum("mul" in line or "fmadd" in line for line in vectors) >= pixels * blocks
    assert not [line for line in vectors if "rsp" in line or "rbp" in line]
    if natural.fma:
        broadcasts = sum("vbroadcastss" in line for line in vectors)
        assert broadcasts == pixels, "a load and a broadcast are one instruction"


def test_refuses_what_it_does_not_know(parse: Callable[[str], ModuleOp]) -> None:
    """An operation without a lowering is named."""
    text = "func.func @k(%x: vector<2x4xf32>) { func.return }"
    with pytest.raises(CompilerBug, match="vector<2x4xf32> has not one dimension"):
        lower(parse(text), AVX2)
    text = 'func.func @k() { "vector.print"() : () -> ()\nfunc.return }'
    with pytest.raises(CompilerBug, match=r"no lowering for vector.print"):
        lower(parse(text), AVX2)
