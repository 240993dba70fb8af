"""Finds one of two labels for every operation, at the least sum of costs: a minimum cut.

    PACKED ── if op is plain ──> op ── if op is packed ──> PLAIN
    source ── if source is packed, and a reader plain ──> once ── NEVER ──> each such reader

Every operation is on one side, and each edge from the side of PACKED to that of PLAIN costs its
capacity. The least cut is the largest flow: exact for two labels, in a few milliseconds for a
network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from xdsl.ir import Operation, SSAValue

NEVER = 1e15
"""More than all other costs together."""

LEAST = 1e-9
"""Less flow than this is rounding."""

PACKED, PLAIN = 0, 1
"""The nodes of the cut that stand for the labels."""


class Cut:
    """A graph of such edges, and the labels that cost the least in it."""

    def __init__(self) -> None:
        self.nodes: dict[Operation, int] = {}
        self.conversions: dict[tuple[int, SSAValue], int] = {}
        self.capacity: list[dict[int, float]] = [{}, {}]
        """The capacity that is left from each node to each of its neighbours."""

    def _node(self, op: Operation) -> int:
        node = self.nodes.get(op)
        if node is None:
            node = self.nodes[op] = len(self.capacity)
            self.capacity.append({})
        return node

    def _edge(self, source: int, target: int, cost: float) -> None:
        self.capacity[source][target] = self.capacity[source].get(target, 0.0) + cost
        self.capacity[target].setdefault(source, 0.0)

    def prefer(self, op: Operation, packed: float, plain: float) -> None:
        """The cost of each label of op by itself; packed wins a tie."""
        self._edge(self._node(op), PLAIN, packed)
        self._edge(PACKED, self._node(op), plain + 1.0)

    def pay_if_packed(self, op: Operation, cost: float) -> None:
        self._edge(self._node(op), PLAIN, cost)

    def read_plain(
        self, value: SSAValue, source: Operation, reader: Operation | None, cost: float
    ) -> None:
        """Costs, once for all such readers, when a packed source has a plain one.

        None stands for a reader that is always plain.
        """
        target = PLAIN if reader is None else self._node(reader)
        self._convert(PLAIN, value, self._node(source), target, cost)

    def read_packed(
        self, value: SSAValue, source: Operation | None, reader: Operation, cost: float
    ) -> None:
        """Costs, once for all such readers, when a plain source has a packed one.

        None stands for a source that is always plain.
        """
        target = PLAIN if source is None else self._node(source)
        self._convert(PACKED, value, self._node(reader), target, cost)

    def _convert(self, label: int, value: SSAValue, begin: int, end: int, cost: float) -> None:
        """An edge; if a value has several readers, through a node whose edge costs once.

        Each reader has its own edge to the node, or from it, that no cut takes.
        """
        if value.has_one_use():
            self._edge(begin, end, cost)
            return
        paid = 0.0 if (label, value) in self.conversions else cost
        node = self._conversion(label, value)
        self._edge(begin, node, paid if label == PLAIN else NEVER)
        self._edge(node, end, NEVER if label == PLAIN else paid)

    def _conversion(self, label: int, value: SSAValue) -> int:
        """The node of a value's conversion to a label."""
        if (label, value) not in self.conversions:
            self.conversions[label, value] = len(self.capacity)
            self.capacity.append({})
        return self.conversions[label, value]

    def connect(
        self, source: Operation, reader: Operation, to_plain: float, to_packed: float
    ) -> None:
        """Costs when a packed source has a plain reader, and the other way round."""
        self._edge(self._node(source), self._node(reader), to_plain)
        self._edge(self._node(reader), self._node(source), to_packed)

    def solve(self) -> set[Operation]:
        """Push flow along shortest paths until there is none; operations still reached are packed.

        One search finds the shortest paths of all nodes, whatever their lengths (Dinic's algorithm,
        with levels counted from the sink). A search for each path, or each length, would take a
        time that grows with the square of the network.
        """
        for node in self.nodes.values():
            self._push([PACKED, node, PLAIN])
        while True:
            levels = self._levels()
            begun = (node for node, room in self.capacity[PACKED].items() if room > LEAST)
            if levels.keys().isdisjoint(begun):
                reached = self._reached()
                return {op for op, node in self.nodes.items() if node in reached}
            self._push_along(levels)

    def _push(self, path: Sequence[int]) -> None:
        """Push as much flow along a path as it can take."""
        flow = min(self.capacity[a][b] for a, b in pairwise(path))
        for a, b in pairwise(path):
            self.capacity[a][b] -= flow
            self.capacity[b][a] += flow

    def _levels(self) -> dict[int, int]:
        """The number of edges to the sink from each node from which something can flow there."""
        levels = {PLAIN: 0}
        queue = deque([PLAIN])
        while queue:
            node = queue.popleft()
            for before in self.capacity[node].keys() - {PACKED}:
                if before not in levels and self.capacity[before][node] > LEAST:
                    levels[before] = levels[node] + 1
                    queue.append(before)
        return levels

    def _reached(self) -> set[int]:
        """The nodes to which something can flow from the source."""
        reached, left = {PACKED}, [PACKED]
        while left:
            edges = self.capacity[left.pop()].items()
            new = [node for node, room in edges if room > LEAST and node not in reached]
            reached.update(new)
            left += new
        return reached

    def _push_along(self, levels: Mapping[int, int]) -> None:
        """Push flow to the sink along all shortest paths.

        Each node asks its predecessors on such paths for flow, and hands on the sum. It does not
        ask again along an edge that is full, or leads to an empty node. So the time for a chain
        grows with its length, not with the square of it.
        """
        edges = {
            node: [n for n in self.capacity[node] if n == PACKED or levels.get(n) == left + 1]
            for node, left in levels.items()
        }
        path, asked, missing = [PLAIN], [inf], [inf]
        while True:
            node = path[-1]
            if missing[-1] > LEAST and edges[node]:
                path.append(edges[node][-1])
                asked.append(min(missing[-1], self.capacity[path[-1]][node]))
                missing.append(0.0 if path[-1] == PACKED else asked[-1])
                continue
            if node == PLAIN:
                return
            path.pop()
            after, left = path[-1], missing.pop()
            flow = asked.pop() - left
            missing[-1] -= flow
            self.capacity[node][after] -= flow
            self.capacity[after][node] += flow
            if left > LEAST or self.capacity[node][after] <= LEAST:
                edges[after].pop()
