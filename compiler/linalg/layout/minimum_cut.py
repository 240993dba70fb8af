"""Two labels for every operation, at the least sum of costs: a minimum cut.

    PACKED ── if op is plain ──> op ── if op is packed ──> PLAIN
    source ── if source is packed, and a reader plain ──> once ── NEVER ──> each such reader

Every operation stays on one side, and each edge that leads from the side of PACKED to that of PLAIN
is paid for. The least that separates them is the largest flow between them: exact for two labels, a
few milliseconds for a network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from xdsl.ir import Operation, SSAValue

NEVER = 1e15
"""What nothing is worth paying."""

LEAST = 1e-9
"""Flow that is none but for rounding."""

PACKED, PLAIN = 0, 1
"""The nodes of the cut that stand for the labels."""


class Cut:
    """A graph of such edges, and the labels that cost the least in it."""

    def __init__(self) -> None:
        self.nodes: dict[Operation, int] = {}
        self.conversions: dict[tuple[int, SSAValue], int] = {}
        self.capacity: list[dict[int, float]] = [{}, {}]
        """What can still flow from each node to each of its neighbours."""

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
        """An edge; where there may be several of the kind, through a node that is paid for once.

        Every reader has an edge of its own to the node, or from it, that nothing cuts.
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
        """Push flow along shortest paths until none is left; the nodes still reached are packed.

        The shortest paths of all nodes are found together, however long each of them is (Dinic,
        but with steps counted from the sink): a search for each of them, or for each length, would
        take a time that grows with the square of the network.
        """
        for node in self.nodes.values():
            self._push([PACKED, node, PLAIN])
        while True:
            steps = self._steps()
            begun = (node for node, room in self.capacity[PACKED].items() if room > LEAST)
            if steps.keys().isdisjoint(begun):
                reached = self._reached()
                return {op for op, node in self.nodes.items() if node in reached}
            self._push_along(steps)

    def _push(self, path: Sequence[int]) -> None:
        """Let flow what can flow along a path."""
        flow = min(self.capacity[a][b] for a, b in pairwise(path))
        for a, b in pairwise(path):
            self.capacity[a][b] -= flow
            self.capacity[b][a] += flow

    def _steps(self) -> dict[int, int]:
        """The number of steps to the sink from each node from which something can flow there."""
        steps = {PLAIN: 0}
        queue = deque([PLAIN])
        while queue:
            node = queue.popleft()
            for before in self.capacity[node].keys() - {PACKED}:
                if before not in steps and self.capacity[before][node] > LEAST:
                    steps[before] = steps[node] + 1
                    queue.append(before)
        return steps

    def _reached(self) -> set[int]:
        """The nodes to which something can flow from the source."""
        reached, left = {PACKED}, [PACKED]
        while left:
            edges = self.capacity[left.pop()].items()
            new = [node for node, room in edges if room > LEAST and node not in reached]
            reached.update(new)
            left += new
        return reached

    def _push_along(self, steps: Mapping[int, int]) -> None:
        """Let flow to the sink what can along all paths of which every step leads one step on.

        Each node asks the ones a step further for what it can hand on, and hands on what they have
        together. An edge that is full, or leads to a node that has no more, is left behind for
        good, so that chains take a time that grows with their length, and not with its square.
        """
        edges = {
            node: [n for n in self.capacity[node] if n == PACKED or steps.get(n) == left + 1]
            for node, left in steps.items()
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
