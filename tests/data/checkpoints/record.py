"""Records the .pt files beside it. Needs torch (1.13 wrote those that are kept): record.py"""

import pathlib

import torch

HERE = pathlib.Path(__file__).parent


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(5, 4)
        self.norm = torch.nn.LayerNorm(4)
        self.head = torch.nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("positions", torch.arange(6).expand(1, -1))
        with torch.no_grad():
            self.embed.weight.copy_(torch.arange(20.0).reshape(5, 4) / 8)


def main():
    torch.save(Tied().state_dict(), HERE / "state_dict.pt")
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    kinds = {
        "float32": base[:2, :3].clone(),
        "float64": torch.tensor([0.5, -1e300], dtype=torch.float64),
        "float16": torch.tensor([1.5, -2, 65504], dtype=torch.float16),
        "bfloat16": torch.tensor([1.5, -2, 3e38], dtype=torch.bfloat16),
        "int64": torch.tensor([[1, -(2**62)]]),
        "int32": torch.tensor([7, -7], dtype=torch.int32),
        "int16": torch.tensor([300, -300], dtype=torch.int16),
        "int8": torch.tensor([-128, 127], dtype=torch.int8),
        "uint8": torch.tensor([0, 255], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "complex64": torch.tensor([1 + 2j]),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "views": {
            "whole": base,
            "transposed": base.T,
            "columns": base[:, 1:5:2],
            "row": base[2],
            "expanded": base[0, :1].expand(2, 3),
        },
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "list": [torch.tensor([1.0]), {"inner": torch.tensor([2.0])}],
        "epoch": 3,
        "rate": 1e-4,
        "big": 1 << 80,
        "note": "ein Käse",
        "nothing": None,
    }
    torch.save(kinds, HERE / "kinds.pt")
    torch.save(kinds, HERE / "kinds_protocol4.pt", pickle_protocol=4)
    torch.save({"weight": torch.ones(2)}, HERE / "old_format.pt", _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Linear(2, 2), HERE / "module.pt")


if __name__ == "__main__":
    main()
