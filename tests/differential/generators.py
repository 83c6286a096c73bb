"""One generator per operator (families share one): a random problem at the edges of what the operator allows."""

import of_elements  # noqa: F401  (each enters its generators)
import of_features  # noqa: F401
import of_graphs  # noqa: F401
import of_layers  # noqa: F401
import of_models  # noqa: F401
import of_movement  # noqa: F401
import of_others  # noqa: F401
from draw import ALL

__all__ = ["ALL"]
