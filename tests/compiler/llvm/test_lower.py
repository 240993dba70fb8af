"""Kernels written in the loops level compute what numpy computes, on every target."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target

Floats = npt.NDArray[np.float32]


class Code(Protocol):
    """What the fixture `compiled` gives."""

    llvm: str

    def call(self, name: str, *arguments: object) -> None:
        """Call a function."""


Compile = Callable[..., Code]


def random(*shape: int) -> Floats:
    """Reproducible numbers around 0."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def constants(*numbers: int) -> str:
    """Index constants %c0, %c1 ... by their values."""
    each = dict.fromkeys(numbers)
    return "\n".join(f"%c{number} = arith.constant {number} : index" for number in each)


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


@pytest.mark.parametrize("count", [0, 1, 5, 8, 13])
def test_loop_bounds_from_arguments(count: int, compiled: Compile) -> None:
    """A loop whose bounds are arguments runs as often as they say, also not at all."""
    code = compiled("""
    func.func @k(%x: memref<16xf32>, %first: index, %last: index) {
      %one = arith.constant 1.0 : f32
      %c1 = arith.constant 1 : index
      scf.for %i = %first to %last step %c1 {
        %v = memref.load %x[%i] : memref<16xf32>
        %w = arith.addf %v, %one : f32
        memref.store %w, %x[%i] : memref<16xf32>
      }
      func.return
    }""")
    x = np.zeros(16, np.float32)
    code.call("k", x, 3, 3 + count)
    assert x.tolist() == [float(3 <= i < 3 + count) for i in range(16)]


def test_carried_values_of_a_loop_that_does_not_run(compiled: Compile) -> None:
    """The results are the initial values then; an index is carried like anything else."""
    code = compiled("""
    func.func @k(%out: memref<2xindex>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c7, %q = %c1) -> (index, index) {
        %next = arith.addi %p, %i : index
        scf.yield %next, %p : index, index
      }
      memref.store %a, %out[%c0] : memref<2xindex>
      memref.store %b, %out[%c1] : memref<2xindex>
      func.return
    }""")
    out = np.zeros(2, np.int64)
    code.call("k", out, 0)
    assert out.tolist() == [7, 1]
    code.call("k", out, 4)
    assert out.tolist() == [7 + 0 + 1 + 2 + 3, 7 + 0 + 1 + 2]


@pytest.mark.parametrize("length", [16, 19, 35])
def test_masked_tail(length: int, compiled: Compile) -> None:
    """A masked vector reads and writes nothing past the end."""
    shape = f"memref<{length}xf32>"
    code = compiled(f"""
    func.func @k(%x: {shape}, %y: {shape}) {{
      {constants(0, 16, length)}
      %zero = arith.constant dense<0.0> : vector<16xf32>
      scf.for %i = %c0 to %c{length} step %c16 {{
        %left = arith.subi %c{length}, %i : index
        %mask = vector.create_mask %left : vector<16xi1>
        %v = vector.maskedload %x[%i], %mask, %zero
          : {shape}, vector<16xi1>, vector<16xf32> into vector<16xf32>
        %w = arith.addf %v, %v : vector<16xf32>
        vector.maskedstore %y[%i], %mask, %w : {shape}, vector<16xi1>, vector<16xf32>
      }}
      func.return
    }}""")
    x, y = random(length), np.full(length + 16, 7.0, np.float32)
    code.call("k", x, y)
    np.testing.assert_array_equal(y[:length], 2 * x)
    assert (y[length:] == 7.0).all()


@pytest.mark.parametrize("lanes", [1, 3, 4, 6, 16])
@pytest.mark.parametrize(
    ("kind", "reference"),
    [("add", np.sum), ("mul", np.prod), ("maxnumf", np.max), ("minimumf", np.min)],
)
def test_reductions(
    kind: str, reference: Callable[[Floats], np.float32], lanes: int, compiled: Compile
) -> None:
    """Reductions of any number of lanes, with and without an accumulator."""
    vector = f"vector<{lanes}xf32>"
    code = compiled(f"""
    func.func @k(%x: memref<{lanes}xf32>, %y: memref<2xf32>) {{
      {constants(0, 1)}
      %start = memref.load %y[%c0] : memref<2xf32>
      %v = vector.load %x[%c0] : memref<{lanes}xf32>, {vector}
      %plain = vector.reduction <{kind}>, %v : {vector} into f32
      %more = vector.reduction <{kind}>, %v, %start : {vector} into f32
      memref.store %plain, %y[%c0] : memref<2xf32>
      memref.store %more, %y[%c1] : memref<2xf32>
      func.return
    }}""")
    x, y = random(lanes), np.array([0.5, 0.0], np.float32)
    code.call("k", x, y)
    expected = [reference(x), reference(np.append(x, np.float32(0.5)))]
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)


def test_gather_by_loaded_indices(compiled: Compile) -> None:
    """An index that comes out of a table addresses memory like any other."""
    code = compiled(f"""
    func.func @k(%x: memref<5x16xf32>, %table: memref<3xindex>, %y: memref<3x16xf32>) {{
      {constants(0, 1, 3)}
      scf.for %i = %c0 to %c3 step %c1 {{
        %row = memref.load %table[%i] : memref<3xindex>
        %v = vector.load %x[%row, %c0] : memref<5x16xf32>, vector<16xf32>
        vector.store %v, %y[%i, %c0] : memref<3x16xf32>, vector<16xf32>
      }}
      func.return
    }}""")
    x, table, y = random(5, 16), np.array([4, 0, 2]), np.zeros((3, 16), np.float32)
    code.call("k", x, table, y)
    np.testing.assert_array_equal(y, x[table])


def test_scratch_and_views(compiled: Compile) -> None:
    """Own memory, a strided view with an offset, and a view that drops a dimension."""
    code = compiled(f"""
    func.func @k(%x: memref<4x6xf32>, %y: memref<6x4xf32>, %row: index) {{
      {constants(0, 1, 4, 6)}
      %scratch = memref.alloca() : memref<6x4xf32>
      scf.for %i = %c0 to %c4 step %c1 {{
        scf.for %j = %c0 to %c6 step %c1 {{
          %v = memref.load %x[%i, %j] : memref<4x6xf32>
          memref.store %v, %scratch[%j, %i] : memref<6x4xf32>
        }}
      }}
      %part = memref.subview %scratch[%row, 1] [1, 2] [1, 2]
        : memref<6x4xf32> to memref<2xf32, strided<[2], offset: ?>>
      %two = arith.constant 2.0 : f32
      memref.store %two, %part[%c1] : memref<2xf32, strided<[2], offset: ?>>
      scf.for %j = %c0 to %c6 step %c1 {{
        %v = vector.load %scratch[%j, %c0] : memref<6x4xf32>, vector<4xf32>
        vector.store %v, %y[%j, %c0] : memref<6x4xf32>, vector<4xf32>
      }}
      func.return
    }}""")
    x, y = random(4, 6), np.zeros((6, 4), np.float32)
    code.call("k", x, y, 5)
    expected = x.T.copy()
    expected[5, 3] = 2.0
    np.testing.assert_array_equal(y, expected)


def test_if_and_while(compiled: Compile) -> None:
    """Branches with and without results, and a loop that stops by its own condition."""
    code = compiled(f"""
    func.func @k(%x: memref<8xi32>) {{
      {constants(0, 1, 8)}
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %zero = arith.constant 0 : i32
      %three = arith.constant 3 : i32
      scf.for %i = %c0 to %c8 step %c1 {{
        %start = memref.load %x[%i] : memref<8xi32>
        %r:2 = scf.while (%n = %start, %count = %zero) : (i32, i32) -> (i32, i32) {{
          %more = arith.cmpi sgt, %n, %one : i32
          scf.condition(%more) %n, %count : i32, i32
        }} do {{
        ^bb0(%n: i32, %count: i32):
          %rest = arith.remsi %n, %two : i32
          %odd = arith.cmpi eq, %rest, %one : i32
          %next = scf.if %odd -> (i32) {{
            %triple = arith.muli %n, %three : i32
            %up = arith.addi %triple, %one : i32
            scf.yield %up : i32
          }} else {{
            %half = arith.divsi %n, %two : i32
            scf.yield %half : i32
          }}
          %counted = arith.addi %count, %one : i32
          scf.yield %next, %counted : i32, i32
        }}
        %big = arith.cmpi sgt, %r#1, %three : i32
        scf.if %big {{
          memref.store %r#1, %x[%i] : memref<8xi32>
        }}
      }}
      func.return
    }}""")
    x = np.array([1, 2, 3, 6, 7, 9, 4, 27], np.int32)
    code.call("k", x)
    assert x.tolist() == [1, 2, 7, 8, 16, 19, 4, 111]


EXTREMA = [
    ("maximumf", np.maximum), ("minimumf", np.minimum), ("maxnumf", np.fmax), ("minnumf", np.fmin),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reference"), EXTREMA)
def test_extrema_and_nan(
    name: str, reference: Callable[[Floats, Floats], Floats], compiled: Compile
) -> None:
    """maximumf keeps a NaN of either side, maxnumf drops it, also where one side is constant, or
    the extremum of a constant and something else.
    """
    code = compiled(f"""
    func.func @k(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<4x16xf32>) {{
      {constants(0, 1, 2, 3)}
      %half = arith.constant dense<0.5> : vector<16xf32>
      %a = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
      %b = vector.load %y[%c0] : memref<16xf32>, vector<16xf32>
      %both = arith.{name} %a, %b : vector<16xf32>
      %right = arith.{name} %a, %half : vector<16xf32>
      %left = arith.{name} %half, %a : vector<16xf32>
      %chain = arith.{name} %left, %b : vector<16xf32>
      vector.store %both, %z[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
      vector.store %right, %z[%c1, %c0] : memref<4x16xf32>, vector<16xf32>
      vector.store %left, %z[%c2, %c0] : memref<4x16xf32>, vector<16xf32>
      vector.store %chain, %z[%c3, %c0] : memref<4x16xf32>, vector<16xf32>
      func.return
    }}""")
    numbers = [1.0, np.nan, -np.inf, np.inf]
    x = np.array([a for a in numbers for _ in numbers], np.float32)
    y = np.array(numbers * 4, np.float32)
    z = np.zeros((4, 16), np.float32)
    code.call("k", x, y, z)
    beside = reference(x, np.full(16, 0.5, np.float32))
    expected = np.stack([reference(x, y), beside, beside, reference(beside, y)])
    np.testing.assert_array_equal(z, expected)


def test_what_drops_nan_looks_for_it_once(parse: Callable[[str], ModuleOp]) -> None:
    """A largest value that begins with a number is one all along: an instruction an element."""
    module = parse("""
    func.func @k(%x: memref<4xf32>, %y: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %least = arith.constant 0xff800000 : f32
      %a = memref.load %x[%c0] : memref<4xf32>
      %b = memref.load %x[%c1] : memref<4xf32>
      %c = memref.load %x[%c2] : memref<4xf32>
      %0 = arith.maxnumf %least, %a : f32
      %1 = arith.maxnumf %0, %b : f32
      %2 = arith.maxnumf %c, %1 : f32
      memref.store %2, %y[%c0] : memref<1xf32>
      func.return
    }""")
    text = emit_llvm(lower(module, AVX2), AVX2)
    assert text.count("fcmp ogt") == text.count("select") == 3
    assert "fcmp uno" not in text


LARGEST = """
func.func @k(%x: memref<4x8xf32>, %y: memref<1xf32>, %rows: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %least = arith.constant 0xff800000 : f32
  %0 = scf.for %i = %c0 to %rows step %c1 iter_args(%a = %least) -> (f32) {{
    %1 = scf.for %j = %c0 to %c8 step %c1 iter_args(%b = %a) -> (f32) {{
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      %2 = {combined}
      scf.yield %2 : f32
    }}
    scf.yield %1 : f32
  }}
  %first = memref.load %x[%c0, %c0] : memref<4x8xf32>
  %3 = arith.maxnumf %0, %first : f32
  memref.store %3, %y[%c0] : memref<1xf32>
  func.return
}}"""


@pytest.mark.parametrize(
    ("combined", "looks"),
    [
        ("arith.maxnumf %b, %v : f32", 0),
        ("arith.maxnumf %v, %b : f32", 0),
        ("arith.maximumf %b, %v : f32", 2),
        ("arith.addf %b, %v : f32", 1),
    ],
)
def test_loops_carry_numbers(
    combined: str, looks: int, parse: Callable[[str], ModuleOp], compiled: Compile
) -> None:
    """Nor is NaN looked for where loops carry what begins with a number and drops each NaN, also
    behind a loop that may not run.
    """
    text = emit_llvm(lower(parse(LARGEST.format(combined=combined)), AVX2), AVX2)
    assert text.count("fcmp uno") == looks
    if looks:
        return
    code = compiled(LARGEST.format(combined=combined))
    x = np.full((4, 8), np.nan, np.float32)
    found = np.zeros(1, np.float32)
    code.call("k", x, found, 4)
    assert found == -np.inf
    x[2, 3], x[1, 7] = -5.0, -7.0
    for rows, expected in ((0, -np.inf), (2, -7.0), (4, -5.0)):
        code.call("k", x, found, rows)
        assert found == expected


def test_vector_conversions_and_selects(compiled: Compile) -> None:
    """To integers and back, compared and chosen lane by lane, shuffled, taken apart and joined."""
    code = compiled(f"""
    func.func @k(%x: memref<8xf32>, %y: memref<8xf32>, %position: index) {{
      {constants(0)}
      %a = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
      %i = "arith.fptosi"(%a) : (vector<8xf32>) -> vector<8xi32>
      %f = "arith.sitofp"(%i) : (vector<8xi32>) -> vector<8xf32>
      %less = "arith.cmpf"(%f, %a) <{{predicate = 4 : i64}}>
        : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
      %neg = arith.negf %a : vector<8xf32>
      %s = "arith.select"(%less, %f, %neg)
        : (vector<8xi1>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %t = vector.shuffle %s, %s [7, 6, 5, 4, 3, 2, 1, 0] : vector<8xf32>, vector<8xf32>
      %e = vector.extract %t[%position] : f32 from vector<8xf32>
      %u = vector.insert %e, %t[0] : f32 into vector<8xf32>
      %bits = vector.bitcast %u : vector<8xf32> to vector<8xi32>
      %again = vector.bitcast %bits : vector<8xi32> to vector<8xf32>
      vector.store %again, %y[%c0] : memref<8xf32>, vector<8xf32>
      func.return
    }}""")
    x, y = 10 * random(8), np.zeros(8, np.float32)
    code.call("k", x, y, 5)
    whole = np.trunc(x)
    expected = np.where(whole < x, whole, -x)[::-1].copy()
    expected[0] = expected[5]
    np.testing.assert_array_equal(y, expected)


def test_index_arithmetic(compiled: Compile) -> None:
    """Quotients round as their names say, casts keep the sign, extremes are signed."""
    names = ["divsi", "remsi", "floordivsi", "ceildivsi", "minsi", "maxsi", "muli", "subi"]
    lines = [
        f"%v{n} = arith.{name} %a, %b : index\n%p{n} = arith.constant {n} : index\n"
        f"%s{n} = arith.index_cast %v{n} : index to i32\n"
        f"memref.store %s{n}, %y[%p{n}] : memref<8xi32>"
        for n, name in enumerate(names)
    ]
    body = "\n".join(lines)
    code = compiled(f"""
    func.func @k(%y: memref<8xi32>, %a: index, %b: index) {{
      {body}
      func.return
    }}""")
    y = np.zeros(8, np.int32)
    for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5)]:
        code.call("k", y, a, b)
        truncated = int(a / b)
        expected = [truncated, a - b * truncated, a // b, -(-a // b), min(a, b), max(a, b)]
        assert y.tolist() == [*expected, a * b, a - b], (a, b)


def test_instructions_stay(compiled: Compile) -> None:
    """Operations of the llvm dialect go through, with the address of a memref where they ask."""
    code = compiled("""
    func.func @k(%x: memref<8xf32, strided<[1], offset: 2>>) {
      %p = builtin.unrealized_conversion_cast %x
        : memref<8xf32, strided<[1], offset: 2>> to !llvm.ptr
      %read = llvm.mlir.constant(0 : i32) : i32
      %near = llvm.mlir.constant(3 : i32) : i32
      %data = llvm.mlir.constant(1 : i32) : i32
      llvm.call_intrinsic "llvm.prefetch.p0"(%p, %read, %near, %data)
        : (!llvm.ptr, i32, i32, i32) -> ()
      %v = "llvm.load"(%p) <{ordering = 0 : i64, alignment = 4 : i64}> : (!llvm.ptr) -> f32
      %w = arith.addf %v, %v : f32
      "llvm.store"(%w, %p) <{ordering = 0 : i64, alignment = 4 : i64}> : (f32, !llvm.ptr) -> ()
      func.return
    }""")
    x = random(10)
    before = x.copy()
    code.call("k", x)
    before[2] *= 2
    np.testing.assert_array_equal(x, before)


def test_prefetching_reaches_no_element(compiled: Compile) -> None:
    """A hint may name an address that nobody can read."""
    code = compiled("""
    func.func @k(%x: memref<8xf32>) {
      %far = arith.constant 1000000000000 : index
      rt.prefetch %x[%far] : memref<8xf32>
      rt.prefetch %x[%far] l1 : memref<8xf32>
      func.return
    }""")
    calls = [line for line in code.llvm.splitlines() if "call void @llvm.prefetch.p0" in line]
    assert ["i32 2" in call for call in calls] == [True, False]
    assert ["i32 3" in call for call in calls] == [False, True]
    code.call("k", random(8))


def test_refuses_what_it_does_not_know(parse: Callable[[str], ModuleOp]) -> None:
    """An operation without a lowering is named."""
    text = "func.func @k(%x: vector<2x4xf32>) { func.return }"
    with pytest.raises(CompilerBug, match="vector<2x4xf32> has not one dimension"):
        lower(parse(text), AVX2)
    text = 'func.func @k() { "vector.print"() : () -> ()\nfunc.return }'
    with pytest.raises(CompilerBug, match=r"no lowering for vector.print"):
        lower(parse(text), AVX2)
