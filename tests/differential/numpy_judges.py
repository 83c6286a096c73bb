"""What the others do not run, or run wrongly, by NumPy in float64 from the words of the standard."""

from __future__ import annotations

import numpy as np

ALL = {}


def judges(*names):
    def register(f):
        ALL.update(dict.fromkeys(names, f))
        return f

    return register


def run(p):
    """Outputs in the first input's type, those of maps in float; None where there is no judge."""
    if p.op not in ALL:
        return None
    with np.errstate(all="ignore"):
        given = p.inputs[0]
        return [np.asarray(y).astype(np.float32 if isinstance(given, dict) else given.dtype) for y in ALL[p.op](p)]


@judges("LRN")
def lrn(p):
    """Squares of the channels around, from floor((size - 1) / 2) before to ceil((size - 1) / 2) behind."""
    x, size = p.inputs[0].astype(np.float64), p.attributes["size"]
    alpha, beta, bias = (p.attributes.get(name, default) for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    squares = np.zeros_like(x)
    for c in range(x.shape[1]):
        squares[:, c] = (x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1] ** 2).sum(axis=1)
    return [x / (bias + alpha / size * squares) ** beta]


@judges("GlobalLpPool")
def global_lp_pool(p):
    x, power = p.inputs[0].astype(np.float64), p.attributes.get("p", 2)
    return [(np.abs(x) ** power).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / power)]


@judges("MaxRoiPool")
def max_roi_pool(p):
    """As Fast R-CNN has it: corners round to pixels, the last ones belong to the region, places overlap; of none it is 0."""
    x, rois = p.inputs[0].astype(np.float64), p.inputs[1].astype(np.float64)
    height, width = p.attributes["pooled_shape"]
    y = np.zeros((len(rois), x.shape[1], height, width))
    for r, roi in enumerate(rois):
        left, top, right, bottom = (int(np.floor(np.abs(v) + 0.5) * np.sign(v)) for v in roi[1:] * p.attributes.get("spatial_scale", 1.0))
        steps = max(bottom - top + 1, 1) / height, max(right - left + 1, 1) / width
        for i in range(height):
            for j in range(width):
                rows = [min(max(int(v) + top, 0), x.shape[2]) for v in (np.floor(i * steps[0]), np.ceil((i + 1) * steps[0]))]
                columns = [min(max(int(v) + left, 0), x.shape[3]) for v in (np.floor(j * steps[1]), np.ceil((j + 1) * steps[1]))]
                patch = x[int(roi[0]), :, rows[0] : rows[1], columns[0] : columns[1]]
                if patch.size:
                    y[r, :, i, j] = patch.max(axis=(1, 2))
    return [y]


@judges("SwiGLU")
def swiglu(p):
    a, b = (v.astype(np.float64) for v in p.inputs)
    return [a / (1 + np.exp(-p.attributes.get("alpha", 1.0) * a)) * b]


@judges("DFT")
def dft(p):
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


@judges("DictVectorizer")
def dict_vectorizer(p):
    """One row, a column for each word; 0 where the map has none."""
    (words,) = p.attributes.values()
    return [[[p.inputs[0].get(word, 0) for word in words]]]
