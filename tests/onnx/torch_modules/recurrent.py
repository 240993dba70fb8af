"""LSTM, GRU and RNN, whole and step by step."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.onnx.torch_modules.registry import module, param, rand


@module(rand(5, 1, 4), net=nn.LSTM(4, 6))
def lstm(m: Any, x: Any) -> Any:
    y, (h, c) = m.net(x)
    return y, h, c


@module(rand(2, 5, 4), net=nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True))
def deep_lstm(m: Any, x: Any) -> Any:
    return m.net(x)[0]


@module(rand(5, 1, 4), rand(1, 1, 6), rand(1, 1, 6), net=nn.LSTM(4, 6))
def lstm_with_states(m: Any, x: Any, h: Any, c: Any) -> Any:
    return m.net(x, (h, c))


@module(rand(5, 1, 4), net=nn.GRU(4, 6))
def gru(m: Any, x: Any) -> Any:
    return m.net(x)


@module(rand(2, 6, 4), net=nn.GRU(4, 3, bidirectional=True, batch_first=True), head=nn.Linear(6, 2))
def gru_both_ways(m: Any, x: Any) -> Any:
    return m.head(m.net(x)[0])


@module(rand(4, 1, 3), net=nn.RNN(3, 5, nonlinearity="relu"), tanh=nn.RNN(3, 5, bias=False))
def rnns(m: Any, x: Any) -> Any:
    return m.net(x)[0] + m.tanh(x)[0]


@module(rand(4, 2, 3), cell=nn.LSTMCell(3, 5), gru=nn.GRUCell(5, 5))
def cells(m: Any, x: Any) -> Any:
    h = c = g = torch.zeros(2, 5)
    for row in x.unbind(0):
        h, c = m.cell(row, (h, c))
        g = m.gru(h, g)
    return g


@module(rand(1, 8, 4), w=param(4), u=param(4))
def mixed_over_time(m: Any, x: Any) -> Any:
    """RWKV's: a state that decays."""
    state, rows = torch.zeros(1, 4), []
    for t in range(x.shape[1]):
        state = torch.exp(-torch.exp(m.w)) * state + x[:, t]
        rows.append(state * torch.sigmoid(m.u))
    return torch.stack(rows, 1)
