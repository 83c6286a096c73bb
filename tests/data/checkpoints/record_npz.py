"""Records the .npz files beside it. Needs numpy: record_npz.py"""

import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent


def main():
    i = np.arange(1000)
    arrays = {
        "ramp": i.astype(np.int16).reshape(10, 100),  # dynamic codes
        "few": np.array([1.5, -2], np.float32),  # fixed codes
        "zeros": np.zeros((64, 64), np.float64),  # long runs
        "noise": (i * i * 2654435761 % 4294967291 % 251).astype(np.uint8),  # nearly nothing to gain
        "fortran": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        "big_endian": np.array([1, 2, 3], ">i4"),
        "scalar": np.float64(2.5),
        "empty": np.zeros((0, 3), np.float32),
    }
    np.savez_compressed(HERE / "compressed.npz", **arrays)
    np.savez(HERE / "stored.npz", **{k: arrays[k] for k in ("few", "fortran", "big_endian", "scalar", "empty")})


if __name__ == "__main__":
    main()
