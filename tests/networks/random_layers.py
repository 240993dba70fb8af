"""Single layers of random networks: behind a blob, with any params; `Rejected` where none fits."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.layer import ParamValue
from tests.networks.random_growth import Growth, Params, Rejected

ACTIVATIONS: list[tuple[str, Params]] = [
    ("ReLU", {}),
    ("ReLU", {"slope": 0.1}),
    ("ReLU", {"slope": -0.5}),
    ("Clip", {"min": -0.5, "max": 0.75}),
    ("Clip", {"min": 0.0, "max": 6.0}),
    ("Clip", {}),
    ("Sigmoid", {}),
    ("Mish", {}),
    ("HardSwish", {"alpha": 1 / 6, "beta": 0.5}),
    ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
    ("Swish", {}),
    ("TanH", {}),
    ("GELU", {}),
    ("ELU", {"alpha": 0.3}),
    ("SELU", {}),
]

POINTWISE: list[tuple[str, Params]] = [
    *ACTIVATIONS,
    ("AbsVal", {}),
    ("Threshold", {"threshold": 0.123}),
    ("Shrink", {"bias": 0.1, "lambd": 0.4}),
    ("CELU", {"alpha": 0.7}),
    ("Softplus", {}),
    ("BNLL", {}),
    ("Erf", {}),
    ("GELU", {"fast_gelu": 1}),
    ("Exp", {"scale": 0.5}),
    ("Log", {"shift": 4.0}),
    ("Power", {"power": 2.0, "scale": 0.5, "shift": 1.0}),
    ("UnaryOp", {"op_type": 0}),
    ("UnaryOp", {"op_type": 1}),
    ("UnaryOp", {"op_type": 4}),
    ("UnaryOp", {"op_type": 9}),
    ("UnaryOp", {"op_type": 16}),
    ("Noop", {}),
    ("DeepCopy", {}),
    ("Flatten", {}),
    ("Dropout", {}),
    ("Dropout", {"scale": 0.5}),
    ("Softmax", {"fixbug0": 1}),
    ("MVN", {"normalize_variance": 1}),
    ("LRN", {"region_type": 0, "local_size": 3}),
    ("Flip", {"axes": (0,)}),
    ("Tile", {"axis": 0, "tiles": 2}),
    ("Squeeze", {"squeeze_w": 1, "squeeze_h": 1}),
    ("ExpandDims", {"axes": (0,)}),
]

FUSED: list[Params] = [
    {"activation_type": 1},
    {"activation_type": 2, "activation_params": (0.1,)},
    {"activation_type": 3, "activation_params": (-0.5, 0.8)},
    {"activation_type": 4},
    {"activation_type": 5},
    {"activation_type": 6, "activation_params": (0.2, 0.5)},
]


def activation(net: Growth, x: str) -> str:
    type, params = net.pick(ACTIVATIONS)
    return net.one(type, x, **params)


def pointwise(net: Growth, x: str) -> str:
    type, params = net.pick(POINTWISE)
    return net.one(type, x, **params)


def fused(net: Growth) -> Params:
    """Now and then an activation inside the host."""
    return net.pick(FUSED) if net.chance(0.2) else {}


def host(net: Growth, x: str) -> str:
    """A layer with weights that the rank allows."""
    shape = net.shape(x)
    if len(shape) == 1 or net.chance(0.1):
        return inner_product(net, x)
    if len(shape) == 2 and net.chance(0.3):
        return product_of_matrices(net, x)
    return convolution(net, x)


def inner_product(net: Growth, x: str) -> str:
    shape = net.shape(x)
    columns = shape[-1] if len(shape) == 2 else int(np.prod(shape))
    outputs = net.pick([1, 3, 8, shape[0]])
    params = {"num_output": outputs, "bias_term": net.number(0, 1)}
    return net.one("InnerProduct", x, **params, weight_data_size=outputs * columns, **fused(net))


def convolution(
    net: Growth,
    x: str,
    grouped: bool | None = None,
    transposed: bool | None = None,
    **given: ParamValue,
) -> str:
    channels, *space = net.shape(x)
    dimensions = {1: "1D", 2: "", 3: "3D"}.get(len(space))
    if dimensions is None:
        raise Rejected
    grouped = net.chance(0.4) if grouped is None else grouped
    transposed = net.chance(0.3) if transposed is None else transposed
    group = net.pick([g for g in range(1, channels + 1) if channels % g == 0]) if grouped else 1
    outputs = group * net.number(1, 3) if grouped else net.pick([1, 4, 8, channels])
    kernel = net.number(1, 3)
    params: dict[str, ParamValue] = {
        "num_output": outputs,
        "kernel_w": kernel,
        "stride_w": net.pick([1, 1, 2]),
        "dilation_w": net.pick([1, 1, 2]),
        "pad_left": net.pick([0, 0, 1, 1, 3]),
        "bias_term": net.number(0, 1),
        "weight_data_size": outputs * (channels // group) * kernel ** len(space),
        **fused(net),
    }
    if grouped:
        params["group"] = group
    kind = "Deconvolution" if transposed else "Convolution"
    name = f"{kind}{'DepthWise' if grouped else ''}{dimensions}"
    return net.one(name, x, **{**params, **given})


def pooling(net: Growth, x: str) -> str:
    options: list[Params] = [
        {"global_pooling": 1},
        {"kernel_w": 1},
        {"kernel_w": 2, "stride_w": 2},
        {"kernel_w": 3, "stride_w": 2, "pad_left": 1, "pad_mode": net.number(0, 3)},
        {"adaptive_pooling": 1, "out_w": 2},
        {"kernel_w": 3, "pad_left": 1, "avgpool_count_include_pad": 1, "pad_mode": 1},
    ]
    return net.one("Pooling", x, pooling_type=net.number(0, 1), **net.pick(options))


def normalization(net: Growth, x: str) -> str:
    shape = net.shape(x)
    channels, last = shape[0], shape[-1]
    options: list[tuple[str, Params]] = [
        ("LayerNorm", {"affine_size": last, "affine": net.number(0, 1)}),
        ("RMSNorm", {"affine_size": last, "affine": net.number(0, 1)}),
        ("GroupNorm", {"group": 1, "channels": channels, "affine": net.number(0, 1)}),
        ("InstanceNorm", {"channels": channels, "affine": net.number(0, 1)}),
        ("Normalize", {"scale_data_size": 1, "channel_shared": 1}),
    ]
    type, params = net.pick(options)
    return net.one(type, x, **params)


def reduction(net: Growth, x: str) -> str:
    rank = len(net.shape(x))
    axes = tuple(sorted(k - rank * net.number(0, 1) for k in range(rank) if net.chance(0.5)))
    if not axes:
        return net.one("Reduction", x, operation=net.pick([0, 3, 4]), fixbug0=1)
    return net.one(
        "Reduction",
        x,
        operation=net.pick([0, 2, 3, 3, 3, 4, 5]),
        reduce_all=0,
        coeff=net.pick([1.0, 1.0, 0.5]),
        axes=axes,
        keepdims=net.number(0, 1),
        fixbug0=1,
    )


def channels_moved(net: Growth, x: str) -> str:
    options: list[tuple[str, Params]] = [
        ("ShuffleChannel", {"group": 2, "reverse": net.number(0, 1)}),
        ("PixelShuffle", {"upscale_factor": 2}),
        ("Reorg", {"stride": 2}),
        ("PriorBox", {"min_sizes": (4.0,), "image_width": 20, "image_height": 20}),
    ]
    type, params = net.pick(options)
    return net.one(type, x, **params)


def product_of_matrices(net: Growth, x: str) -> str:
    shape = net.shape(x)
    if len(shape) != 2:
        raise Rejected
    rows, columns = shape
    kind = net.number(0, 2)
    if kind == 0:
        return net.one("MatMul", x, net.like(x), transB=1)
    if kind == 1:
        heads = net.pick([h for h in (1, 2, 4) if columns % h == 0])
        size = columns * columns
        name = "MultiHeadAttention"
        return net.one(name, x, embed_dim=columns, num_heads=heads, weight_data_size=size)
    outputs = net.number(1, 6)
    params = {"transB": 1, "constantB": 1, "constantN": outputs, "constantK": columns}
    bias = {"constantC": 1, "constant_broadcast_type_C": net.pick([-1, 4])}
    return net.one("Gemm", x, **params, **bias, alpha=net.pick([1.0, 0.5]))
