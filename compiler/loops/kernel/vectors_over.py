"""Few vectors that hold some elements of an operand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from ncc.dialects.size import form_of


def vectors_over(places: Collection[int], lanes: int, unit: int = 1) -> dict[int, int]:
    """For each place, the first place of the vector that holds it.

    Lanes are `unit` places apart. A vector begins at a place that no earlier one holds, but never
    reaches beyond the last place. Places that are too near to each other for a vector are absent.
    Places that a size is between, as between two rows, share no vector.

        0 1 2, 2 3 4, 4 5 6 by lanes of 4:  0 1 2 3, 3 4 5 6
    """
    runs: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for place in places:
        number = dict(form_of(place).terms).get((), 0)
        runs[place - number, number % unit].append(number)
    found: dict[int, int] = {}
    reach = (lanes - 1) * unit
    for (far, _), run in runs.items():
        own = sorted(run)
        start, last = own[0], own[-1] - reach
        if last < start:
            continue
        for number in own:
            if number > start + reach:
                start = min(number, last)
            found[far + number] = far + start
    return found
