"""Attention, as people write it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.onnx.torch_modules.registry import heads, module, param, rand, together


@module(rand(1, 5, 8), rand(1, 5, 8), rand(1, 5, 8))
def one_head(m: Any, q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, -1) @ v


@module(rand(2, 6, 16), qkv=nn.Linear(16, 48), out=nn.Linear(16, 16))
def of_vision_transformers(m: Any, x: Any) -> Any:
    batch, rows, _ = x.shape
    q, k, v = m.qkv(x).reshape(batch, rows, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
    scores = (q * 0.5) @ k.transpose(-2, -1)
    return m.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, rows, 16))


@module(rand(1, 7, 16), qkv=nn.Linear(16, 48))
def causal(m: Any, x: Any) -> Any:
    q, k, v = (heads(part, 2) for part in m.qkv(x).chunk(3, -1))
    mask = torch.tril(torch.ones(7, 7, dtype=torch.bool))
    scores = (q @ k.transpose(-1, -2) * 0.25).masked_fill(~mask, float("-inf"))
    return together(scores.softmax(-1) @ v)


@module(rand(1, 7, 16), qkv=nn.Linear(16, 48))
def causal_by_where(m: Any, x: Any) -> Any:
    q, k, v = (heads(part, 4) for part in m.qkv(x).split(16, -1))
    places = torch.arange(7)
    mask = places[None] <= places[:, None]
    scores = torch.where(mask, q @ k.mT, torch.tensor(-1e9))
    return together(torch.softmax(scores, dim=-1) @ v)


@module(rand(1, 4, 6, 8), rand(1, 4, 6, 8), rand(1, 4, 6, 8))
def scaled_dot_product(m: Any, q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v)


@module(rand(1, 4, 6, 8), rand(1, 4, 6, 8), rand(1, 4, 6, 8))
def scaled_dot_product_causal(m: Any, q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@module(rand(2, 4, 5, 8), rand(2, 4, 7, 8), rand(2, 4, 7, 8), rand(2, 1, 5, 7) > 0)
def scaled_dot_product_masked(m: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    always = torch.eye(5, 7, dtype=torch.bool)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask | always)


@module(rand(1, 6, 16), attention=nn.MultiheadAttention(16, 4, batch_first=True))
def multi_head(m: Any, x: Any) -> Any:
    return m.attention(x, x, x, need_weights=False)[0]


@module(rand(6, 2, 16), rand(9, 2, 16), attention=nn.MultiheadAttention(16, 2))
def cross(m: Any, x: Any, memory: Any) -> Any:
    return m.attention(x, memory, memory)


@module(rand(1, 8, 6, 6), q=nn.Conv2d(8, 4, 1), k=nn.Conv2d(8, 4, 1), v=nn.Conv2d(8, 8, 1))
def of_pixels(m: Any, x: Any) -> Any:
    q, k, v = (f(x).flatten(2) for f in (m.q, m.k, m.v))
    weights = torch.softmax(torch.bmm(q.transpose(1, 2), k), -1)
    return torch.bmm(v, weights.transpose(1, 2)).view_as(x) + x


@module(rand(1, 8, 8, 12), qkv=nn.Linear(12, 36), bias=param(3, 16, 16))
def of_windows(m: Any, x: Any) -> Any:
    """Swin: windows of 4 x 4, moved by two, with a bias for each pair of places."""
    moved = torch.roll(x, (-2, -2), (1, 2))
    windows = moved.view(1, 2, 4, 2, 4, 12).permute(0, 1, 3, 2, 4, 5).reshape(4, 16, 12)
    q, k, v = m.qkv(windows).reshape(4, 16, 3, 3, 4).permute(2, 0, 3, 1, 4)
    weights = (q @ k.transpose(-2, -1) + m.bias[None]).softmax(-1)
    mixed = (weights @ v).transpose(1, 2).reshape(1, 2, 2, 4, 4, 12)
    back = mixed.permute(0, 1, 3, 2, 4, 5).reshape(1, 8, 8, 12)
    return torch.roll(back, (2, 2), (1, 2))


@module(rand(1, 6, 16), q=nn.Linear(16, 16), kv=nn.Linear(16, 8))
def of_groups(m: Any, x: Any) -> Any:
    """Four heads of queries, one of keys and values."""
    q = heads(m.q(x), 4)
    k, v = m.kv(x)[:, :, None].transpose(1, 2).expand(1, 4, 6, 8).chunk(2, -1)
    return together(F.scaled_dot_product_attention(q, k, v))


@module(rand(1, 6, 2, 8), rand(6, 4))
def rotary_by_halves(m: Any, x: Any, angles: Any) -> Any:
    cos, sin = (torch.cat([f(angles)] * 2, -1)[None, :, None] for f in (torch.cos, torch.sin))
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


@module(rand(1, 6, 2, 8), rand(6, 4))
def rotary_by_pairs(m: Any, x: Any, angles: Any) -> Any:
    cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@module(rand(1, 6, 8), steps=torch.exp(torch.arange(0, 8, 2) * -1.2))
def with_sinusoids(m: Any, x: Any) -> Any:
    angles = torch.arange(x.shape[1])[:, None] * m.steps
    return x + torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


@module(rand(1, 5, 4, 6), rand(1, 5, 4, 6), rand(1, 5, 4, 6))
def by_einsum(m: Any, q: Any, k: Any, v: Any) -> Any:
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


@module(rand(1, 2, 6, 8), rand(1, 2, 6, 8), rand(1, 2, 6, 8))
def linear_attention(m: Any, q: Any, k: Any, v: Any) -> Any:
    q, k = F.elu(q) + 1, F.elu(k) + 1
    sums = torch.einsum("bhnd,bhne->bhde", k, v)
    norm = 1 / (torch.einsum("bhnd,bhd->bhn", q, k.sum(2)) + 1e-6)
    return torch.einsum("bhnd,bhde,bhn->bhne", q, sums, norm)


@module(rand(1, 2, 6, 6), slopes=torch.tensor([0.5, 0.25]))
def with_linear_bias(m: Any, scores: Any) -> Any:
    places = torch.arange(6)
    far = (places[None] - places[:, None]).abs()
    return (scores - m.slopes[:, None, None] * far).softmax(-1)


@module(
    rand(2, 5, 16),
    layer=nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True),
)
def encoder_layer(m: Any, x: Any) -> Any:
    return m.layer(x)


@module(
    rand(5, 1, 16), rand(7, 1, 16), layer=nn.TransformerDecoderLayer(16, 2, 24, activation="gelu")
)
def decoder_layer(m: Any, x: Any, memory: Any) -> Any:
    return m.layer(x, memory)


@module(
    rand(1, 3, 16, 16),
    patches=nn.Conv2d(3, 8, 4, 4),
    token=param(1, 1, 8),
    places=param(1, 17, 8),
    norm=nn.LayerNorm(8),
)
def tokens_of_patches(m: Any, x: Any) -> Any:
    rows = m.patches(x).flatten(2).transpose(1, 2)
    rows = torch.cat([m.token.expand(len(x), -1, -1), rows], 1) + m.places
    return m.norm(rows)[:, 0]


@module(torch.randint(0, 20, (1, 6)), table=nn.Embedding(20, 8), out=nn.Linear(8, 20, bias=False))
def tied_embedding(m: Any, tokens: Any) -> Any:
    rows = m.table(tokens)
    return F.log_softmax(F.linear(rows, m.table.weight), -1)
