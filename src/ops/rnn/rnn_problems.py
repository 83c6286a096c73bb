"""Problems of LSTM, GRU and RNN."""

from __future__ import annotations

import numpy as np

from draw import array, chance, makes, maybe_constant, pick
from known import attribute, differs, given, not_finite
from problem import ORT, REFERENCE, Problem, batch_axes, not_asked, rare_numbers
from tolerances import ONE, held_to, sized
from versions import form


@makes("LSTM", "GRU", "RNN")
def recurrent(op, rng):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    t, b, i, h = (int(rng.integers(1, 5)) for _ in range(4))
    direction = pick(rng, ["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    attributes = {"hidden_size": h, "direction": direction}
    if op == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    if chance(rng, 0.2):
        attributes["clip"] = 0.5
    f = lambda *s: array(rng, np.float32, s, 0, -1, 1)  # noqa: E731
    given = [f(t, b, i), f(d, gates * h, i), f(d, gates * h, h)]
    given.append(f(d, 2 * gates * h) if chance(rng, 0.6) else None)
    given.append(rng.integers(0 if chance(rng, 0.2) else 1, t + 1, b).astype(np.int32) if chance(rng, 0.5) else None)
    given.append(f(d, b, h) if chance(rng, 0.5) else None)
    if op == "LSTM":
        given.append(f(d, b, h) if chance(rng, 0.5) else None)
        given.append(f(d, 3 * h) if chance(rng, 0.3) else None)
        attributes["input_forget"] = int(chance(rng, 0.2))
    return Problem(op, given, attributes, 3 if op == "LSTM" else 2, 14, maybe_constant(rng, 1, 2))


rare_numbers("LSTM GRU RNN")
batch_axes("LSTM GRU RNN", (0, 1), (4, 0), (5, 1), (6, 1))
not_asked(ORT, "LSTM GRU RNN", lambda p: p.inputs[0].size == 0)  # it ends the process


@form("LSTM", "GRU", "RNN")
def all_steps_are_wanted(q, since):
    if since < 7:
        q.attributes["output_sequence"] = 1


sized(ONE, "GRU LSTM RNN")
held_to(4, "GRU LSTM RNN")

differs("LSTM GRU RNN", ORT, "NaN or infinities", not_finite, "cuts what activations are given to a range, NaN too")
differs("LSTM GRU RNN", ORT, "a sequence of length 0", lambda p: given(p, 4) and 0 in p.inputs[4],
        "its last state is 0; here it is the initial state, as in TensorFlow")  # fmt: skip
differs("LSTM GRU RNN", REFERENCE, "sequence_lens, clip, a direction, peepholes or input_forget", lambda p: given(p, 4) or given(p, 7) or "clip" in p.attributes or p.attributes["direction"] != "forward" or attribute(p, "input_forget"),
        "ignores them in part")  # fmt: skip
