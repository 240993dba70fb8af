"""Statements for `rt.code`, to write an algorithm with data-dependent steps in Python.

    code = Code([x], [((8,), f32), ((1,), i64)])
    count = code.variable(0)
    with code.range(8) as i:
        with code.if_(code.inputs[0][i] > 0.5):
            code.results[0][count.value] = code.inputs[0][i]
            count.value += 1
    code.results[1][0] = count.value

Values are float32, float64, i8, i32, index or i1. Operators work on two of one type; a Python
number takes the type of the other operand. i64 in memory are indices when read. A Python loop
around statements writes them once for each of its iterations. The iterations of `code.lanes(n)`
are independent and run as lanes of vectors; those of the whole code (`Code(..., iterations=n)`) run
on any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, f32, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ncc.dialects.attributes import SizeAttr, memref_type, tensor_type
from ncc.dialects.code import CodeOp, DotOp, LanesOp, ReduceOp, ReduceReturnOp, YieldOp
from ncc.dialects.element import is_integer, number
from ncc.dialects.index_notation import Tensor
from ncc.dialects.rt import SizeOp
from ncc.dialects.scalar import conversion
from ncc.dialects.shapes import Shape
from ncc.dialects.size import Size, is_open

index = IndexType()

Number: TypeAlias = float | int
Kind: TypeAlias = tuple[Shape, Attribute]

_FLOAT = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaxnumfOp,
    "min": arith.MinnumfOp,
}
_INTEGER = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "div": arith.DivUIOp,
    "rem": arith.RemUIOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
}


def _infix(name: str, *, swapped: bool = False) -> Callable[[Value, Operand], Value]:
    """An operator of Python; swapped: of a number and a value."""
    if swapped:
        return lambda value, other: value.code.binary(name, other, value)
    return lambda value, other: value.code.binary(name, value, other)


def _comparison(name: str) -> Callable[[Value, Operand], Value]:
    return lambda value, other: value.code.compare(name, value, other)


def _function(operation: type[Operation]) -> Callable[[Code, Value], Value]:
    """What an operation of the math dialect computes."""
    return lambda code, x: code.apply(operation, x)


@dataclass(frozen=True, eq=False)
class Value:
    """A number, an index or a truth value in the code."""

    code: Code
    ssa: SSAValue

    __add__, __radd__ = _infix("add"), _infix("add", swapped=True)
    __sub__, __rsub__ = _infix("sub"), _infix("sub", swapped=True)
    __mul__, __rmul__ = _infix("mul"), _infix("mul", swapped=True)
    __truediv__, __rtruediv__ = _infix("div"), _infix("div", swapped=True)
    __floordiv__, __mod__ = _infix("div"), _infix("rem")  # of indices, which are not negative
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")

    def __neg__(self) -> Value:
        return self.code.apply(arith.NegfOp, self)

    def __and__(self, other: Value) -> Value:
        """Both hold, or the bits that both have. Both sides are computed."""
        return self.code.emit(arith.AndIOp(self.ssa, other.ssa))

    def __or__(self, other: Value) -> Value:
        """One of both holds, or the bits that one has. Both sides are computed."""
        return self.code.emit(arith.OrIOp(self.ssa, other.ssa))


Operand: TypeAlias = Value | float | int
Indices: TypeAlias = Operand | tuple[Operand, ...]


@dataclass(frozen=True, eq=False)
class MemoryView:
    """A memref: `m[i, j]` reads, `m[i, j] = v` writes. Indices must be in bounds.

    `m.part(i)` is the part with i as its first index: `m.part(i)[j]` is `m[i, j]`.
    """

    code: Code
    memref: SSAValue
    shape: Shape
    element: Attribute
    leading: tuple[Operand, ...] = ()

    def part(self, *indices: Operand) -> MemoryView:
        """The memory without its first indices."""
        rest = self.shape[len(indices) :]
        return MemoryView(self.code, self.memref, rest, self.element, (*self.leading, *indices))

    def __getitem__(self, at: Indices) -> Value:
        found = self.code.emit(memref.LoadOp.get(self.memref, self._indices(at)))
        if self.element == i64:
            return self.code.emit(arith.IndexCastOp(found.ssa, index))
        return found

    def __setitem__(self, at: Indices, value: Operand) -> None:
        kind = index if self.element == i64 else self.element
        stored = self.code.value(value, kind).ssa
        if self.element == i64:
            stored = self.code.emit(arith.IndexCastOp(stored, i64)).ssa
        self.code.block.add_op(memref.StoreOp.get(stored, self.memref, self._indices(at)))

    def _indices(self, at: Indices) -> list[SSAValue]:
        indices = at if isinstance(at, tuple) else (at,)
        if len(indices) != len(self.shape):
            raise IndexError(f"{len(indices)} indices into memory of shape {self.shape}")
        return [self.code.value(i, index).ssa for i in (*self.leading, *indices)]


class Variable:
    """A value that changes: `v.value` reads, `v.value = ...` writes."""

    def __init__(self, memory: MemoryView) -> None:
        self.memory = memory

    @property
    def value(self) -> Value:
        return self.memory[0]

    @value.setter
    def value(self, value: Operand) -> None:
        self.memory[0] = value


class Code:
    """The body of one `rt.code`, written statement by statement.

    `inputs` are read only; `results` are shapes and element types (f32, i32 or i64), undefined at
    first. With `iterations` the body runs so often, in any order or at the same time; `iteration`
    is the index. With `steps` all iterations run so often, one step after another; `step` is the
    index.
    """

    def __init__(
        self,
        inputs: Sequence[Tensor],
        results: Sequence[Kind],
        iterations: int | None = None,
        steps: int | None = None,
    ) -> None:
        self._operands = list(inputs)
        self._results = list(results)
        self._iterations = iterations
        self._steps = steps
        self._scratch: list[MemRefType[Attribute]] = []
        self._constants: dict[tuple[Block, Attribute], Value] = {}
        self._body = Block()
        self.block = self._body
        self._iteration = None if iterations is None else self._body.insert_arg(index, 0)
        self._step = None if steps is None else self._body.insert_arg(index, 0)
        self.inputs = [self._argument(x.shape, x.element_type) for x in inputs]
        self.results = [self._argument(shape, element) for shape, element in results]

    def _argument(self, shape: Shape, element: Attribute) -> MemoryView:
        kind = memref_type(element, shape)
        numbers = (self._iteration is not None) + (self._step is not None)
        position = len(self._body.args) - numbers
        return MemoryView(self, self._body.insert_arg(kind, position), shape, element)

    @property
    def iteration(self) -> Value:
        """The index of this iteration; 0 where there is only one."""
        return self.value(0, index) if self._iteration is None else Value(self, self._iteration)

    @property
    def step(self) -> Value:
        """The index of this step; 0 where there is only one."""
        return self.value(0, index) if self._step is None else Value(self, self._step)

    def operation(self) -> CodeOp:
        """The whole as an operation; nothing may be written afterwards."""
        self._body.add_op(YieldOp())
        kinds = [tensor_type(element, shape) for shape, element in self._results]
        values = [x.value for x in self._operands]
        body = Region(self._body)
        return CodeOp(values, kinds, body, self._scratch, self._iterations, self._steps)

    # --- memory -----------------------------------------------------------------------------

    def scratch(self, shape: Shape, element: Attribute = f32) -> MemoryView:
        """Scratch memory, undefined at first; of an open size one more result has it."""
        if is_open(*shape):
            return self.private(shape, element)
        memory = self._argument(shape, element)
        self._scratch.append(memref_type(element, shape))
        return memory

    def private(self, shape: Shape, element: Attribute = f32) -> MemoryView:
        """The same, private to an iteration: one more result, with a part for each iteration."""
        if self._iterations is None and not is_open(*shape):
            return self.scratch(shape, element)
        whole = shape if self._iterations is None else (self._iterations, *shape)
        position = len(self._operands) + len(self._results)
        memory = self._body.insert_arg(memref_type(element, whole), position)
        self._results.append((whole, element))
        view = MemoryView(self, memory, whole, element)
        return view if self._iterations is None else view.part(self.iteration)

    def variable(self, initial: Operand) -> Variable:
        """A variable, set here: float32 for a float, an index for an int, else of its type."""
        like = f32 if isinstance(initial, float) else index
        value = self.value(initial, like)
        variable = Variable(self.scratch((1,), i64 if value.ssa.type == index else value.ssa.type))
        variable.value = value
        return variable

    # --- statements -------------------------------------------------------------------------

    @contextmanager
    def range(self, stop: Operand, start: Operand = 0) -> Iterator[Value]:
        """`for i in range(start, stop)`."""
        first, last, step = (self.value(bound, index).ssa for bound in (start, stop, 1))
        body = Block(arg_types=[index])
        loop = scf.ForOp(first, last, step, [], body)
        with self._inside(body):
            yield Value(self, body.args[0])
        self.block.add_op(loop)

    @contextmanager
    def lanes(self, stop: Operand, start: Operand = 0) -> Iterator[Value]:
        """`for i in range(start, stop)`, in vectors; no iteration reads what another one writes.

        Only reads, writes and arithmetic are inside. Every write, and every read that depends on i,
        has i, or i plus something, as its last index and nowhere else.
        """
        first, last = (self.value(bound, index).ssa for bound in (start, stop))
        body = Block(arg_types=[index])
        outer, self.block = self.block, body
        yield Value(self, body.args[0])
        self.block = outer
        self.block.add_op(LanesOp(first, last, body))

    def sum(self, stop: Operand, of: Callable[[Value], Value], initial: Operand = 0.0) -> Value:
        """`initial` and of(i) for i in range(stop), added in vectors, in any order.

        `of` reads and computes as the statements in `lanes` do, and writes nothing.
        """
        return self._reduced("add", initial, stop, of)

    def largest(self, stop: Operand, of: Callable[[Value], Value], initial: Operand) -> Value:
        """The largest of `initial` and of(i) for i in range(stop), in vectors, NaN left out."""
        return self._reduced("max", initial, stop, of)

    def _reduced(
        self, combine: str, initial: Operand, stop: Operand, of: Callable[[Value], Value]
    ) -> Value:
        body = Block(arg_types=[index])
        outer, self.block = self.block, body
        combined = of(Value(self, body.args[0])).ssa
        body.add_op(ReduceReturnOp(combined))
        self.block = outer
        start = self.value(initial, combined.type).ssa
        first, last = (self.value(bound, index).ssa for bound in (0, stop))
        return self.emit(ReduceOp(combine, start, first, last, body))

    @contextmanager
    def if_(self, condition: Value) -> Iterator[None]:
        """`if condition:`."""
        body = Block()
        with self._inside(body):
            yield
        self.block.add_op(scf.IfOp(condition.ssa, [], Region(body)))

    @contextmanager
    def while_(self, condition: Callable[[], Value]) -> Iterator[None]:
        """`while condition():`, the condition computed anew before each iteration."""
        before, body = Block(), Block()
        outer, self.block = self.block, before
        before.add_op(scf.ConditionOp(condition().ssa))
        self.block = outer
        with self._inside(body):
            yield
        self.block.add_op(scf.WhileOp([], [], [before], [body]))

    @contextmanager
    def _inside(self, body: Block) -> Iterator[None]:
        outer, self.block = self.block, body
        yield
        body.add_op(scf.YieldOp())
        self.block = outer

    # --- values -----------------------------------------------------------------------------

    def value(self, operand: Operand, like: Attribute) -> Value:
        """A value; a number becomes a constant of the type `like`."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Size):
            return self._size(operand, like)
        constant = number(operand, like)
        key = (self.block, constant)
        if key not in self._constants:
            properties = {"value": constant}
            op = arith.ConstantOp.create(properties=properties, result_types=[constant.type])
            self._constants[key] = self.emit(op)
        return self._constants[key]

    def _size(self, size: Size, like: Attribute) -> Value:
        """A number that depends on the inputs, as an index or a float32."""
        key = (self.block, SizeAttr(size))
        if key not in self._constants:
            op = SizeOp.create(properties={"size": SizeAttr(size)}, result_types=[index])
            self._constants[key] = self.emit(op)
        found = self._constants[key]
        return found if like == index else self.to_float(found)

    def whole(self, number: int) -> Value:
        """A constant index."""
        return self.value(number, index)

    def emit(self, op: Operation) -> Value:
        """Add an operation of one result."""
        self.block.add_op(op)
        return Value(self, op.results[0])

    def binary(self, name: str, a: Operand, b: Operand) -> Value:
        """An arithmetic operation on two values of one type."""
        x, y = self._alike(a, b)
        table = _INTEGER if is_integer(x.type) else _FLOAT
        return self.emit(table[name](x, y))

    def apply(self, operation: type[Operation], *operands: Value) -> Value:
        """Any operation of arith or math whose result has the type of its operands."""
        given = [operand.ssa for operand in operands]
        properties = {"fastmath": arith.FastMathFlagsAttr("none")}
        return self.emit(
            operation.create(operands=given, result_types=[given[0].type], properties=properties)
        )

    def compare(self, name: str, a: Operand, b: Operand) -> Value:
        """A comparison; false where a float is NaN."""
        x, y = self._alike(a, b)
        if not is_integer(x.type):
            return self.emit(arith.CmpfOp(x, y, f"o{name}"))
        return self.emit(arith.CmpiOp(x, y, f"s{name}"))

    def _alike(self, a: Operand, b: Operand) -> tuple[SSAValue, SSAValue]:
        like = next((v.ssa.type for v in (a, b) if isinstance(v, Value)), index)
        return self.value(a, like).ssa, self.value(b, like).ssa

    def maximum(self, a: Operand, b: Operand) -> Value:
        """The larger; the other one where a float is NaN."""
        return self.binary("max", a, b)

    def minimum(self, a: Operand, b: Operand) -> Value:
        """The smaller; the other one where a float is NaN."""
        return self.binary("min", a, b)

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """x limited to [low, high]; `low` where it is NaN."""
        return self.minimum(self.maximum(x, low), high)

    def select(self, condition: Value, yes: Operand, no: Operand) -> Value:
        """`yes if condition else no`; both are computed."""
        x, y = self._alike(yes, no)
        return self.emit(arith.SelectOp(condition.ssa, x, y))

    def divisor(self, x: Value) -> Value:
        """x, or 1 where it is 0: to divide by."""
        return self.select(self.compare("eq", x, 0.0), 1.0, x)

    exp = _function(math.ExpOp)
    tanh = _function(math.TanhOp)
    absolute = _function(math.AbsFOp)
    floor = _function(math.FloorOp)
    ceil = _function(math.CeilOp)
    round = _function(math.RoundOp)  # halves away from zero

    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once where the target can."""
        return self.apply(math.FmaOp, a, b, c)

    def dot(self, a: Value, b: Value) -> Value:
        """a and b, i32, hold two int16 each: their products, added."""
        return self.emit(DotOp(a.ssa, b.ssa))

    def pair(self, low: Value, high: Value) -> Value:
        """Two i32 that fit int16 in one i32, for `dot`."""
        return low & self.value(0xFFFF, i32) | high * 0x10000

    def sigmoid(self, x: Value) -> Value:
        """1 / (1 + exp(-x))."""
        return 1.0 / (self.exp(-x) + 1.0)

    def to_index(self, x: Value, most: int) -> Value:
        """A float32 cut down to an integer from 0 to `most` (up to 2**24); 0 for NaN."""
        inside = self.minimum(self.maximum(x, 0.0), most)
        whole = self.emit(arith.FPToSIOp(inside.ssa, i32))
        return self.emit(arith.IndexCastOp(whole.ssa, index))

    def to_float(self, x: Value) -> Value:
        """An index as float32."""
        whole = self.emit(arith.IndexCastOp(x.ssa, i64))
        return self.convert(whole, f32)

    def convert(self, x: Value, type: Attribute) -> Value:
        """A value as one of another element type; see `scalar.convert`."""
        if x.ssa.type == type:
            return x
        operation = conversion(x.ssa.type, type)
        return self.emit(operation.create(operands=[x.ssa], result_types=[type]))
