"""Elements at places that data say: gathers, scatters, sorts, masks, boxes."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from tests.onnx.torch_modules.registry import module, rand
from tests.onnx.torch_modules.vision import nms

BOXES = torch.tensor(
    [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 10], [21, 19, 30, 31.0]]
)
SCORES = torch.tensor([0.9, 0.8, 0.7, 0.95, 0.3])


@module(rand(3, 5), torch.tensor([[0, 4], [2, 2], [1, 3]]))
def gathers(m: Any, x: Any, places: Any) -> Any:
    return x.gather(1, places), x[:, [0, 2]], x[places[:, 0]], x.index_select(1, places[0])


@module(rand(4, 5), torch.tensor([0, 3, 1]), torch.tensor([1, 4, 2]))
def pairs(m: Any, x: Any, rows: Any, columns: Any) -> Any:
    return x[rows, columns], x[rows][:, columns]


@module(rand(3, 5), torch.tensor([[0, 1, 2], [2, 0, 4]]), rand(2, 3))
def scatters(m: Any, x: Any, places: Any, values: Any) -> Any:
    return x.scatter(1, places, values), x.scatter(1, places, 2.0)


@module(rand(3, 5), torch.tensor([[0, 1, 1], [2, 2, 2]]), rand(2, 3))
def scatter_sums(m: Any, x: Any, places: Any, values: Any) -> Any:
    return (
        x.scatter_add(1, places, values),
        x.scatter_reduce(1, places, values, "amax"),
        x.scatter_reduce(1, places, values, "prod"),
    )


@module(rand(4, 3), torch.tensor([0, 2, 2]), rand(3, 3))
def index_sums(m: Any, x: Any, rows: Any, values: Any) -> Any:
    return x.index_add(0, rows, values), x.index_copy(0, rows[:2], values[:2])


@module(rand(4, 6), rand(4, 2))
def written_slices(m: Any, x: Any, y: Any) -> Any:
    x = x.clone()
    x[:, 1:3] = y
    x[0, ::2] = 0
    x[2] += 1
    return x


@module(rand(4, 6), torch.tensor([1, 3]), torch.tensor([0, 5]), rand(2))
def written_places(m: Any, x: Any, rows: Any, columns: Any, values: Any) -> Any:
    return x.index_put((rows, columns), values), x.index_put((rows,), x[:2], accumulate=True)


@module(rand(3, 6))
def masks(m: Any, x: Any) -> Any:
    mask = (x > 0) & (x < 1) | (x == x.max())
    return torch.where(mask, x, -x), x.masked_fill(~mask, 0), mask.any(1), mask.all(), mask.sum()


@module(rand(2, 7, 4), torch.tensor([3, 7]))
def mask_of_lengths(m: Any, x: Any, lengths: Any) -> Any:
    mask = torch.arange(7)[None] < lengths[:, None]
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


@module(rand(3, 8))
def best(m: Any, x: Any) -> Any:
    values, places = torch.topk(x, 3)
    low, _ = torch.topk(x, 2, 0, largest=False)
    return values, places, low


@module(rand(3, 8))
def sorts(m: Any, x: Any) -> Any:
    values, places = torch.sort(x, 1, descending=True)
    return values, places, torch.argsort(x, 0), x.msort()


@module(rand(2, 5))
def largest(m: Any, x: Any) -> Any:
    return x.argmax(1), x.argmin(), x.max(0), x.amin(1, keepdim=True), x.aminmax(dim=1)


@module(rand(2, 6), torch.randint(0, 9, (2, 6)))
def running_sums(m: Any, x: Any, y: Any) -> Any:
    return x.cumsum(1), y.cumsum(0), x.cumsum(-1).flip(1), torch.diff(x)


@module(rand(3, 4))
def running_log_sums(m: Any, x: Any) -> Any:
    return torch.logcumsumexp(x, 1), torch.logsumexp(x, 0)


@module(torch.randint(0, 5, (2, 3)), rand(3, 5))
def one_hot(m: Any, tokens: Any, table: Any) -> Any:
    return F.one_hot(tokens, 5), F.one_hot(tokens, 5).float() @ table.T


@module(rand(2, 9), edges=torch.tensor([-1.0, 0.0, 1.0]))
def buckets(m: Any, x: Any) -> Any:
    return torch.bucketize(x, m.edges), (x[..., None] > m.edges).sum(-1)


@module(BOXES, SCORES)
def suppressed(m: Any, boxes: Any, scores: Any) -> Any:
    return nms(boxes, scores, 0.5)


@module(BOXES, SCORES)
def suppressed_boxes(m: Any, boxes: Any, scores: Any) -> Any:
    keep = nms(boxes, scores, 0.5)
    return boxes[keep], scores[keep]


@module(rand(6, 4), rand(5, 4))
def overlaps(m: Any, x: Any, y: Any) -> Any:
    x, y = torch.cat([x[:, :2], x[:, :2] + 2], 1), torch.cat([y[:, :2], y[:, :2] + 1.5], 1)
    low, high = torch.max(x[:, None, :2], y[:, :2]), torch.min(x[:, None, 2:], y[:, 2:])
    shared = (high - low).clamp(min=0).prod(2)
    areas = [(boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) for boxes in (x, y)]
    return shared / (areas[0][:, None] + areas[1] - shared)


@module(rand(1, 16, 4, 4), rand(1, 3, 4, 4))
def boxes_of_a_map(m: Any, moves: Any, scores: Any) -> Any:
    """YOLOv8's: distances as expectations, then boxes and the best of them."""
    shares = moves.flatten(2).view(1, 4, 4, 16).softmax(2)
    distances = (shares * torch.arange(4.0).view(1, 1, 4, 1)).sum(2)
    ys, xs = torch.meshgrid(torch.arange(4) + 0.5, torch.arange(4) + 0.5, indexing="ij")
    centres = torch.stack([xs, ys]).flatten(1)[None]
    boxes = torch.cat([centres - distances[:, :2], centres + distances[:, 2:]], 1)
    rated, labels = scores.flatten(2).sigmoid().max(1)
    best, places = rated.topk(5)
    return boxes.transpose(1, 2).gather(1, places[..., None].expand(-1, -1, 4)), best, labels


@module(rand(4, 4, 2, 2), torch.tensor([0, 2]))
def memory_bank(m: Any, bank: Any, picked: Any) -> Any:
    bank = bank.index_fill(0, picked, 1.5)
    return bank.take_along_dim(picked.view(2, 1, 1, 1), 0), torch.take(bank, picked)


@module(rand(1, 4, 8), rand(1, 1, 8), torch.tensor([2]))
def cache_update(m: Any, cache: Any, row: Any, place: Any) -> Any:
    return cache.index_copy(1, place, row)
