"""Problems of com.microsoft."""

from __future__ import annotations

import lathe
from draw import elsewhere

elsewhere("test_microsoft_operators.py test_microsoft_attention.py",
          *(op["name"] for op in lathe.operators() if op["domain"] == "com.microsoft"), "SimplifiedLayerNormalization")  # fmt: skip
