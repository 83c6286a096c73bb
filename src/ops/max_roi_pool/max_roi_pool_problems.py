"""Problems of MaxRoiPool."""

from __future__ import annotations

import numpy as np

from draw import array, makes, pick
from known import differs, has_nan
from numpy_judges import judges
from problem import ORT, Problem, rare_numbers


@makes("MaxRoiPool")
def max_roi_pool(op, rng):
    n, c, h, w = (int(rng.integers(1, 6)) for _ in range(4))
    boxes = np.sort(rng.integers(0, 6, (3, 2, 2)), axis=1).reshape(3, 4).astype(np.float32)
    rois = np.concatenate([rng.integers(0, n, (3, 1)).astype(np.float32), boxes], 1)
    return Problem(op, [array(rng, np.float32, (n, c, h, w), 0), rois], {"pooled_shape": [2, int(rng.integers(1, 4))], "spatial_scale": float(pick(rng, [1.0, 0.5]))}, opset=pick(rng, [21, 22]))


rare_numbers("MaxRoiPool")


@judges("MaxRoiPool")
def judge_of_max_roi_pool(p):
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


differs("MaxRoiPool", ORT, "NaN", has_nan, "NaN comes out or not, as the order has it; here it does, as in NumPy")
differs("MaxRoiPool", ORT, "-infinity", lambda p: bool(np.isneginf(p.inputs[0].astype(np.float64)).any()), "begins with the lowest finite number")
