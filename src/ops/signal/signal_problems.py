"""Problems of signals."""

from __future__ import annotations

import numpy as np

from draw import array, chance, i64, makes, maybe_constant, pick, shape
from numpy_judges import judges
from problem import Problem, batch_axes
from tolerances import LARGEST, ONE, held_to, sized
from versions import form


@makes("STFT")
def stft(op, rng):
    length, frame = int(rng.integers(4, 20)), int(rng.integers(1, 5))
    signal = array(rng, pick(rng, [np.float32, np.float64]), (int(rng.integers(1, 3)), length, 1), 0)
    window = array(rng, signal.dtype, (frame,), 0) if chance(rng, 0.5) else None
    return Problem(op, [signal, i64(int(rng.integers(1, 4))), window, i64(frame)], {"onesided": int(rng.integers(2))}, opset=17, constant=(1, 3))


@makes("MelWeightMatrix")
def mel(op, rng):
    length = int(rng.integers(8, 40))
    numbers = [i64(int(rng.integers(1, 8))), i64(length), i64(8000), np.float32(rng.uniform(0, 500)), np.float32(rng.uniform(1000, 3500))]
    return Problem(op, [np.asarray(v) for v in numbers], {}, opset=17, constant=maybe_constant(rng, 0, 1, 2))


@makes("DFT")
def dft(op, rng):
    s = (*shape(rng, 1, 3, 0, 7), pick(rng, [1, 2]))
    axis = int(rng.integers(0, len(s) - 1))
    inverse = int(rng.integers(2))
    attributes = {"inverse": inverse, "onesided": int(s[-1] == 1 and not inverse and chance(rng, 0.5))}
    return Problem(op, [array(rng, np.float32, s, 0), None, i64(axis)], attributes, opset=20, constant=(2,))


@makes("HannWindow", "HammingWindow", "BlackmanWindow")
def windows(op, rng):
    return Problem(op, [i64(int(rng.integers(1, 9)))], {"periodic": int(rng.integers(2))}, opset=17, constant=maybe_constant(rng, 0))


batch_axes("STFT", (0, 0))


@form("DFT")
def axis_as_an_attribute(q, since):
    if since < 20:
        q.attributes["axis"] = int(q.inputs.pop())


@judges("DFT")
def judge_of_dft(p):
    """The last axis holds a number or the two parts of one."""
    x, length, axis = p.inputs[0].astype(np.float64), p.inputs[1], int(p.inputs[2])
    if not np.isfinite(x).all():
        raise NotImplementedError("a fast transform spreads NaN and infinities otherwise than a slow one")
    z = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
    axis = axis if axis >= 0 else axis + x.ndim
    n = z.shape[axis] if length is None else int(length)
    if p.attributes.get("onesided"):
        z = np.fft.rfft(z, n, axis)
    else:
        z = (np.fft.ifft if p.attributes.get("inverse") else np.fft.fft)(z, n, axis)
    return [np.stack([z.real, z.imag], -1)]


sized(LARGEST, "DFT STFT")
sized(ONE, "BlackmanWindow HammingWindow HannWindow")
held_to(0, "MelWeightMatrix")
held_to(2, "BlackmanWindow HammingWindow HannWindow")
held_to(8, "STFT")
held_to(16, "DFT")
