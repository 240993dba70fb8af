"""Motifs of sequences and signals: recurrent layers, scans, spectra, attention."""

from __future__ import annotations

from ncc.dialects.ncnn.layer import ParamValue
from tests.networks.random_growth import Growth, Motif, Rejected
from tests.networks.random_motifs import binary_with_scalar

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(net: Growth, x: str) -> str:
    """A recurrent layer, and now and then a second one that goes on where it ends."""
    if len(net.shape(x)) != 2:
        raise Rejected
    type = net.pick(list(GATES))
    outputs, direction = net.pick([1, 5, 8, 16]), net.number(0, 2)
    hidden = net.pick([outputs, 6]) if type == "LSTM" else outputs
    rows = GATES[type] * hidden * (2 if direction == 2 else 1)
    params: dict[str, ParamValue] = {
        "num_output": outputs,
        "weight_data_size": rows * net.shape(x)[1],
        "direction": direction,
    }
    if hidden != outputs:
        params["hidden_size"] = hidden
    if net.chance(0.5):
        return net.one(type, x, **params)
    count = 3 if type == "LSTM" else 2
    y, *states = net.add(type, (x,), params, outputs=count)
    params["weight_data_size"] = rows * net.shape(y)[1]
    return net.add(type, (y, *states), params, outputs=net.pick([1, count]))[0]


def scanned(net: Growth, x: str) -> str:
    """Along any axis; now and then of one column alone."""
    axis = net.number(-1, len(net.shape(x)) - 1)
    if net.shape(x)[-1] > 1 and net.chance(0.3):
        cut: dict[str, ParamValue] = {"slices": (1, -233), "axis": -1}
        column, _ = net.add("Slice", (x,), cut, outputs=2)
        return net.one("CumulativeSum", column, axis=axis)
    return net.one(net.pick(["CumulativeSum", "GLU"]), x, axis=axis)


def spectrum(net: Growth, x: str) -> str:
    """A spectrogram; where it keeps the phases, maybe the way back."""
    if len(net.shape(x)) != 1:
        raise Rejected
    halo: dict[str, ParamValue] = {
        "n_fft": net.pick([4, 5, 8]),
        "hoplen": net.number(1, 3),
        "window_type": net.pick([0, 2]),
        "center": net.number(0, 1),
        "normalized": net.number(0, 2),
    }
    power = net.pick([0, 0, 1, 2])
    given = {"pad_type": net.number(0, 2), "onesided": net.number(0, 1)}
    y = net.one("Spectrogram", x, **halo, **given, power=power)
    if power or net.chance(0.3):
        return y
    return net.one("InverseSpectrogram", y, **halo, returns=net.number(0, 2))


def attention(net: Growth, x: str) -> str:
    """Heads that ask others of their shape, and maybe are turned before."""
    if len(net.shape(x)) != 3:
        raise Rejected
    heads, rows, features = net.shape(x)
    if features % 2 == 0 and net.chance(0.5):
        turns = [net.constant(net.random((rows, features // 2))) for _ in range(2)]
        x = net.one("RotaryEmbed", x, *turns, interleaved=net.number(0, 1))
    scale = net.pick([0.0, 0.0, 0.5])
    if net.chance(0.3):
        mask = net.constant(net.random(net.pick([(rows, rows), (heads, rows, rows)])))
        return net.one("SDPA", x, net.like(x), net.like(x), mask, attn_mask=1, scale=scale)
    return net.one("SDPA", x, net.like(x), net.like(x), scale=scale)


def written_attention(net: Growth, x: str) -> str:
    """The same as layers of its own, which may be along the queries instead, or read by others."""
    if len(net.shape(x)) != 3:
        raise Rejected
    heads, rows, _ = net.shape(x)
    scores = [net.one("MatMul", x, net.like(x), transB=1)]
    if net.chance(0.5):
        scores.append(binary_with_scalar(net, scores[-1]))
    if net.chance(0.5):
        mask = net.constant(net.random((net.pick([1, heads]), rows, rows)))
        scores.append(net.one("BinaryOp", scores[-1], mask, op_type=0))
    scores.append(net.one("Softmax", scores[-1], axis=net.pick([2, 2, -1, 1]), fixbug0=1))
    y = net.one("MatMul", scores[-1], net.like(x))
    if net.chance(0.8):
        for blob in scores:
            del net.values[blob]
    return y


SEQUENCES: list[Motif] = [
    *(recurrent, recurrent, scanned, spectrum, spectrum),
    *(attention, written_attention),
]
