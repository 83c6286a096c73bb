// The gates of recurrent cells for one instruction set. Included by for_each_isa.h only.

LATHE_INLINE Vec within(Vec x, Vec bound) { return min(bound, max(negate(bound), x)); }
LATHE_INLINE Vec both_parts(const GateStep& s, int64_t at, int64_t n) {
  return load_first(s.x + at, n) + load_first(s.r + at, n);
}
/// Both parts of a gate, within the bounds; bounds of infinity change nothing.
LATHE_INLINE Vec gate(const GateStep& s, int64_t at, int64_t n, Vec bound) {
  return within(both_parts(s, at, n), bound);
}
/// The same of a gate that sees the cell's state too.
template <bool Peeps>
LATHE_INLINE Vec gate(const GateStep& s, int64_t at, int64_t n, Vec bound, Vec cell) {
  Vec x = both_parts(s, at, n);
  if constexpr (Peeps) x = fma(load_first(s.peepholes + at, n), cell, x);
  return within(x, bound);
}
LATHE_INLINE Vec bound_of(const GateStep& s) {
  return set(s.clip > 0 ? s.clip : std::numeric_limits<float>::infinity());
}
template <bool Hard>
LATHE_INLINE Vec open(const GateStep& s, Vec x) {
  return Hard ? min(set(1.0f), max(zero(), fma(set(s.slope), x, set(s.offset)))) : sigmoid(x);
}
LATHE_INLINE void put_state(const GateStep& s, int64_t i, Vec h, int64_t n) {
  store_first(s.h + i, h, n);
  if (s.y) store_first(s.y + i, h, n);
}
LATHE_INLINE int64_t lanes_at(const GateStep& s, int64_t i) {
  return s.units - i < Vec::width ? s.units - i : Vec::width;
}

/// Gates in the order input, output, forget, cell.
template <bool Hard, bool Peeps>
void lstm(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    const Vec before = load_first(s.c + i, n), in = open<Hard>(s, gate<Peeps>(s, i, n, bound, before));
    const Vec forget = open<Hard>(s, gate<Peeps>(s, 2 * s.hidden + i, n, bound, before)),
              candidate = tanh(gate(s, 3 * s.hidden + i, n, bound));
    const Vec cell = fma(forget, before, in * candidate);
    const Vec out = open<Hard>(s, gate<Peeps>(s, s.hidden + i, n, bound, cell));
    store_first(s.c + i, cell, n);
    put_state(s, i, out * tanh(cell), n);
  }
}

/// Gates in the order update, reset, hidden.
template <bool Hard>
void gru_reset(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    store_first(s.y + i, open<Hard>(s, gate(s, s.hidden + i, n, bound)) * load_first(s.h + i, n), n);
  }
}

template <bool Linear, bool Hard>
void gru(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i), at = 2 * s.hidden + i;
    const Vec update = open<Hard>(s, gate(s, i, n, bound)), h = load_first(s.h + i, n);
    const Vec reset = Linear ? open<Hard>(s, gate(s, s.hidden + i, n, bound)) : set(1.0f);
    const Vec candidate = tanh(within(fma(reset, load_first(s.r + at, n), load_first(s.x + at, n)), bound));
    put_state(s, i, fma(update, h - candidate, candidate), n);
  }
}

template <bool Relu>
void rnn(const GateStep& s) {
  const Vec bound = bound_of(s);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    const Vec x = gate(s, i, n, bound);
    put_state(s, i, Relu ? max(zero(), x) : tanh(x), n);
  }
}

template <void (*soft)(const GateStep&), void (*hard)(const GateStep&)>
void either(const GateStep& s) {
  (s.slope != 0 ? hard : soft)(s);
}
void any_lstm(const GateStep& s) {
  (s.peepholes ? either<lstm<false, true>, lstm<true, true>>
               : either<lstm<false, false>, lstm<true, false>>)(s);
}
constexpr RecurrentKernels table{.lstm = any_lstm,
                                 .gru_reset = either<gru_reset<false>, gru_reset<true>>,
                                 .gru = either<gru<false, false>, gru<false, true>>,
                                 .gru_linear = either<gru<true, false>, gru<true, true>>,
                                 .rnn_tanh = rnn<false>,
                                 .rnn_relu = rnn<true>};
