"""Which algorithm a convolution uses: small windows go to Winograd's where it pays.

    %p = pad %x  low 1 high 1                         %p = pad %x  low 1 high 1 + up to 3
    %c = conv(%p, %w) outs(bias)                      %v, %m = generics of `winograd`
    %y = pointwise(%c, %r)                    ->      %t = generic of `winograd`
                                                      %e = pointwise(%t, expand %r)   on the tiles
                                                      %y = extract_slice (collapse %e)

Pointwise computations that follow a convolution are rewritten on its tiles, so that they stay at
the point that is stored. The rows of tiles are cut into chunks with generics of their own, whose
results are concatenated: what a chunk makes in between fits a cache, and all chunks are given the
same memory. A reduction over windows of rows that lie apart, as most pools are, is done chunk by
chunk as well, while a chunk's result is still near:

    max2x2 (slice (collapse (concat %t0, %t1, ..)))
                                        ->      concat (max2x2 (collapse %t0)), ..

Convolutions of one image with the same tiles, as detectors have for boxes and classes, are computed
side by side, chunk by chunk: its input is transformed once.

Needs: the structured level before layouts and groups.
Breaks: the order and rounding of floating-point sums, about 1e-5 of the largest result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.convolutions.convolution import Convolution, match
from ncc.compiler.linalg.convolutions.padding import padded
from ncc.compiler.linalg.convolutions.parts import is_image, part, span
from ncc.compiler.linalg.convolutions.strips import ROWS, moves_by_rows, view_moves
from ncc.compiler.linalg.convolutions.winograd import Constants, tiled, transformed
from ncc.compiler.linalg.insert import again, doc_of, erase_dead, move_before, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.sums.halves import FEWEST_ROWS, STEP
from ncc.compiler.linalg.tensors import groups_of, pad_sides, weights_of
from ncc.compiler.linalg.view import Access, Linear, View, expression, shape_of
from ncc.compiler.target import AVX512, Target
from ncc.dialects.comprehension import PARALLEL, Builder, Tensor
from ncc.dialects.weight import ConstantOp


@dataclass(frozen=True)
class ChooseConvolution(ModulePass):
    """Rewrite the convolutions of the network that are cheaper in tiles.

    threads: how many share a chunk, which may be the larger for it.
    halves: leave those that products of bfloat16 will compute, which is cheaper still.
    """

    name = "choose-convolution"

    target: Target = AVX512
    threads: int = 1
    halves: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        done: set[Operation] = set()
        for inner in generics_of(block):
            found = None if inner in done else self._match(inner)
            if found is not None:
                first, alike = _Rewrite(found, self.threads), map(self._match, found.beside())
                others = [
                    _Rewrite(one, self.threads)
                    for one in alike
                    if one is not None and one.has_tiles_of(found)
                ]
                others = [one for one in others if one.can_join(first)]
                first.run(others)
                done.update(one.convolution.op for one in others)
        if done:
            erase_dead(block)

    def _match(self, op: GenericOp) -> Convolution | None:
        """The convolution that op is, if it is to be computed in tiles."""
        found = match(op, self.target)
        if not isinstance(found, Convolution) or (self.halves and _wide(found)):
            return None
        return found


def _wide(convolution: Convolution) -> bool:
    """Whether there are channels and points enough for `SplitHalves`."""
    tiling = convolution.tiling
    enough = tiling.inputs >= STEP and tiling.height * tiling.width >= FEWEST_ROWS
    return enough and tiling.groups == 1


class _Rewrite:
    """The rewriting of one convolution and of what follows it at each point."""

    def __init__(self, convolution: Convolution, threads: int) -> None:
        self.convolution = convolution
        self.threads = threads
        self.tiling = convolution.tiling
        self.tile = self.tiling.span
        self.step = self.tiling.form.step * self.tiling.dilation
        self.beside = self.tiling.form.window * self.tiling.dilation - self.step
        self.covered = (self.tile * self.tiling.rows, self.tile * self.tiling.columns)
        self.grouped = self.tiling.groups > 1
        self.slices = list(shape_of(convolution.op.results[0])[1:-2]) if not self.grouped else []
        self.followers = self._followers()
        self.last: Operation = self.followers[-1] if self.followers else convolution.op
        self.block = Block()
        self.builder = Builder(self.block, doc_of(convolution.op))

    def can_join(self, first: _Rewrite) -> bool:
        """Whether it can be computed beside another one, further up: it reads vectors of constants.

        Not beside one with a pool, which is done chunk by chunk.
        """
        end = _reader(first.last.results[0])
        if end is not None and View(end).reduced and View(end).product() is None:
            return False
        return first.last.is_before_in_block(self.last) and all(
            isinstance(value.owner, ConstantOp) and len(shape_of(value)) == 1
            for value in self._operands()
        )

    def _operands(self) -> list[SSAValue]:
        """What it reads besides its image and its weights."""
        init = self.convolution.init
        made = [op.results[0] for op in (self.convolution.op, *self.followers)]
        reads = [access.value for op in self.followers for access in View(op).reads]
        start = [] if isinstance(init, float) else [init]
        return [*start, *(value for value in reads if value not in made)]

    def _join(self, first: _Rewrite) -> None:
        """Be written where another one is, and have all constants there."""
        self.block, self.builder = first.block, Builder(first.block, self.builder.doc)
        for value in self._operands():
            constant = value.owner
            if isinstance(constant, Operation) and not constant.is_before_in_block(first.last):
                constant.detach()
                self.block.add_op(constant)

    def run(self, others: Sequence[_Rewrite] = ()) -> None:
        """others: of the same image and tiles, computed beside it, chunk by chunk, from one V."""
        for other in others:
            other._join(self)
        outputs = sum(one.tiling.outputs for one in (self, *others))
        rows = replace(self.tiling, outputs=outputs).chunk(self.threads)
        reach = [n * self.tiling.form.stride + self.beside for n in self.covered]
        x = tensor_of(padded(self.convolution.x, reach[0], reach[1]))
        together = [(one, one._constants()) for one in (self, *others)]
        beside: list[list[Tensor]] = [[] for _ in others]

        def chunks() -> Iterator[Tensor]:
            """Those of this one, while the others' are made beside them."""
            for first in range(0, self.tiling.rows, rows):
                count = min(rows, self.tiling.rows - first)
                v = self._transformed(x, together[0][1], first, count)
                mine, *rest = (one._chunk(v, own, first) for one, own in together)
                for made, chunk in zip(beside, rest, strict=True):
                    made.append(chunk)
                yield mine

        self._replace(chunks(), rows)
        for other, made in zip(others, beside, strict=True):
            other._replace(made, rows)

    def _constants(self) -> Constants:
        weights = weights_of(self.convolution.weights)
        if self.slices:
            pair, window = weights.shape[:2], weights.shape[-2:]
            weights = replace(weights, shape=(*pair, self.tiling.depth.taps, *window))
        return Constants.of(self.builder, self.tiling.form, weights)

    def _replace(self, chunks: Iterable[Tensor], rows: int) -> None:
        """Put chunks of so many rows of tiles, and what pools make of them, in place of all."""
        b, dead = self.builder, [*reversed(self.followers), self.convolution.op]
        pool = _pool(self.last.results[0], self.tile * rows, -(-self.tiling.rows // rows))
        if pool is None:
            tiles = b.concat(list(chunks), axis=ROWS + len(self.slices))
            result = self._image(tiles, self.tiling.height)
        else:
            dead = [*reversed(pool.ops), *dead]
            pooled = [self._pooled(pool, chunk, n, rows) for n, chunk in enumerate(chunks)]
            result = b.concat(pooled, axis=ROWS)
        last: Operation = dead[0]
        if self.grouped:
            joint = _joint(last.results[0])
            if joint is None:
                result = b.expand(result, [[0, 1], [2], [3]], shape_of(last.results[0]))
            last = joint or last
        move_before(self.block, last)
        result.value.name_hint = last.results[0].name_hint
        last.results[0].replace_all_uses_with(result.value)
        for op in dict.fromkeys([last, *dead, *(op.outputs[0].owner for op in dead)]):
            if isinstance(op, Operation) and not any(value.uses for value in op.results):
                op.detach()
                op.erase()

    def _image(self, tiles: Tensor, height: int) -> Tensor:
        """The first rows of what (outputs, rows, m, columns, m) holds, of each slice."""
        image = self.builder.collapse(tiles, self._of_tiles())
        size = [*image.shape[:-2], min(height, image.shape[-2]), self.tiling.width]
        return self.builder.slice(image, [0] * image.rank, size)

    def _of_tiles(self) -> list[list[int]]:
        """The axes of tiles by those of an image, or of a volume."""
        row, parts = 1 + len(self.slices), 2 if self.tiling.dilation == 1 else 3
        rows, columns = (list(range(n, n + parts)) for n in (row, row + parts))
        return [*([axis] for axis in range(row)), rows, columns]

    def _pooled(self, pool: _Pool, chunk: Tensor, number: int, rows: int) -> Tensor:
        """What a pool makes of a chunk, where those before it have so many rows of tiles."""
        image = self._image(chunk, self.tiling.height - number * rows * self.tile)
        for op in pool.ops:
            channels, height, width = shape_of(op.results[0])

            def operand(access: Access, view: View, image: Tensor = image) -> SSAValue:
                return image.value if view_moves(access, view) else access.value

            shape = [channels, min(pool.rows, height - number * pool.rows), width]
            image = part(self.builder, op, shape, operand)
        return image

    def _transformed(self, x: Tensor, constants: Constants, first: int, rows: int) -> Tensor:
        """V of rows of tiles from `first`."""
        size = [*x.shape[:-2], self.step * rows + self.beside, x.shape[-1]]
        x = self.builder.slice(x, [*[0] * (x.rank - 2), self.step * first, 0], size)
        grid = rows, self.tiling.columns
        return transformed(self.builder, x, constants, grid, self.tiling.dilation)

    def _chunk(self, v: Tensor, constants: Constants, first: int) -> Tensor:
        """The rows of tiles of V, from `first`, with everything that follows the convolution."""
        phases = self.tiling.dilation
        rows = v.shape[-2] // phases
        keep = (min(self.tiling.height - self.tile * first, self.tile * rows), self.tiling.width)
        if self.covered == (self.tiling.height, self.tiling.width) or any(n % phases for n in keep):
            keep = (self.tile * rows, self.covered[1])
        init = self.convolution.init
        start = init if isinstance(init, float) else self._by_channel(init)
        y = tiled(self.builder, v, constants, start, keep, self.tiling.depth, phases)
        value: SSAValue = self.convolution.op.results[0]
        for op in self.followers:
            y = self._on_tiles(op, value, y, first)
            value = op.results[0]
        return y

    def _by_channel(self, value: SSAValue) -> Tensor:
        """A number a channel, those of several groups one behind the other."""
        vector = tensor_of(value)
        return self.builder.collapse(vector, [[0, 1]]) if self.grouped else vector

    # --- what follows -----------------------------------------------------------------------

    def _followers(self) -> list[GenericOp]:
        """The pointwise computations that can be done on the tiles, in order."""
        found: list[GenericOp] = []
        value: SSAValue = self.convolution.op.results[0]
        while (op := self._follower(value)) is not None:
            found.append(op)
            value = op.results[0]
        return found

    def _follower(self, value: SSAValue) -> GenericOp | None:
        uses = list(value.uses)
        op = uses[0].operation if len(uses) == 1 else None
        if not isinstance(op, GenericOp) or value is op.outputs[0]:
            return None
        view = View(op)
        if not view.is_pointwise or view.captured or view.indexed:
            return None
        if len(view.extents) != len(view.write.index) or None in [
            form.bare for form in view.write.index
        ]:
            return None
        if len(view.live) != len(view.reads):
            return None
        return op if all(self._readable(op, view, access, value) for access in view.reads) else None

    def _readable(self, op: GenericOp, view: View, access: Access, flight: SSAValue) -> bool:
        if access.index == view.write.index:
            if access.value is flight:
                return True
            return not self.grouped and self._cover(access.value, op) is not None
        if access.value is flight or any(map(access.uses, self._spatial(view))):
            return False
        by_channel = access.index == self._channels(view)
        return by_channel or not self.grouped or not any(form.terms for form in access.index)

    def _cover(self, value: SSAValue, before: Operation) -> tuple[SSAValue, list[int]] | None:
        """A tensor with room for whole tiles that holds `value`, and where it begins there.

        The value itself stands for one that can be padded: nothing else decides where it lives.
        """
        shape, begin = shape_of(value), [0] * len(shape_of(value))
        if shape[-2:] == self.covered:
            return value, begin
        for use in value.uses:
            pad = use.operation
            if isinstance(pad, tensor.PadOp) and pad.is_before_in_block(before):
                low, _ = pad_sides(pad)
                room = [n - k for n, k in zip(shape_of(pad.result), low, strict=True)]
                if room[-2] >= self.covered[0] and room[-1] >= self.covered[1]:
                    return pad.result, low
        return (value, begin) if _is_free(value) else None

    def _on_tiles(self, op: GenericOp, value: SSAValue, y: Tensor, first: int) -> Tensor:
        """A pointwise computation whose input `value` is y, (outputs, rows, m, columns, m)."""
        view = View(op)
        channels = self._channels(view)
        operands: list[SSAValue] = []
        maps: list[AffineMapAttr] = []
        out = self.builder.empty(y.shape)
        identity = AffineMapAttr(AffineMap.identity(out.rank))
        for access in view.reads:
            index, whole = access.index, access.index == view.write.index
            if access.value is value:
                operands.append(y.value)
            elif whole:
                operands.append(self._tiles(access.value, op, y, first))
            elif index == channels:
                operands.append(self._by_channel(access.value).value)
                index = index[:1]
            else:
                operands.append(access.value)
            maps.append(identity if whole else _moved_by_channel(index, out.rank))
        return again(self.builder, op, operands, out, [*maps, identity], [PARALLEL] * out.rank)

    def _tiles(self, value: SSAValue, op: GenericOp, y: Tensor, first: int) -> SSAValue:
        """The rows of a tensor that belong to the tiles of y."""
        cover = self._cover(value, self.last)
        if cover is None:
            raise CompilerBug(f"{op.name} was not to be done on tiles")
        source, begin = cover
        held = tensor_of(source)
        if source is value:
            held = tensor_of(padded(value, *self.covered))
        lead, rows = y.shape[: 1 + len(self.slices)], y.shape[1 + len(self.slices)]
        *before, top, left = begin
        box = [*lead, self.tile * rows, self.covered[1]]
        held = self.builder.slice(held, [*before, top + self.tile * first, left], box)
        return self.builder.expand(held, self._of_tiles(), y.shape).value

    def _channels(self, view: View) -> tuple[Linear, ...]:
        """The channels of a result that goes on from the convolution's, those of groups too."""
        return view.write.index[: -2 - len(self.slices)]

    def _spatial(self, view: View) -> list[int]:
        """The other loops of it."""
        forms = view.write.index[-2 - len(self.slices) :]
        return [form.bare for form in forms if form.bare is not None]


@dataclass(frozen=True)
class _Pool:
    """A reduction over windows of an image, what follows it at each point, and how many of its rows
    a chunk of the image makes.
    """

    ops: tuple[GenericOp, ...]
    rows: int


def _pool(image: SSAValue, covered: int, chunks: int) -> _Pool | None:
    """What alone reads an image, if none of its windows reads two chunks of `covered` rows."""
    op = _reader(image)
    if chunks < 2 or op is None or not _goes_by_rows(op, image):
        return None
    view = View(op)
    mine = [access for access in view.reads if access.value is image]
    if not view.reduced or view.product() is not None or len(mine) != 1:
        return None
    step, reach = span(mine[0], view, ROWS, 1, 2)[0], span(mine[0], view, ROWS, 0, 1)[1]
    rows = covered // step
    every = (chunks - 1) * rows < shape_of(op.results[0])[ROWS] <= chunks * rows
    if reach > step or step * rows != covered or not every:
        return None
    ops = [op]
    while (next_op := _reader(ops[-1].results[0])) is not None and View(next_op).is_pointwise:
        if not _goes_by_rows(next_op, ops[-1].results[0]):
            return None
        ops.append(next_op)
    return _Pool(tuple(ops), rows)


def _reader(value: SSAValue) -> GenericOp | None:
    """The computation that alone reads a value."""
    op = value.get_user_of_unique_use()
    return op if isinstance(op, GenericOp) else None


def _goes_by_rows(op: GenericOp, image: SSAValue) -> bool:
    """Whether rows of the result need rows of `image`, and what else is read stands still."""

    def moves(access: Access, view: View) -> bool:
        mine = access.value is image
        return mine == view_moves(access, view) and moves_by_rows(access, view)

    return image in op.inputs and is_image(View(op), moves)


def _is_free(value: SSAValue) -> bool:
    """Whether a value is computed, here or on tiles, and no view decides where it lives."""
    owners = (tensor.PadOp, tensor.ConcatOp, func.ReturnOp)
    if any(isinstance(use.operation, owners) for use in value.uses):
        return False
    owner = value.owner
    if isinstance(owner, tensor.ExtractSliceOp):
        return isinstance(owner.source.owner, tensor.CollapseShapeOp)
    return isinstance(owner, GenericOp)


def _moved_by_channel(index: Sequence[Linear], loops: int) -> AffineMapAttr:
    """The index of an operand that only the channel moves, which is the first loop on tiles."""
    forms = (
        expression({0: sum(factor for _, factor in form.terms)}, form.constant) for form in index
    )
    return AffineMapAttr(AffineMap(loops, 0, tuple(forms)))


def _joint(value: SSAValue) -> tensor.CollapseShapeOp | None:
    """What alone reads the channels of groups, as one axis."""
    op = value.get_user_of_unique_use()
    if not isinstance(op, tensor.CollapseShapeOp):
        return None
    return op if groups_of(op) == [[0, 1], [2], [3]] else None
