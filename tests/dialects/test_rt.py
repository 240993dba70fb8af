"""The rt dialect prints what it parses, and refuses what makes no sense."""

from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, IndexType, MemRefType, ModuleOp, TensorType, f32
from xdsl.dialects.func import Func
from xdsl.dialects.llvm import LLVM, LLVMPointerType
from xdsl.dialects.memref import MemRef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.code import CodeOp, YieldOp
from ncc.dialects.rt import RT, BarrierOp, BufferOp, EndOp, LaunchOp

ENTRY = """\
builtin.module {
  func.func @run(%buffers : !llvm.ptr, %tid : index, %threads : index, %before : index) {
    %0 = rt.buffer %buffers[3] offset 128 : memref<3x224x224xf32>
    %1 = rt.buffer %buffers[1] : memref<8xi8>
    %2 = rt.launch 1 after 0, %tid, %buffers, %tid, %threads, %before timestamp [5, 7] : ()
    %3 = rt.launch 56 of @k(%1) after 123, %2, %buffers, %tid, %threads, %before : (memref<8xi8>)
    rt.barrier %3 until 179, %buffers, %threads, %before
    rt.end %3 until 179, %buffers, %tid, %threads, %before
    rt.prefetch %1[%3] : memref<8xi8>
    rt.prefetch %1[%3] l1 : memref<8xi8>
    rt.fence
    %4 = arith.constant dense<1> : vector<4xi32>
    %5 = rt.gather %1[%3, %4] : memref<8xi8>, vector<4xi32> -> vector<4xi8>
    %6 = rt.buffer %buffers[1] offset 64 further %3 : memref<8xi8>
    %7 = rt.launch 3 after 0, %tid, %buffers, %tid, %threads, %before trace [6, 2] : ()
    %8 = arith.constant dense<1> : vector<16xi8>
    %9 = rt.dot_bytes %4, %8, %8 signed : vector<16xi8> into vector<4xi32>
    %10 = rt.matrix_bytes %4, %8, %8 : vector<16xi8> into vector<4xi32>
    func.return
  }
}"""

TOLD = """\
builtin.module {
  func.func @run(%b : !llvm.ptr, %n : index, %x : memref<8xi8>) {
    %0 = rt.launch 2 of @k(%x, %n) after 0, %n, %b, %n, %n, %n : (memref<8xi8>, index)
    %1 = rt.launch 6 of @r(%b, %n) after 2, %0, %b, %n, %n, %n : (!llvm.ptr, index)
    func.return
  }
}"""

CODE = """\
builtin.module {
  func.func @f(%x : tensor<8xf32>, %y : tensor<2xi64>) -> tensor<4xf32> {
    %z = rt.code(%x, %y) scratch [memref<16xf32>] {
    ^bb0(%source : memref<8xf32>, %chosen : memref<2xi64>,
         %result : memref<4xf32>, %tmp : memref<16xf32>):
      rt.yield
    } : (tensor<8xf32>, tensor<2xi64>) -> tensor<4xf32>
    func.return %z : tensor<4xf32>
  }
}"""


LANES = """\
builtin.module {
  func.func @f(%x : tensor<8xf32>) -> tensor<8xf32> {
    %z = rt.code(%x) iterations 2 {
    ^bb0(%source : memref<8xf32>, %result : memref<8xf32>, %part : index):
      rt.lanes %part to %part {
      ^bb1(%i : index):
        %v = memref.load %source[%i] : memref<8xf32>
        memref.store %v, %result[%i] : memref<8xf32>
      }
      rt.yield
    } : (tensor<8xf32>) -> tensor<8xf32>
    func.return %z : tensor<8xf32>
  }
}"""


STEPS = """\
builtin.module {
  func.func @f(%x : tensor<8xf32>) -> tensor<8xf32> {
    %z = rt.code(%x) steps 5 iterations 2 {
    ^bb0(%source : memref<8xf32>, %result : memref<8xf32>, %step : index, %part : index):
      rt.yield
    } : (tensor<8xf32>) -> tensor<8xf32>
    func.return %z : tensor<8xf32>
  }
}"""


OTHER_END = '"test.termop"() : () -> ()'
"""A terminator that is none of ours."""

REDUCE = """\
builtin.module {
  func.func @f(%x : tensor<8xf32>) -> tensor<8xf32> {
    %z = rt.code(%x) iterations 2 {
    ^bb0(%source : memref<8xf32>, %result : memref<8xf32>, %part : index):
      %zero = memref.load %source[%part] : memref<8xf32>
      %sum = rt.reduce "add" from %zero, %part to %part {
      ^bb1(%i : index):
        %v = memref.load %source[%i] : memref<8xf32>
        rt.reduce.return %v : f32
      } : f32
      memref.store %sum, %result[%part] : memref<8xf32>
      rt.yield
    } : (tensor<8xf32>) -> tensor<8xf32>
    func.return %z : tensor<8xf32>
  }
}"""


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Arith, MemRef, LLVM, RT, test.Test):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def printed(module: ModuleOp) -> str:
    out = StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


TOGETHER = TOLD.replace(" of @", " by 7 of @")

COUNTS = """\
builtin.module {
  func.func @run(%b : !llvm.ptr, %n : index, %x : memref<8xi8>) {
    %0 = rt.launch 0 told(%n) of @k(%x, %n) after 0, %n, %b, %n, %n, %n : (memref<8xi8>, index)
    %1 = rt.launch 0 told(%0, %n, %n) of @r(%b) after 2, %0, %b, %n, %n, %n : (!llvm.ptr)
    func.return
  }
}"""
"""Only the run knows how many chunks there are."""


@pytest.mark.parametrize("text", [ENTRY, TOLD, TOGETHER, COUNTS, CODE, LANES, STEPS, REDUCE])
def test_prints_what_it_parsed(text: str) -> None:
    """Parsing and printing gives the same text, which parses again to the same."""
    once = printed(parse(text))
    assert printed(parse(once)) == once
    for line in text.splitlines():
        if "rt." in line and not any(name in line for name in ("code", "lanes", "reduce")):
            assert line.strip().split(" = ")[-1] in once


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0 told(%n)", "3 told(%n)", "told or known, not both"),
        ("0 told(%n)", "0 told(%n) by 2", "told or known, not both"),
        ("0 told(%n)", "0 told(%n, %n)", "a run tells chunks, or units"),
    ],
)
def test_chunks_are_told_whole(old: str, new: str, message: str) -> None:
    """A launch that the run tells its chunks knows none itself."""
    with pytest.raises(VerifyException, match=message):
        parse(COUNTS.replace(old, new))


def test_constructors_make_verified_operations() -> None:
    """Each constructor makes an operation that its verifier accepts."""
    source = test.TestOp(result_types=[LLVMPointerType(), *[IndexType()] * 4])
    buffers, thread, threads, before, did = source.results
    tensor = TensorType(f32, [8])
    operand = test.TestOp(result_types=[tensor])
    turning = CodeOp(operand.results, [tensor], iterations=3)
    turning.body.block.add_op(YieldOp())
    stepping = CodeOp(operand.results, [tensor], iterations=3, steps=5)
    stepping.body.block.add_op(YieldOp())
    code = CodeOp(operand.results, [tensor], scratch=[MemRefType(f32, [3])])
    code.body.block.add_op(YieldOp())
    memref = MemRefType(f32, [2, 3])
    buffer = BufferOp(buffers, 3, memref, offset=64)
    run = (buffers, thread, threads, before)
    launch = LaunchOp("k", [buffer.memref], 56, 123, did, run, timestamp=(5, 7), trace=(6, 2))
    together = LaunchOp("k", [buffer.memref], 56, 123, did, run, at_once=20)
    assert (launch.counted, together.counted) == (56, 3)
    barrier = BarrierOp(did, 179, buffers, threads, before)
    end = EndOp(did, 179, buffers, thread, threads, before)
    moved = BufferOp(buffers, 3, memref, further=did)
    for op in (buffer, moved, launch, together, barrier, end, code, turning, stepping):
        op.verify()
    assert (buffer.further, moved.further) == (None, did)
    assert buffer.offset.value.data == 64
    assert [str(argument.type) for argument in code.body.block.args] == [
        "memref<8xf32>",
        "memref<8xf32>",
        "memref<3xf32>",
    ]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (ENTRY.replace("[3]", "[-3]"), "index of a buffer is not negative"),
        (ENTRY.replace("offset 128", "offset -8"), "offset in bytes is not negative"),
        (ENTRY.replace("vector<4xi8>", "vector<3xi8>"), "are no offsets for vector<3xi8>"),
        (ENTRY.replace("56 of", "-1 of"), "a run has 0 to 2147483647 chunks"),
        (ENTRY.replace("56 of", "56 by 0 of"), "a chunk at least is taken at once"),
        (ENTRY.replace("after 123", "after 2147483592"), "a run has 0 to 2147483647 chunks"),
        (TOLD.replace("(%x", "(%n, %x").replace("(mem", "(index, mem"), "numbers stand behind"),
        (CODE.replace("%source : memref<8xf32>", "%source : memref<7xf32>"), "argument 0"),
        (CODE.replace("scratch [memref<16xf32>] ", ""), "expected 3 for operands and results"),
        (CODE.replace("scratch [memref<16xf32>]", "scratch [memref<15xf32>]"), "scratch memory"),
        (LANES.replace("iterations 2", "iterations 0"), "one iteration or more"),
        (LANES.replace("iterations 2 ", ""), "region has 3 arguments"),
        (STEPS.replace("steps 5", "steps 0"), "one step or more"),
        (STEPS.replace(" iterations 2", "").replace(", %part : index", ""), "of some iterations"),
        (STEPS.replace("%step : index, ", ""), "index of the step"),
        (STEPS.replace("steps 5 ", ""), "region has 3 arguments"),
        (CODE.replace("memref<16xf32>] {", "memref<16xf32>] iterations 2 {"), "of the iteration"),
        (LANES.replace("%i : index", "%i : index, %j : index"), "index of the lane"),
        (REDUCE.replace('"add"', '"sub"'), "sub is none of add, max"),
        (REDUCE.replace("%i : index", "%i : index, %j : index"), "index of the lane"),
        (REDUCE.replace("rt.reduce.return %v : f32", OTHER_END), "ends in rt.reduce.return"),
        (CODE.replace("      rt.yield", f"      {OTHER_END}"), "ends in rt.yield"),
    ],
)  # fmt: skip
def test_refuses(broken: str, message: str) -> None:
    """What contradicts itself is refused, with a message that says what."""
    with pytest.raises(VerifyException, match=message):
        parse(broken)
