"""OnnxRuntimeBackendRep is a prepared model."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.backend.base import BackendRep

from lathe.compat.onnxruntime import InferenceSession, RunOptions

_ALLOWED_RUN_OPTIONS = frozenset({"log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches"})


def set_options(options: Any, given: dict[str, Any], allowed: frozenset[str]) -> None:
    """Sets the options that are allowed, ignores unknown names, and refuses the others as onnxruntime does."""
    for name, value in given.items():
        if name in allowed:
            setattr(options, name, value)
        elif hasattr(options, name):
            raise RuntimeError(
                f"{type(options).__name__} attribute '{name}' is not permitted via the backend API. "
                f"Allowed attributes: {', '.join(sorted(allowed))}"
            )


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value


class OnnxRuntimeBackendRep(BackendRep):
    """onnxruntime.backend.backend_rep.OnnxRuntimeBackendRep: a session that runs on lists of inputs."""

    def __init__(self, session: InferenceSession):
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """Runs once and returns a list of outputs, as onnxruntime's OnnxRuntimeBackendRep.run.
        Inputs are a list in the model's order, or the only one as it is."""
        options = RunOptions()
        set_options(options, kwargs, _ALLOWED_RUN_OPTIONS)
        names = [io.name for io in self._session.get_inputs()]
        if not isinstance(inputs, list):
            if len(names) != 1:
                raise RuntimeError(f"Model expect {len(names)} inputs")
            inputs = [inputs]
        return self._session.run(None, {name: _array(inputs[i]) for i, name in enumerate(names)}, options)
