"""Attributes of windows: of convolutions and pools."""

from __future__ import annotations

from draw import chance, pick


def spatial(rng):
    rank = int(rng.integers(1, 4))
    sizes = [int(rng.integers(1, 9)) for _ in range(rank)]
    return rank, sizes


def window(rng, rank, sizes, dilated=True):
    """Attributes that leave at least one place for the window."""
    kernel = [int(rng.integers(1, 5)) for _ in range(rank)]
    attributes = {"kernel_shape": kernel}
    if chance(rng, 0.7):
        attributes["strides"] = [int(rng.integers(1, 4)) for _ in range(rank)]
    if dilated and chance(rng, 0.4):
        attributes["dilations"] = [int(rng.integers(1, 3)) for _ in range(rank)]
    how = pick(rng, ["pads", "none", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if how == "pads":
        attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    elif how != "none":
        attributes["auto_pad"] = how
    for i in range(rank):
        d = attributes.get("dilations", [1] * rank)[i]
        sizes[i] = max(sizes[i], (kernel[i] - 1) * d + 1)
    return attributes
