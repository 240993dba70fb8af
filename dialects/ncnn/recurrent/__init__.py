"""Recurrent layers: RNN, LSTM and GRU."""

from ncc.dialects.ncnn.recurrent import recurrent as recurrent
