// The gates of recurrent cells for one instruction set. Included by for_each_isa.h only.

/// Both parts of a gate, within the bounds; bounds of infinity change nothing.
LATHE_INLINE Vec gate(const GateStep& s, int64_t at, int64_t n, Vec bound) {
  return min(bound, max(negate(bound), load_first(s.x + at, n) + load_first(s.r + at, n)));
}
LATHE_INLINE Vec bound_of(const GateStep& s) {
  return set(s.clip > 0 ? s.clip : std::numeric_limits<float>::infinity());
}
LATHE_INLINE void put_state(const GateStep& s, int64_t i, Vec h, int64_t n) {
  store_first(s.h + i, h, n);
  if (s.y) store_first(s.y + i, h, n);
}
LATHE_INLINE int64_t lanes_at(const GateStep& s, int64_t i) {
  return s.hidden - i < Vec::width ? s.hidden - i : Vec::width;
}

/// Gates in the order input, output, forget, cell.
void lstm(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.hidden; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    const Vec in = sigmoid(gate(s, i, n, bound)), out = sigmoid(gate(s, s.hidden + i, n, bound));
    const Vec forget = sigmoid(gate(s, 2 * s.hidden + i, n, bound)),
              candidate = tanh(gate(s, 3 * s.hidden + i, n, bound));
    const Vec cell = fma(forget, load_first(s.c + i, n), in * candidate);
    store_first(s.c + i, cell, n);
    put_state(s, i, out * tanh(cell), n);
  }
}

/// Gates in the order update, reset, hidden.
void gru_reset(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.hidden; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    store_first(s.y + i, sigmoid(gate(s, s.hidden + i, n, bound)) * load_first(s.h + i, n), n);
  }
}

template <bool Linear>
void gru(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.hidden; i += Vec::width) {
    const int64_t n = lanes_at(s, i), at = 2 * s.hidden + i;
    const Vec update = sigmoid(gate(s, i, n, bound)), h = load_first(s.h + i, n);
    const Vec reset = Linear ? sigmoid(gate(s, s.hidden + i, n, bound)) : set(1.0f);
    const Vec candidate =
        tanh(min(bound, max(negate(bound), fma(reset, load_first(s.r + at, n), load_first(s.x + at, n)))));
    put_state(s, i, fma(update, h - candidate, candidate), n);
  }
}

constexpr RecurrentKernels table{
    .lstm = lstm, .gru_reset = gru_reset, .gru = gru<false>, .gru_linear = gru<true>};
