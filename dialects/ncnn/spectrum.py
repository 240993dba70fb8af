"""Spectrograms: signals as spectra of overlapping windows, and back.

A spectrum is a product with the matrix of the discrete Fourier transform,

    X[f] = sum over k of w[k] x[k] e^(-2 pi i f k / n),    x[k] = 1/n sum over f of X[f] e^(...)

with the window w and the norm already in the matrix. Going back, frames are added where they
overlap and divided by the sum of the squares of their windows (Griffin and Lim, 1984), as librosa
does; a place that no window sees is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import Array, Builder, Layer, LayerError, Shape, Tensor, integer, layer
from ncc.dialects.ncnn.movement.padding import CONSTANT, REFLECT, REPLICATE, with_borders
from ncc.dialects.scalar import select
from ncc.dialects.scalar import sqrt as square_root
from ncc.dialects.size import is_equal, is_open

COMPLEX, MAGNITUDE, POWER = 0, 1, 2
"""The result of a Spectrogram."""

REAL, IMAGINARY = 1, 2
"""The result of an InverseSpectrogram, unless it returns both parts."""

BY_LENGTH, BY_WINDOW = 1, 2
"""How a spectrum is normalized: by the root of n_fft, of the sum of the window's squares."""

MOST_POINTS = 1 << 14
"""Values of the longest frame: its matrix takes gigabytes."""


ROWS = 256
"""Rows of a matrix that are computed at a time: in float64 all would take many times its memory."""


def in_parts(rows: int, make: Callable[[Array], Array], axis: int) -> Array:
    """What `make` makes of the numbers of all rows, some at a time, along an axis, in float32."""
    parts = [np.arange(first, min(first + ROWS, rows)) for first in range(0, rows, ROWS)]
    return np.concatenate([make(part).astype(np.float32) for part in parts], axis)


class FourierLayer(Layer):
    """Frames of n_fft values, hoplen apart, seen through a window of winlen in their middle."""

    n_fft = integer(0)
    hoplen = integer(2, "quarter")
    winlen = integer(3, "n_fft")
    window_type = integer(4)
    center = integer(5, 1)
    normalized = integer(7)

    @property
    def quarter(self) -> int:
        return self.n_fft // 4

    def check(self) -> None:
        check_positive(self, ["n_fft", "hoplen", "winlen"])
        if self.winlen > self.n_fft:
            raise LayerError(f"winlen {self.winlen} is more than n_fft {self.n_fft}", "winlen")
        if self.n_fft > MOST_POINTS:
            raise LayerError(f"n_fft is {self.n_fft}, but at most {MOST_POINTS} here", "n_fft")
        check_choice(self, "window_type", range(3))
        check_choice(self, "center", (0, 1))

    @property
    def window(self) -> Array:
        """Ones, Hann's or Hamming's window, periodic, zeros beside it; (n_fft), float64."""
        waves = np.cos(2 * np.pi * np.arange(self.winlen) / self.winlen)
        shape = (np.ones(self.winlen), 0.5 - 0.5 * waves, 0.54 - 0.46 * waves)[self.window_type]
        before = (self.n_fft - self.winlen) // 2
        return np.pad(shape, (before, self.n_fft - self.winlen - before))

    @property
    def norm(self) -> float:
        """The divisor of a spectrum; 0 for a window of zeros, which makes all results NaN."""
        if self.normalized == BY_LENGTH:
            return sqrt(self.n_fft)
        return sqrt(np.square(self.window).sum()) if self.normalized == BY_WINDOW else 1.0

    @property
    def one_side(self) -> int:
        """How many frequencies say all of the spectrum of a real signal."""
        return self.n_fft // 2 + 1

    def roots(self, rows: Array) -> Array:
        """e^(2 pi i f k / n_fft) for some f, or some k, and all of the other; (rows, n_fft)."""
        once = np.asarray(np.exp(2j * np.pi / self.n_fft * np.arange(self.n_fft)))
        return np.asarray(once[np.outer(rows, np.arange(self.n_fft)) % self.n_fft])


@layer("Spectrogram")
class SpectrogramOp(FourierLayer):
    """The spectra of a signal's frames.

    A signal (n) becomes (frequencies, frames, 2) with real and imaginary parts, or, with power 1 or
    2, (frequencies, frames) with their magnitudes or the squares of these. With `center` the signal
    is padded by half a frame on both sides: with zeros, repeated or mirrored (pad_type 0, 1, 2).
    """

    power = integer(1)
    pad_type = integer(6, 2)
    onesided = integer(8, 1)

    def check(self) -> None:
        super().check()
        check_choice(self, "power", range(COMPLEX, POWER + 1))
        check_choice(self, "pad_type", (CONSTANT, REPLICATE, REFLECT))

    @property
    def border(self) -> int:
        """The elements that are added on each side."""
        return self.n_fft // 2 if self.center else 0

    @property
    def frequencies(self) -> int:
        return self.one_side if self.onesided else self.n_fft

    def infer(self, x: Shape) -> Shape:
        if len(x) != 1:
            raise LayerError(f"input {x} is no signal: its rank is not 1")
        if self.pad_type == REFLECT and self.border >= x[0]:
            raise LayerError(f"{x} is too short to be mirrored for {self.border} elements", "n_fft")
        if x[0] + 2 * self.border < self.n_fft:
            raise LayerError(f"{x} is shorter than a frame of {self.n_fft}", "n_fft")
        frames = (x[0] + 2 * self.border - self.n_fft) // self.hoplen + 1
        parts = (2,) if self.power == COMPLEX else ()
        return (self.frequencies, frames, *parts)

    def tables(self, x: Shape) -> int:
        padded = 2 * self.border if self.pad_type != CONSTANT else 0
        return 2 * self.n_fft * self.frequencies + padded

    @property
    def matrix(self) -> Array:
        """The parts of each frequency from the places of a frame: (2, frequencies, n_fft)."""
        window, norm = self.window, self.norm

        def parts(frequencies: Array) -> Array:
            with np.errstate(invalid="ignore"):
                waves = self.roots(frequencies).conj() * window / norm
            return np.stack([waves.real, waves.imag])

        return in_parts(self.frequencies, parts, axis=1)

    def reference(self, x: Array) -> Array:
        modes = {CONSTANT: "constant", REPLICATE: "edge", REFLECT: "reflect"}
        padded = np.pad(x, self.border, mode=modes[self.pad_type])  # type: ignore[call-overload]
        starts = self.hoplen * np.arange(self.infer(x.shape)[1])
        frames = padded[starts[:, None] + np.arange(self.n_fft)] * self.window
        with np.errstate(invalid="ignore"):
            spectra = np.fft.fft(frames).T[: self.frequencies] / self.norm
        if self.power == COMPLEX:
            return np.stack([spectra.real, spectra.imag], axis=-1).astype(x.dtype)
        magnitude = np.abs(spectra)
        return (magnitude if self.power == MAGNITUDE else magnitude**2).astype(x.dtype)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        frequencies, frames, *parts = self.infer(x.shape)
        matrix = b.table(self.matrix.reshape(2 * frequencies, self.n_fft))
        signal = self._expand_padding(b, x)
        t, o, k = b.loops("t o k", t=frames)
        spectra = b.sum((t, o), over=(k,), of=signal[t * self.hoplen + k] * matrix[o, k])
        if parts:
            both = b.expand(spectra, [[0], [1, 2]], (frames, 2, frequencies))
            f, t, c = b.loops_of((frequencies, frames, 2))
            return b.map((f, t, c), both[t, c, f])
        real = b.slice(spectra, (0, 0), (frames, frequencies))
        imaginary = b.slice(spectra, (0, frequencies), (frames, frequencies))
        f, t = b.loops_of((frequencies, frames))
        square = real[t, f] * real[t, f] + imaginary[t, f] * imaginary[t, f]
        return b.map((f, t), square if self.power == POWER else square_root(square))

    def _expand_padding(self, b: Builder, x: Tensor) -> Tensor:
        if self.border == 0:
            return x
        if self.pad_type == CONSTANT:
            return b.pad(x, (self.border,), (self.border,))
        return with_borders(b, x, [(self.border, self.border)], self.pad_type)


@layer("InverseSpectrogram")
class InverseSpectrogramOp(FourierLayer):
    """The signal whose frames have these spectra, (frequencies, frames, 2) with complex parts.

    n_fft / 2 + 1 frequencies are those of a real signal. Returns the complex signal, (n, 2), its
    real part (`returns` 1) or its imaginary part (2), (n). With `center` half a frame is cut off on
    both sides.
    """

    returns = integer(1)

    def check(self) -> None:
        super().check()
        check_choice(self, "returns", range(IMAGINARY + 1))

    @property
    def border(self) -> int:
        """The elements that are cut off on each side."""
        return self.n_fft // 2 if self.center else 0

    @property
    def components(self) -> int:
        return 1 if self.returns else 2

    @property
    def overlap(self) -> int:
        """The hops that a frame reaches into."""
        return -(-self.n_fft // self.hoplen)

    def length(self, frames: int) -> int:
        """The extent of the signal."""
        return (frames - 1) * self.hoplen + self.n_fft - 2 * self.border

    def infer(self, x: Shape) -> Shape:
        whole = (self.one_side, self.n_fft)
        if len(x) != 3 or not is_equal(x[2], 2) or not any(is_equal(x[0], n) for n in whole):
            raise LayerError(
                f"input {x} is not ({self.one_side} or {self.n_fft} frequencies, frames, 2)"
            )
        length = self.length(x[1])
        if length == 0:
            raise LayerError(f"nothing is left of {x[1]} frames without their borders", "center")
        return (length,) if self.returns else (length, 2)

    def tables(self, x: Shape) -> int:
        whole = 0 if is_open(x[1]) else self.length(x[1]) + 2 * self.border
        rows = self.overlap * self.hoplen
        return whole + 2 * self.components * rows * x[0]

    def weights_of(self, frames: int) -> Array:
        """The sum of the squares of the windows at each place of the signal; 1 where it is 0."""
        hop, overlap = self.hoplen, self.overlap
        window = np.pad(np.square(self.window), (0, overlap * hop - self.n_fft))
        squares = np.zeros((frames + overlap - 1, hop))
        for shift in reversed(range(overlap)):  # the earliest frame that sees a place first
            squares[shift : shift + frames] += window[shift * hop :][:hop]
        kept: Array = squares.reshape(-1)[self.border :][: self.length(frames)]
        return np.where(kept == 0, 1, kept)

    def reference(self, x: Array) -> Array:
        frames = x.shape[1]
        spectra = x[..., 0].astype(np.float64) + 1j * x[..., 1]
        if len(x) == self.one_side:
            mirrored = spectra[1 : self.n_fft - self.one_side + 1][::-1].conj()
            spectra = np.concatenate([spectra, mirrored])
        pieces = np.fft.ifft(spectra, axis=0) * self.norm * self.window[:, None]
        whole = np.zeros((frames - 1) * self.hoplen + self.n_fft, np.complex128)
        for frame in range(frames):
            whole[frame * self.hoplen :][: self.n_fft] += pieces[:, frame]
        y = whole[self.border :][: self.length(frames)] / self.weights_of(frames)
        both = np.stack([y.real, y.imag], axis=-1).astype(x.dtype)
        return both[:, self.returns - 1] if self.returns else both

    def matrix(self, frequencies: int) -> Array:
        """Components of each place of a frame from the parts of each frequency.

        (components, n_fft, frequencies, 2). Frequencies that are not given are the conjugates of
        those that mirror them.
        """
        factors = self.window * self.norm / self.n_fft
        mirrored = self.n_fft - frequencies

        def components(places: Array) -> Array:
            waves = self.roots(places) * factors[places, None]
            parts = np.stack([waves, 1j * waves], axis=-1)  # of 1 and of i at each frequency
            given = parts[:, :frequencies].copy()
            given[:, 1 : mirrored + 1] += (parts[:, frequencies:] * [1, -1])[:, ::-1]
            both = np.stack([given.real, given.imag])
            return both[self.returns - 1 : self.returns] if self.returns else both

        return in_parts(self.n_fft, components, axis=1)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        frequencies, frames, _ = x.shape
        hop, overlap = self.hoplen, self.overlap
        matrix = self._in_hops(self.matrix(frequencies), overlap)
        pieces = self._expand_frames(b, x, b.table(matrix))
        pieces = b.pad(pieces, (overlap - 1, 0, 0, 0), (overlap - 1, 0, 0, 0))
        hops = frames + overlap - 1
        r, m, q, w = b.loops_of((self.components, hops, hop, overlap))
        added = b.sum((r, m, q), over=(w,), of=pieces[m + w, r, w, q])
        whole = b.collapse(added, [[0], [1, 2]])
        length = self.length(frames)
        kept = b.slice(whole, (0, self.border), (self.components, length))
        weights = self._expand_weights(b, frames)
        p, c = b.loops_of((length, self.components))
        y = b.map((p, c), kept[c, p] / weights[p])
        return b.collapse(y, [[0, 1]]) if self.returns else y

    def _expand_weights(self, b: Builder, frames: int) -> Tensor:
        """What `weights_of` says; the run adds the squares where it tells how many frames."""
        if not is_open(frames):
            return b.table(self.weights_of(frames))
        more = self.overlap - 1
        squares = self._in_hops(np.square(self.window)[None, :, None, None], self.overlap)
        table = b.table(squares.reshape(self.overlap, self.hoplen))
        ones = b.pad(b.map(b.loops_of((frames,)), 1.0), (more,), (more,))
        m, q, w = b.loops_of((frames + more, self.hoplen, self.overlap))
        sums = b.sum((m, q), over=(w,), of=ones[m + w] * table[w, q])
        kept = b.slice(b.collapse(sums, [[0, 1]]), (self.border,), (self.length(frames),))
        (p,) = b.loops_of(kept.shape)
        return b.map((p,), select(kept[p] > 0.0, kept[p], 1.0))

    def _in_hops(self, matrix: Array, overlap: int) -> Array:
        """The rows of a matrix by hop, the last hop of a frame first, zeros where it is short.

        (components * overlap * hoplen, frequencies, 2).
        """
        components, _, *columns = matrix.shape
        rest = overlap * self.hoplen - self.n_fft
        padded = np.pad(matrix, [(0, 0), (0, rest), (0, 0), (0, 0)])
        hops = padded.reshape(components, overlap, self.hoplen, *columns)[:, ::-1]
        return hops.reshape(components * overlap * self.hoplen, *columns)

    def _expand_frames(self, b: Builder, x: Tensor, matrix: Tensor) -> Tensor:
        """The hops of each frame: (frames, components, overlap, hoplen)."""
        frames = x.shape[1]
        loops: list[AffineExpr] = b.loops("t o f c", t=frames)
        t, o, f, c = loops
        rows = b.sum((t, o), over=(f, c), of=x[f, t, c] * matrix[o, f, c])
        overlap = matrix.shape[0] // (self.components * self.hoplen)
        shape = (frames, self.components, overlap, self.hoplen)
        return b.expand(rows, [[0], [1, 2, 3]], shape)
