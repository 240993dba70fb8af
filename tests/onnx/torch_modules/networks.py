"""Blocks of networks as people write them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.onnx.torch_modules.registry import heads, module, param, rand, together


def conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> Any:
    """A convolution that keeps the size, a normalization by batches, and SiLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.SiLU(),
    )


@module(
    rand(1, 3, 16, 16),
    down=conv(3, 8, 3, 2),
    inner=conv(8, 8),
    up=nn.ConvTranspose2d(8, 4, 2, 2),
    out=conv(7, 2),
)
def u_net(m: Any, x: Any) -> Any:
    low = m.inner(m.down(x))
    return m.out(torch.cat([m.up(low), x], 1))


@module(
    rand(1, 8, 7, 7),
    depth=nn.Conv2d(8, 8, 7, padding=3, groups=8),
    norm=nn.LayerNorm(8),
    wide=nn.Linear(8, 32),
    narrow=nn.Linear(32, 8),
    gamma=param(8),
)
def conv_next(m: Any, x: Any) -> Any:
    y = m.norm(m.depth(x).permute(0, 2, 3, 1))
    y = m.gamma * m.narrow(F.gelu(m.wide(y)))
    return x + y.permute(0, 3, 1, 2)


@module(
    rand(1, 8, 8, 12),
    qkv=nn.Linear(12, 36),
    table=param(49, 3),
    places=(torch.arange(16)[:, None] + torch.arange(16)) % 49,
)
def swin(m: Any, x: Any) -> Any:
    """Shifted windows of 4 x 4, with a bias by relative places, and a mask."""
    y = torch.roll(x, (-2, -2), (1, 2)).view(1, 2, 4, 2, 4, 12).permute(0, 1, 3, 2, 4, 5)
    q, k, v = m.qkv(y.reshape(4, 16, 12)).view(4, 16, 3, 3, 4).permute(2, 0, 3, 1, 4)
    bias = m.table[m.places.view(-1)].view(16, 16, 3).permute(2, 0, 1)
    parts = torch.zeros(1, 8, 8, 1)
    parts[:, 6:] += 1
    parts[:, :, 6:] += 2
    parts = parts.view(1, 2, 4, 2, 4, 1).permute(0, 1, 3, 2, 4, 5).reshape(4, 16)
    mask = (parts[:, None] != parts[:, :, None]).float() * -100
    scores = (q @ k.transpose(-2, -1) * 0.5 + bias + mask[:, None]).softmax(-1)
    y = (scores @ v).transpose(1, 2).reshape(1, 2, 2, 4, 4, 12).permute(0, 1, 3, 2, 4, 5)
    return torch.roll(y.reshape(1, 8, 8, 12), (2, 2), (1, 2))


@module(
    rand(1, 3, 24, 32),
    patch=nn.Conv2d(3, 16, 8, 8),
    token=param(1, 1, 16),
    places=param(1, 17, 16),
    block=nn.TransformerEncoderLayer(
        16, 4, 32, batch_first=True, norm_first=True, activation="gelu"
    ),
)
def vit_at_another_size(m: Any, x: Any) -> Any:
    """Embeddings of places are interpolated from 4 x 4 to the size of the image."""
    y = m.patch(x)
    grid = m.places[:, 1:].reshape(1, 4, 4, 16).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=y.shape[-2:], mode="bicubic").flatten(2).transpose(1, 2)
    y = y.flatten(2).transpose(1, 2) + grid
    return m.block(torch.cat([m.token + m.places[:, :1], y], 1))[:, 0]


@module(
    rand(1, 20, 30),
    first=nn.Conv1d(20, 16, 3, padding=1),
    second=nn.Conv1d(16, 16, 3, 2, 1),
    norm=nn.LayerNorm(16),
    qkv=nn.Linear(16, 48),
)
def whisper_encoder(m: Any, x: Any) -> Any:
    y = F.gelu(m.second(F.gelu(m.first(x)))).transpose(1, 2)
    steps = torch.arange(y.shape[1])[:, None] * torch.exp(-torch.arange(8) * 1.2)[None]
    y = y + torch.cat([steps.sin(), steps.cos()], 1)
    q, k, v = (heads(part, 4) for part in m.qkv(m.norm(y)).chunk(3, -1))
    return y + together(F.scaled_dot_product_attention(q, k, v))


@module(
    rand(1, 12, 16),
    queries=param(5, 16),
    layer=nn.TransformerDecoderLayer(16, 2, 32, batch_first=True),
    classes=nn.Linear(16, 4),
    boxes=nn.Linear(16, 4),
)
def detr_decoder(m: Any, memory: Any) -> Any:
    y = m.layer(m.queries[None].expand(memory.shape[0], -1, -1), memory)
    return m.classes(y), m.boxes(y).sigmoid()


@module(rand(1, 64 + 3, 4, 4), rand(1, 64 + 3, 2, 2))
def yolo_distances(m: Any, x: Any, y: Any) -> Any:
    """YOLOv8: distances are expectations over 16 bins; boxes lie around anchor points."""
    flat, anchors, strides = [], [], []
    for part, stride in ((x, 8.0), (y, 16.0)):
        h, w = part.shape[-2:]
        rows, columns = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        anchors.append(torch.stack([columns, rows], -1).view(-1, 2))
        strides.append(torch.full((h * w, 1), stride))
        flat.append(part.flatten(2))
    boxes, scores = torch.cat(flat, 2).split([64, 3], 1)
    bins = boxes.view(1, 4, 16, -1).transpose(1, 2).softmax(1)
    sides = (bins * torch.arange(16.0).view(1, 16, 1, 1)).sum(1)
    low, high = sides.chunk(2, 1)
    points = torch.cat(anchors).T[None]
    first, last = points - low, points + high
    found = torch.cat([(first + last) / 2, last - first], 1) * torch.cat(strides).T
    return torch.cat([found, scores.sigmoid()], 1)


@module(rand(1, 3 * 8, 4, 5))
def yolo_anchors(m: Any, x: Any) -> Any:
    """YOLOv5: three anchors a cell."""
    y = x.view(1, 3, 8, 4, 5).permute(0, 1, 3, 4, 2).sigmoid()
    rows, columns = torch.meshgrid(torch.arange(4.0), torch.arange(5.0), indexing="ij")
    grid = torch.stack([columns, rows], 2)[None, None]
    anchors = torch.tensor([[10.0, 13], [16, 30], [33, 23]]).view(1, 3, 1, 1, 2)
    place, size, rest = y.split([2, 2, 4], -1)
    return torch.cat([(place * 2 - 0.5 + grid) * 8, (size * 2) ** 2 * anchors, rest], -1).view(
        1, -1, 8
    )


@module(
    rand(1, 5, 16),
    rand(1, 2, 8, 6, 6),
    offsets=nn.Linear(16, 2 * 4 * 2),
    weights=nn.Linear(16, 2 * 4),
)
def deformable_attention(m: Any, queries: Any, values: Any) -> Any:
    """RT-DETR: each query samples four points of an image, for each of two heads."""
    places = (m.offsets(queries).view(1, 5, 2, 4, 2) * 0.1).tanh()
    weights = m.weights(queries).view(1, 5, 2, 4).softmax(-1)
    grid = places.permute(0, 2, 1, 3, 4).reshape(2, 5, 4, 2)
    found = F.grid_sample(values.view(2, 8, 6, 6), grid, align_corners=False)
    found = (found * weights.permute(0, 2, 1, 3).reshape(2, 1, 5, 4)).sum(-1)
    return found.view(1, 16, 5).transpose(1, 2)


@module(
    rand(1, 16, 6, 6),
    torch.tensor([7]),
    one=nn.GroupNorm(4, 16),
    two=nn.GroupNorm(4, 16),
    first=nn.Conv2d(16, 16, 3, padding=1),
    second=nn.Conv2d(16, 16, 3, padding=1),
    time=nn.Linear(8, 32),
)
def diffusion_block(m: Any, x: Any, step: Any) -> Any:
    """A step of time scales and shifts the channels."""
    angles = step[:, None].float() * torch.exp(-torch.arange(4) * 2.3)[None]
    scale, shift = m.time(torch.cat([angles.sin(), angles.cos()], -1))[..., None, None].chunk(2, 1)
    y = m.first(F.silu(m.one(x)))
    return x + m.second(F.silu(m.two(y) * (1 + scale) + shift))


@module(
    rand(1, 3, 6, 7),
    head=nn.Conv2d(3, 8, 3, padding=1),
    body=nn.Conv2d(8, 8, 3, padding=1),
    up=nn.Conv2d(8, 12, 3, padding=1),
)
def edsr(m: Any, x: Any) -> Any:
    y = m.head(x)
    y = y + m.body(F.relu(y)) * 0.1
    wide = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
    return F.pixel_shuffle(m.up(y), 2) + wide


@module(
    rand(1, 8, 8, 8),
    local=conv(8, 8),
    block=nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    out=conv(16, 8),
)
def mobile_vit(m: Any, x: Any) -> Any:
    """Attention among pixels at the same place of their patches."""
    y = m.local(x).reshape(1, 8, 4, 2, 4, 2).permute(0, 3, 5, 2, 4, 1).reshape(4, 16, 8)
    y = m.block(y).reshape(1, 2, 2, 4, 4, 8).permute(0, 5, 3, 1, 4, 2).reshape(1, 8, 8, 8)
    return m.out(torch.cat([x, y], 1))


@module(rand(1, 4, 20), layers=nn.ModuleList(nn.Conv1d(4, 4, 3, dilation=2**k) for k in range(3)))
def temporal(m: Any, x: Any) -> Any:
    """Causal convolutions with growing dilations."""
    for k, layer in enumerate(m.layers):
        x = x + F.relu(layer(F.pad(x, (2 * 2**k, 0))))
    return x


@module(
    rand(1, 4, 20),
    filters=nn.Conv1d(4, 8, 2, dilation=2),
    skip=nn.Conv1d(4, 6, 1),
    out=nn.Conv1d(4, 4, 1),
)
def wave_net(m: Any, x: Any) -> Any:
    inner, gate = m.filters(F.pad(x, (2, 0))).chunk(2, 1)
    y = inner.tanh() * gate.sigmoid()
    return x + m.out(y), m.skip(y)


@module(rand(1, 200), banks=rand(9, 5).abs(), window=torch.hann_window(16))
def mel_front_end(m: Any, x: Any) -> Any:
    """Frames by unfold, a Fourier transform as a product, banks, a logarithm."""
    frames = x.unfold(-1, 16, 8) * m.window
    angles = torch.arange(16.0)[:, None] * torch.arange(9.0) * (2 * torch.pi / 16)
    power = (frames @ angles.cos()) ** 2 + (frames @ angles.sin()) ** 2
    mel = torch.clamp(power @ m.banks, min=1e-10).log10()
    return (torch.maximum(mel, mel.amax((-2, -1), keepdim=True) - 8.0) + 4) / 4


@module(rand(6, 8), gate=nn.Linear(8, 4), up=param(4, 8, 16), down=param(4, 16, 8))
def mixture_by_gather(m: Any, x: Any) -> Any:
    """Two of four experts a row, whose matrices are gathered."""
    weights, chosen = m.gate(x).topk(2, -1)
    hidden = F.silu(torch.einsum("td,tkdh->tkh", x, m.up[chosen]))
    made = torch.einsum("tkh,tkhd->tkd", hidden, m.down[chosen])
    return (made * weights.softmax(-1)[..., None]).sum(1)


@module(rand(1, 9, 16), qkv=nn.Linear(16, 48))
def attention_by_features(m: Any, x: Any) -> Any:
    q, k, v = (heads(part, 4) for part in m.qkv(x).chunk(3, -1))
    q, k = F.elu(q) + 1, F.elu(k) + 1
    sums = k.transpose(-2, -1) @ v
    return together(q @ sums / (q @ k.sum(-2)[..., None] + 1e-6))


@module(rand(1, 9, 8), qkv=nn.Linear(8, 24))
def causal_attention_by_features(m: Any, x: Any) -> Any:
    q, k, v = m.qkv(x).chunk(3, -1)
    q, k = F.relu(q) + 0.1, F.relu(k) + 0.1
    states = torch.cumsum(k[..., None] * v[..., None, :], 1)
    return torch.einsum("bti,btij->btj", q, states) / (q * k.cumsum(1)).sum(-1, keepdim=True)


@module(
    rand(1, 1, 16), rand(1, 2, 5, 8), rand(1, 2, 5, 8), qkv=nn.Linear(16, 48), norm=nn.RMSNorm(16)
)
def decoder_with_past(m: Any, x: Any, keys: Any, values: Any) -> Any:
    """One token, turned by its place; keys and values grow."""
    q, k, v = (heads(part, 2) for part in m.qkv(m.norm(x)).chunk(3, -1))
    angles = keys.shape[2] * 10000 ** (-torch.arange(0, 8, 2) / 8)
    cos, sin = angles.cos().repeat(2), angles.sin().repeat(2)
    q, k = (y * cos + torch.cat([-y[..., 4:], y[..., :4]], -1) * sin for y in (q, k))
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    return together(F.scaled_dot_product_attention(q, keys, values)), keys, values


@module(rand(2, 9), rand(2))
def beam_step(m: Any, scores: Any, sums: Any) -> Any:
    """The best continuations of all beams."""
    total = (scores.log_softmax(-1) + sums[:, None]).view(-1)
    best, places = total.topk(3)
    return best, places // 9, places % 9, scores.argmax(-1)


@module(rand(1, 6, 8), embedding=nn.Embedding(5, 8))
def vector_quantization(m: Any, x: Any) -> Any:
    code = (x[:, :, None] - m.embedding.weight).square().sum(-1).argmin(-1)
    return m.embedding(code), code, x + (m.embedding(code) - x).detach()


@module(
    rand(1, 12, 6, 6),
    squeeze=nn.Conv2d(12, 3, 1),
    excite=nn.Conv2d(3, 12, 1),
    spatial=nn.Conv2d(2, 1, 3, padding=1),
)
def attention_of_channels_and_places(m: Any, x: Any) -> Any:
    """CBAM."""
    pooled = F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1)
    x = x * sum(m.excite(F.relu(m.squeeze(one))) for one in pooled).sigmoid()
    both = torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)
    return x * m.spatial(both).sigmoid()


@module(
    rand(1, 8, 9, 9),
    pools=nn.ModuleList(nn.AdaptiveAvgPool2d(k) for k in (1, 3)),
    out=nn.Conv2d(24, 4, 1),
)
def pyramid_pool(m: Any, x: Any) -> Any:
    size = x.shape[-2:]
    parts = [F.interpolate(pool(x), size, mode="bilinear") for pool in m.pools]
    return m.out(torch.cat([x, *parts], 1))


@module(rand(4, 3), torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 3, 1]]), inner=nn.Linear(3, 5))
def graph_convolution(m: Any, x: Any, edges: Any) -> Any:
    """Messages along edges are added where they end."""
    source, target = edges[0], edges[1]
    sums = torch.zeros(4, 5).index_add(0, target, m.inner(x)[source])
    count = torch.zeros(4).index_add(0, target, torch.ones(5))
    return F.relu(sums / count.clamp(min=1)[:, None])


@module(rand(1, 2, 6, 6), rand(1, 2, 6, 6))
def correlation(m: Any, x: Any, y: Any) -> Any:
    """The products of an image with shifted ones."""
    wide = F.pad(y, (1, 1, 1, 1))
    found = [(x * wide[..., i : i + 6, j : j + 6]).mean(1) for i in range(3) for j in range(3)]
    return torch.stack(found, 1)


@module(rand(1, 6, 4), a=param(4, 3), b=nn.Linear(4, 3), c=nn.Linear(4, 3), step=nn.Linear(4, 4))
def state_space(m: Any, x: Any) -> Any:
    """Mamba's scan, step by step."""
    dt = F.softplus(m.step(x))[..., None]
    decay, more = torch.exp(-dt * m.a.exp()), dt * m.b(x)[:, :, None] * x[..., None]
    state, rows = torch.zeros(1, 4, 3), []
    for t in range(x.shape[1]):
        state = decay[:, t] * state + more[:, t]
        rows.append((state * m.c(x)[:, t, None]).sum(-1))
    return torch.stack(rows, 1)


@module(rand(1, 5, 8), rand(1, 8))
def film(m: Any, x: Any, y: Any) -> Any:
    a, b = y[:, None].chunk(2, -1)
    return torch.addcmul(b, x[..., :4], 1 + a), torch.lerp(x, x.flip(-1), 0.3), F.glu(x, -1)


@module(torch.randint(0, 256, (1, 6, 7, 3), dtype=torch.uint8))
def pixels(m: Any, x: Any) -> Any:
    """An image as it comes, in floats, with channels in front, and without a mean."""
    y = x.permute(0, 3, 1, 2).float().div(255)
    return (y - torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)) / 0.225


@module(rand(3, 4))
def loop_of_torch(m: Any, x: Any) -> Any:
    """torch.while_loop with a count, and a condition of the run."""
    return torch.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5), (torch.tensor(0), x)
    )[1]


@module(rand(5, 4), rand(4))
def scan_of_torch(m: Any, xs: Any, first: Any) -> Any:
    from torch._higher_order_ops.scan import scan

    return scan(lambda c, x: (c * 0.5 + x, c + x), first, xs)
