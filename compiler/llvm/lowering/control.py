"""Loops and branches of scf as blocks.

    %r = scf.for %i = %a to %b step %s iter_args(%x = %x0) { ...; scf.yield %y }
    ->      br loop(a, x0)
      loop(i, x):  ...;  i' = i + s;  cond_br i' < b, loop(i', y), after
      after:       r is y

Loops are rotated: the test is at the end of the body. If a < b is not known, there is a branch
around the loop in front of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.lowering.addresses import AddressForm
from ncc.compiler.llvm.lowering.function import PASS, Function, Handlers, machine_type


def _machine_types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [machine_type(value.type) for value in values]


def _bind_all(function: Function, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    for source, result in zip(sources, results, strict=True):
        function.bind(source, result)


def lower_for(function: Function, op: scf.ForOp) -> None:
    """A loop, or no loop if it is known to run once."""
    if not isinstance(op.lb.type, IndexType):
        raise CompilerBug(f"an scf.for that counts in {op.lb.type}", pass_name=PASS)
    lower, upper, step = (function.index(bound) for bound in (op.lb, op.ub, op.step))
    distance = upper - lower
    runs = not distance.terms and distance.constant > 0
    if runs and not step.terms and distance.constant <= step.constant:
        _lower_single(function, op, lower)
    else:
        _lower_iterations(function, op, (lower, upper, step), runs)


def _lower_iterations(
    function: Function,
    op: scf.ForOp,
    bounds: tuple[AddressForm, AddressForm, AddressForm],
    runs: bool,
) -> None:
    """A loop from lower to upper by step. runs: whether it is known to run at least once."""
    builder, addresses = function.builder, function.addresses
    outer = builder.scope
    lower, _, step = bounds
    first, last, by = map(addresses.value, bounds)
    initial = function.values(op.iter_args)
    header = Block(arg_types=[i64, *_machine_types(op.iter_args)])
    after = Block(arg_types=[] if runs else _machine_types(op.results))

    scope = function.open(header, outer)
    addresses.enter(scope, header, None if step.terms else header.args[0])
    results = _lower_iteration(function, op, header, initial)
    counter = builder.add_in(builder.scope, header.args[0], by)
    moved = addresses.advance(scope, step.constant)
    again = builder.compare("slt", counter, last)
    iteration = [counter, *results, *moved]
    builder.branch_if(again, header, iteration, after, [] if runs else results)

    builder.scope = outer
    entered = [first, *initial, *addresses.start(scope, lower)]
    if runs:
        builder.branch(header, entered)
    else:
        entering = builder.compare("slt", first, last)
        builder.branch_if(entering, header, entered, after, initial)
    function.add(after)
    outer.block = after
    _bind_all(function, op.results, results if runs else after.args)
    for result, before, made in zip(after.args, initial, results, strict=False):
        if builder.is_number(before) and builder.is_number(made):
            builder.call_number(result)


def _lower_iteration(
    function: Function, op: scf.ForOp, header: Block, initial: Sequence[SSAValue]
) -> list[SSAValue]:
    """The body of a loop after its header, whose arguments are carried; returns the next ones."""
    builder = function.builder
    _bind_all(function, op.body.block.args, header.args[: len(op.body.block.args)])
    for position, start in enumerate(initial):
        if builder.is_number(start) and _stays_number(op, position):
            builder.call_number(header.args[1 + position])
    return function.values(function.lower(op.body.block).operands)


def _stays_number(loop: scf.ForOp, position: int) -> bool:
    """Whether an iteration of a loop makes no NaN of a carried value that is not NaN."""
    last = loop.body.block.last_op
    argument = loop.body.block.args[1 + position]
    return last is not None and _is_extremum_of(last.operands[position], argument)


def _is_extremum_of(value: SSAValue, argument: SSAValue) -> bool:
    """Whether a value is an argument, or the extremum of it and others, also by loops inside."""
    match value.owner:
        case arith.MaxnumfOp() | arith.MinnumfOp() as op:
            return any(_is_extremum_of(operand, argument) for operand in op.operands)
        case scf.ForOp() as op if isinstance(value, OpResult):
            start = op.iter_args[value.index]
            return _is_extremum_of(start, argument) and _stays_number(op, value.index)
        case _:
            return value is argument


def _lower_single(function: Function, op: scf.ForOp, lower: AddressForm) -> None:
    """The body of a loop that runs once, in place."""
    counter, *carried = op.body.block.args
    function.bind_index(counter, lower)
    for argument, initial in zip(carried, op.iter_args, strict=True):
        function.alias(argument, initial)
    results = function.lower(op.body.block).operands
    for result, value in zip(op.results, results, strict=True):
        function.alias(result, value)


def _lower_branch(function: Function, region: Region, block: Block, after: Block) -> None:
    """One side of an scf.if, from `block` to `after`."""
    outer = function.builder.scope
    function.open(block, outer)
    results = function.values(function.lower(region.block).operands)
    function.builder.branch(after, results)
    function.builder.scope = outer


def lower_if(function: Function, op: scf.IfOp) -> None:
    """Two blocks, or one, and a block after them."""
    builder = function.builder
    outer = builder.scope
    then, otherwise = Block(), Block()
    after = Block(arg_types=_machine_types(op.results))
    has_else = bool(op.false_region.blocks)
    condition = function.value(op.cond)
    _lower_branch(function, op.true_region, then, after)
    if has_else:
        _lower_branch(function, op.false_region, otherwise, after)
    function.builder.branch_if(condition, then, [], otherwise if has_else else after, [])
    function.add(after)
    outer.block = after
    _bind_all(function, op.results, after.args)


def lower_while(function: Function, op: scf.WhileOp) -> None:
    """A loop that carries no values. The region `before` ends with a branch to the region `after`,
    or out of the loop.
    """
    builder = function.builder
    outer = builder.scope
    before, body, after = Block(), Block(), Block()

    inner = function.open(before, outer)
    condition = function.lower(op.before_region.block)
    assert isinstance(condition, scf.ConditionOp)
    goes_on = function.value(condition.condition)

    function.open(body, inner)
    function.lower(op.after_region.block)
    builder.branch(before, [])
    builder.scope = inner
    builder.branch_if(goes_on, body, [], after, [])
    builder.scope = outer
    builder.branch(before, [])
    function.add(after)
    outer.block = after


HANDLERS: Handlers = {
    scf.ForOp: lower_for,
    scf.IfOp: lower_if,
    scf.WhileOp: lower_while,
}
