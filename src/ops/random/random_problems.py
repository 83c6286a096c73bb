"""Problems of random numbers."""

from __future__ import annotations

from draw import elsewhere

# Nobody draws the same numbers.
elsewhere("test_random.py", "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
