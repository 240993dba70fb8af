"""Writes an expression as the body of a `linalg.generic`: its reads, loops and operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, f32, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ncc.dialects.element import number, signless
from ncc.dialects.operation import make
from ncc.dialects.scalar import Apply, Constant, Gather, LoopIndex, Read, Scalar, index
from ncc.dialects.size import NeedsNumbers, is_open


def dim_of(loop: AffineExpr | int) -> int:
    """The number of a loop."""
    if not isinstance(loop, AffineDimExpr):
        raise TypeError(f"{loop} is no loop")
    return loop.position


def _children(node: Scalar) -> tuple[Scalar, ...]:
    if isinstance(node, Apply):
        return node.operands
    return node.at if isinstance(node, Gather) else ()


def _nodes(root: Scalar) -> Iterator[Scalar]:
    """Every node once, operands first. It does not recurse, since long sums are deep trees."""
    entered: set[int] = set()
    waiting = [root]
    left: set[int] = set()
    while waiting:
        node = waiting[-1]
        if id(node) in entered:
            waiting.pop()
            if id(node) not in left:
                left.add(id(node))
                yield node
        else:
            entered.add(id(node))
            waiting += [child for child in reversed(_children(node)) if id(child) not in entered]


def reads_of(root: Scalar) -> list[Read]:
    """The distinct reads, by tensor and coordinates, in order of appearance."""
    found: dict[tuple[SSAValue, tuple[AffineExpr, ...]], Read] = {}
    for node in _nodes(root):
        if isinstance(node, Read):
            found.setdefault((node.tensor, node.at), node)
    return list(found.values())


def dims_of(root: Scalar) -> set[int]:
    """The loops in an index expression."""
    dims: set[int] = set()
    for node in _nodes(root):
        if isinstance(node, Read):
            dims |= {d for e in node.at for d in e.used_dims()}
        elif isinstance(node, LoopIndex):
            dims |= node.loop.used_dims()
    return dims


class BodyLoops(NamedTuple):
    """The loops of one linalg operation: their extents, and their positions without gaps.

    `hidden` loops index no axis alone; an empty operand of their shape gives their extents.
    """

    position: dict[int, int]
    sizes: dict[int, int]
    hidden: list[int]
    declared: int

    @staticmethod
    def of(
        used: Sequence[int],
        extents: list[int | None],
        reads: Sequence[Read],
        target: Sequence[AffineExpr],
        doc: str,
    ) -> BodyLoops:
        for read in reads:
            _learn_extents(extents, read)
        missing = [d for d in used if extents[d] is None]
        if missing:
            raise ValueError(f"loops {missing} of {doc!r} have no extent; write name:n")
        shown = {e.position for r in reads for e in r.at if isinstance(e, AffineDimExpr)}
        shown |= {e.position for e in target if isinstance(e, AffineDimExpr)}
        sizes = {d: e for d, e in enumerate(extents) if e is not None}
        position = {d: i for i, d in enumerate(used)}
        return BodyLoops(position, sizes, [d for d in used if d not in shown], len(extents))

    def map(self, exprs: Sequence[AffineExpr]) -> AffineMapAttr:
        if len(self.position) == self.declared:  # no gaps: every loop keeps its position
            return AffineMapAttr(AffineMap(self.declared, 0, tuple(exprs)))
        rename: list[AffineExpr] = [AffineExpr.constant(0)] * self.declared
        for d, position in self.position.items():
            rename[d] = AffineDimExpr(position)
        renamed = tuple(e.replace_dims_and_symbols(rename, []) for e in exprs)
        return AffineMapAttr(AffineMap(len(self.position), 0, renamed))


def _learn_extents(extents: list[int | None], read: Read) -> None:
    for expr, extent in zip(read.at, read.shape, strict=True):
        if isinstance(expr, AffineDimExpr):
            known = extents[expr.position]
            if known is not None and known != extent:
                if is_open(known, extent):
                    raise NeedsNumbers(f"only numbers tell whether {known} is {extent}")
                raise ValueError(f"loop d{expr.position} runs over {known} and over {extent}")
            extents[expr.position] = extent


class BodyWriter:
    """Writes an expression into the body of a generic, each node once."""

    def __init__(self, body: Block, reads: Sequence[Read], loops: dict[int, int]) -> None:
        self.body = body
        self.loops = loops
        self.written: dict[int, SSAValue] = {}
        self.arguments = {(r.tensor, r.at): body.args[i] for i, r in enumerate(reads)}

    def add(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        properties: Sequence[tuple[str, Attribute]] = (),
        result_type: Attribute = f32,
    ) -> SSAValue:
        op = make(
            operation, operands=operands, properties=dict(properties), result_types=[result_type]
        )
        self.body.add_op(op)
        return op.results[0]

    def write(self, root: Scalar) -> SSAValue:
        for node in _nodes(root):
            self.written[id(node)] = self._write_node(node)
        return self.written[id(root)]

    def _write_node(self, node: Scalar) -> SSAValue:
        match node:
            case Read():
                return self.arguments[node.tensor, node.at]
            case Constant():
                kind = signless(node.type)
                value = node.value if kind == node.type else number(node.value.value.data, kind)
                held = self.add(arith.ConstantOp, (), (("value", value),), kind)
                return (
                    held if kind == node.type else self.add(arith.BitcastOp, [held], (), node.type)
                )
            case LoopIndex():
                dim = (("dim", IntegerAttr(self.loops[dim_of(node.loop)], i64)),)
                return self.add(IndexOp, (), dim, index)
            case Gather():
                at = [self.written[id(i)] for i in node.at]
                return self.add(tensor.ExtractOp, [node.tensor, *at], (), node.type)
            case Apply():
                operands = [self.written[id(o)] for o in node.operands]
                return self.add(node.operation, operands, node.properties, node.type)
            case _:
                raise TypeError(f"no scalar expression: {node}")
