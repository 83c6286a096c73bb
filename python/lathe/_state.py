"""States: values that live from one run of an engine to the next, in memory of the caller."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

from lathe import _lathe
from lathe._values import from_value, to_value


class State:
    """A tensor that runs read and change where it is: keys and values of a decoder, the hidden state of a recurrent layer.
    `Engine.create_states` makes the states of an engine that was built with `states`, and `Context.bind_states` binds
    them. One that grows along an axis has address space for its capacity, and takes memory as it grows. One run at a
    time may use it, and nothing else meanwhile. TensorRT-LLM: KVCacheManager."""

    def __init__(self, state: _lathe.State):
        self._state = state

    @staticmethod
    def load(path: Union[str, "os.PathLike[str]"]) -> "State":
        """Reads what `save` wrote. Raises `lathe.Error`: E10xx where the file cannot be read, E5006 (state_malformed)."""
        return State(_lathe.State.load(os.fspath(path)))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes shape, capacity and elements into a file. Raises `lathe.Error` E1004 (file_write_failed)."""
        self._state.save(os.fspath(path))

    def copy(self) -> "State":
        """Returns a state of its own with the same elements and capacity: the fork of a sequence."""
        return State(self._state.copy())

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> "State":
        return self.copy()

    @property
    def dtype(self) -> str:
        """The element type, "float32"."""
        return self._state.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes now."""
        return self._state.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The number of elements from one index of each axis to the next in its memory."""
        return self._state.strides

    @property
    def axis(self) -> Optional[int]:
        """The axis that grows; None if none does."""
        return None if self._state.axis < 0 else self._state.axis

    @property
    def length(self) -> int:
        """The size along the axis that grows; 0 if none does."""
        return self._state.length

    @property
    def block(self) -> int:
        """The number of indices along the axis that a block of its memory has; 0: its memory is in one piece."""
        return self._state.block

    @property
    def capacity(self) -> int:
        """The greatest length; 0 if no axis grows."""
        return self._state.capacity

    @property
    def nbytes(self) -> int:
        """The bytes that its elements take now."""
        return self._state.nbytes

    def numpy(self) -> Any:
        """Returns a dense copy as a NumPy array."""
        return from_value(self._state.tensor())

    def assign(self, array: Any) -> None:
        """Takes the elements of an array of its type, whose sizes may differ along the axis that grows only.
        Raises `lathe.Error` E6001 (bad_argument) for another type or shape, E4106 (run_state_full) for a greater length."""
        self._state.assign(to_value(array))

    def rewind(self, length: int) -> None:
        """Forgets what is beyond this length. Raises `lathe.Error` E6001 (bad_argument) for one that it does not have, or
        if no axis grows."""
        self._state.rewind(length)

    def clear(self) -> None:
        """Makes it empty if it grows, and zeros otherwise; its memory goes back to the system."""
        self._state.clear()

    def __repr__(self) -> str:
        grows = f", axis {self.axis} up to {self.capacity}" if self.axis is not None else ""
        return f"<lathe.State {self.dtype}{list(self.shape)}{grows}>"
