"""Problems of Gradient."""

from __future__ import annotations

from draw import elsewhere

elsewhere("test_gradient.py", "Gradient")  # against differences of values
