"""Motifs that put elements elsewhere: diagonals, boxes laid over boxes, sums said by letters."""

from __future__ import annotations

from ncc.dialects.ncnn.axes import EXTENT_NAMES
from tests.networks.random_growth import Growth, Motif

EQUATIONS = {
    1: ["i->i", "i,i->i", "i,j->ij", "j,jk,k->ij", "i,ii->i"],
    2: ["ij->i", "ji->ij", "ij,ij->i", "ik,kj->ij", "jk,ik->ij", "ij,ik,il->ijkl", "kj,ikk->ij"],
    3: ["ijk->i", "kij->ijk", "ijl,ilk->ijk", "ijk,jk->i", "jkl,jji->i"],
    4: ["ijkl->ij", "lkji->ijkl", "ijkl,kl->ij"],
}
"""By the rank of the first operand."""


def said_by_letters(net: Growth, x: str) -> str:
    """Einsum with constants, and now and then with x twice."""
    equation = net.pick(EQUATIONS[len(net.shape(x))])
    first, *others = equation.split("->")[0].split(",")
    extents = dict(zip(first, net.shape(x), strict=True))
    given = [x]
    for token in others:
        shape = [extents.setdefault(letter, net.pick([1, 2, 3, 4, 16])) for letter in token]
        twice = tuple(shape) == net.shape(x) and net.chance(0.5)
        given.append(x if twice else net.constant(net.random(shape)))
    return net.one("Einsum", *given, equation=tuple(map(ord, equation)))


def diagonal(net: Growth, x: str) -> str:
    """A vector on a diagonal, or a diagonal of a matrix; now and then there and back."""
    y = net.one("Diag", x, diagonal=net.number(-2, 2))
    return net.one("Diag", y, diagonal=net.number(-1, 1)) if net.chance(0.3) else y


def laid_over(net: Growth, x: str) -> str:
    """A constant over a box of x, or x over a box of a constant."""
    shape = net.shape(x)
    small = net.chance(0.5)
    spare = [net.number(0, min(2, extent - 1) if small else 2) for extent in shape]
    begin = [net.number(0, rest) for rest in spare]
    other = [extent + (-rest if small else rest) for extent, rest in zip(shape, spare, strict=True)]
    constant = net.constant(net.random(other))
    operands = (x, constant) if small else (constant, x)
    if net.chance(0.5):
        return net.one("CopyTo", *operands, starts=tuple(begin))
    names = EXTENT_NAMES[len(shape)]
    offsets = {f"{name}offset": start for name, start in zip(names, begin, strict=True)}
    return net.one("CopyTo", *operands, **offsets)


def packed(net: Growth, x: str) -> str:
    """Elements side by side in memory. What fills up the last ones ncnn leaves unwritten."""
    elements = net.pick([1, 4, 8])
    filled = net.number(0, 1) if net.shape(x)[0] % elements == 0 else 0
    return net.one("Packing", x, out_elempack=elements, use_padding=filled)


PLACES: list[Motif] = [said_by_letters, diagonal, laid_over, packed]
