"""Few vectors that hold some elements of an operand."""

from __future__ import annotations

from collections.abc import Collection


def vectors_over(places: Collection[int], lanes: int, unit: int = 1) -> dict[int, int]:
    """For each place, the first place of the vector that holds it.

    Lanes are `unit` places apart. A vector begins at a place that no earlier one holds, but never
    reaches beyond the last place. Places that are too near to each other for a vector are absent.

        0 1 2, 2 3 4, 4 5 6 by lanes of 4:  0 1 2 3, 3 4 5 6
    """
    found: dict[int, int] = {}
    for residue in {place % unit for place in places}:
        own = sorted({place for place in places if place % unit == residue})
        reach = (lanes - 1) * unit
        start, last = own[0], own[-1] - reach
        if last < start:
            continue
        for place in own:
            if place > start + reach:
                start = min(place, last)
            found[place] = start
    return found
