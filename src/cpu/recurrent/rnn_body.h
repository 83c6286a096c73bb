// The gates of recurrent cells for one instruction set. Included by for_each_isa.h only.

LATHE_INLINE Vec within(Vec x, Vec bound) { return min(bound, max(negate(bound), x)); }
LATHE_INLINE Vec both_parts(const GateStep& s, int64_t at, int64_t n) {
  return load_first(s.x + at, n) + load_first(s.r + at, n);
}
/// The sum of both parts of a gate, clamped; bounds of infinity change nothing.
LATHE_INLINE Vec gate(const GateStep& s, int64_t at, int64_t n, Vec bound) {
  return within(both_parts(s, at, n), bound);
}
/// The same for a gate that depends on the cell's state too.
template <bool Peeps>
LATHE_INLINE Vec gate(const GateStep& s, int64_t at, int64_t n, Vec bound, Vec cell) {
  Vec x = both_parts(s, at, n);
  if constexpr (Peeps) x = fma(load_first(s.peepholes + at, n), cell, x);
  return within(x, bound);
}
LATHE_INLINE Vec hard_sigmoid(const RecurrentActivation& f, Vec x) {
  return min(set(1.0f), max(zero(), fma(set(f.alpha), x, set(f.beta))));
}
/// Not inlined, as cells have up to five calls.
__attribute__((noinline)) Vec activate(const RecurrentActivation& f, Vec x) {
  const Vec alpha = set(f.alpha), beta = set(f.beta);
  switch (f.function) {
    case RecurrentFunction::relu:
      return max(zero(), x);
    case RecurrentFunction::tanh:
      return tanh(x);
    case RecurrentFunction::sigmoid:
      return sigmoid(x);
    case RecurrentFunction::affine:
      return fma(alpha, x, beta);
    case RecurrentFunction::leaky_relu:
      return select(x < zero(), alpha * x, x);
    case RecurrentFunction::thresholded_relu:
      return select(x >= alpha, x, zero());
    case RecurrentFunction::scaled_tanh:
      return alpha * tanh(beta * x);
    case RecurrentFunction::hard_sigmoid:
      return hard_sigmoid(f, x);
    case RecurrentFunction::elu:
      return select(x < zero(), alpha * expm1_of_negative(x), x);
    case RecurrentFunction::softsign:
      return x / (set(1.0f) + abs(x));
    case RecurrentFunction::softplus:
      return softplus(x);
  }
  return x;
}
template <GateForm form>
LATHE_INLINE Vec open(const GateStep& s, Vec x) {
  if constexpr (form == GateForm::any) return activate(s.functions[0], x);
  return form == GateForm::hard ? hard_sigmoid(s.functions[0], x) : sigmoid(x);
}
/// Applies the activation `function` of states.
template <GateForm form>
LATHE_INLINE Vec state_of(const GateStep& s, int function, Vec x) {
  if constexpr (form == GateForm::any) return activate(s.functions[function], x);
  return tanh(x);
}
LATHE_INLINE void put_state(const GateStep& s, int64_t i, Vec h, int64_t n) {
  store_first(s.h + i, h, n);
  if (s.y) store_first(s.y + i, h, n);
}
LATHE_INLINE int64_t lanes_at(const GateStep& s, int64_t i) {
  return s.units - i < Vec::width ? s.units - i : Vec::width;
}

/// Gates in the order input, output, forget, cell.
template <GateForm form, bool Peeps>
void lstm(const GateStep& s) {
  const Vec bound = set(s.clip);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    const Vec before = load_first(s.c + i, n), in = open<form>(s, gate<Peeps>(s, i, n, bound, before));
    const Vec forget = form == GateForm::any && s.input_forget
                           ? set(1.0f) - in
                           : open<form>(s, gate<Peeps>(s, 2 * s.hidden + i, n, bound, before));
    const Vec candidate = state_of<form>(s, 1, gate(s, 3 * s.hidden + i, n, bound));
    const Vec cell = fma(forget, before, in * candidate);
    const Vec out = open<form>(s, gate<Peeps>(s, s.hidden + i, n, bound, cell));
    store_first(s.c + i, cell, n);
    put_state(s, i, out * state_of<form>(s, 2, cell), n);
  }
}

/// Gates in the order update, reset, hidden.
template <GateForm form>
void gru_reset(const GateStep& s) {
  const Vec bound = set(s.clip);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    store_first(s.y + i, open<form>(s, gate(s, s.hidden + i, n, bound)) * load_first(s.h + i, n), n);
  }
}

template <GateForm form, bool Linear>
void gru(const GateStep& s) {
  const Vec bound = set(s.clip);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i), at = 2 * s.hidden + i;
    const Vec update = open<form>(s, gate(s, i, n, bound)), h = load_first(s.h + i, n);
    const Vec reset = Linear ? open<form>(s, gate(s, s.hidden + i, n, bound)) : set(1.0f);
    const Vec candidate =
        state_of<form>(s, 1, within(fma(reset, load_first(s.r + at, n), load_first(s.x + at, n)), bound));
    put_state(s, i, fma(update, h - candidate, candidate), n);
  }
}

template <GateForm form>
void rnn(const GateStep& s) {
  const Vec bound = set(s.clip);
  for (int64_t i = 0; i < s.units; i += Vec::width) {
    const int64_t n = lanes_at(s, i);
    put_state(s, i, state_of<form>(s, 0, gate(s, i, n, bound)), n);
  }
}

template <void (*usual)(const GateStep&), void (*hard)(const GateStep&), void (*any)(const GateStep&)>
void by_form(const GateStep& s) {
  (s.form == GateForm::usual ? usual : s.form == GateForm::hard ? hard : any)(s);
}
template <bool Peeps>
constexpr auto lstm_by_form =
    by_form<lstm<GateForm::usual, Peeps>, lstm<GateForm::hard, Peeps>, lstm<GateForm::any, Peeps>>;
void any_lstm(const GateStep& s) { (s.peepholes ? lstm_by_form<true> : lstm_by_form<false>)(s); }
template <bool Linear>
constexpr auto gru_by_form =
    by_form<gru<GateForm::usual, Linear>, gru<GateForm::hard, Linear>, gru<GateForm::any, Linear>>;
constexpr RecurrentKernels table{
    .lstm = any_lstm,
    .gru_reset = by_form<gru_reset<GateForm::usual>, gru_reset<GateForm::hard>, gru_reset<GateForm::any>>,
    .gru = gru_by_form<false>,
    .gru_linear = gru_by_form<true>,
    .rnn = by_form<rnn<GateForm::usual>, rnn<GateForm::any>, rnn<GateForm::any>>};
