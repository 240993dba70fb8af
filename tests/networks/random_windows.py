"""Windows in random networks: poolings of any rank, patches, places that are computed, filters
that are inputs.
"""

from __future__ import annotations

from ncc.dialects.ncnn.layer import ParamValue
from tests.networks.random_growth import Growth, Motif, Params, Rejected
from tests.networks.random_layers import activation, fused
from tests.networks.random_pairs import TAILS


def pooling_of_any_rank(net: Growth, x: str) -> str:
    """Pooling1D of rows, Pooling3D of volumes."""
    type = {2: "Pooling1D", 4: "Pooling3D"}.get(len(net.shape(x)))
    if type is None:
        raise Rejected
    options: list[Params] = [
        {"global_pooling": 1},
        {"kernel_w": 2, "stride_w": 2},
        {"kernel_w": 2, "pad_left": 1, "pad_mode": net.number(0, 3)},
        {"adaptive_pooling": 1, "out_w": net.number(1, 3)},
    ]
    return net.one(type, x, pooling_type=net.number(0, 1), **net.pick(options))


def statistics(net: Growth, x: str) -> str:
    return net.one("StatisticsPooling", x, include_stddev=net.number(0, 1))


def patches(net: Growth, x: str) -> str:
    """Unfold, something of each cell, and Fold to the size it was, with what may stand between."""
    shape = net.shape(x)
    if len(shape) != 3:
        raise Rejected
    window: dict[str, ParamValue] = {
        "kernel_w": net.number(1, 3),
        "kernel_h": net.number(1, 2),
        "stride_w": net.number(1, 2),
        "pad_left": net.number(0, 1),
    }
    y = net.one("Unfold", x, **window)
    if net.chance(0.3):
        return y
    if net.chance(0.5):
        y = activation(net, y)
    return net.one("Fold", y, **window, output_w=shape[2], output_h=shape[1])


def sampled(net: Growth, x: str) -> str:
    """An image or a volume at the places of a constant grid; nearest places jump with rounding."""
    space = len(net.shape(x)) - 1
    if space not in (2, 3):
        raise Rejected
    points = [net.number(1, 5) for _ in range(space)]
    fused_grid = net.number(0, 1)
    shape = [space, *points] if fused_grid else [*points, space]
    return net.one(
        "GridSample",
        x,
        net.constant(net.random(shape)),
        sample_type=net.pick([1, 3]) if space == 2 else 1,
        padding_mode=net.number(1, 3),
        align_corner=net.number(0, 1),
        permute_fusion=fused_grid,
    )


def deformed(net: Growth, x: str) -> str:
    """A deformable convolution whose offsets, and maybe mask, are computed from its input; behind
    it something that goes into its weights.
    """
    shape = net.shape(x)
    if len(shape) != 3:
        raise Rejected
    outputs, kernel = net.pick([1, 4, 8, 16]), net.number(1, 3)
    window: dict[str, ParamValue] = {
        "kernel_w": kernel,
        "stride_w": net.number(1, 2),
        "pad_left": net.number(0, 1),
    }

    def convolved(type: str, channels: int, *inputs: str, **params: ParamValue) -> str:
        size = channels * shape[0] * kernel**2
        own: Params = {"num_output": channels, "weight_data_size": size}
        return net.one(type, *inputs, **own, **window, **params)

    given = [x, convolved("Convolution", 2 * kernel**2, x)]
    if net.chance(0.5):
        given.append(net.one("Sigmoid", convolved("Convolution", kernel**2, x)))
    params: Params = {"bias_term": net.number(0, 1), **fused(net)}
    y = convolved("DeformableConv2D", outputs, *given, **params)
    return net.pick(TAILS)(net, y)


def filtered_by_inputs(net: Growth, x: str) -> str:
    """A convolution or a transposed one whose filters, and maybe bias, another layer makes."""
    channels, *space = net.shape(x)
    dimensions = {1: "1D", 2: ""}.get(len(space))
    if dimensions is None:
        raise Rejected
    transposed, grouped = net.chance(0.4), net.chance(0.4)
    group = net.pick([g for g in range(1, channels + 1) if channels % g == 0]) if grouped else 1
    outputs, inputs = net.number(1, 3) if grouped else net.pick([1, 4, 16]), channels // group
    kernel = [net.number(1, 3) for _ in space]
    lead = (group * inputs, outputs) if transposed else (group * outputs, inputs)
    filters = net.constant(net.random([*lead, *kernel]) / float(inputs * max(kernel)))
    given = [x, net.one("TanH", filters) if net.chance(0.5) else filters]
    biased = net.number(0, 1)
    if biased:
        given.append(net.constant(net.random([group * outputs])))
    params: dict[str, ParamValue] = {
        "dynamic_weight": 1,
        "bias_term": biased,
        "stride_w": net.number(1, 2),
        "pad_left": net.pick([0, 1, -233]),
        **fused(net),
    }
    if grouped:
        params["group"] = group
    kind = "Deconvolution" if transposed else "Convolution"
    return net.one(f"{kind}{'DepthWise' if grouped else ''}{dimensions}", *given, **params)


def resized(net: Growth, x: str) -> str:
    """A plane of another size, its cells chosen or mixed; by scales maybe of the same one."""
    if len(net.shape(x)) != 3:
        raise Rejected
    sizes: Params = {"output_height": net.number(1, 9), "output_width": net.number(1, 9)}
    if net.chance(0.3) and min(net.shape(x)[1:]) > 1:
        sizes = {f"{side}_scale": net.pick([1.0, 1.1, 1.7, 0.5]) for side in ("height", "width")}
    return net.one(
        "Interp", x, resize_type=net.number(1, 3), align_corner=net.number(0, 1), **sizes
    )


WINDOWS: list[Motif] = [
    *[pooling_of_any_rank, statistics, patches, sampled, filtered_by_inputs],
    *[deformed] * 3,
    resized,
]
