// The loops of linear_attention.h for one instruction set. Included by for_each_isa.h only.

constexpr int64_t linear_parts = linear_columns / Vec::width;

/// The number of columns that a part has.
LATHE_INLINE int64_t columns_of(const LinearStep& s, int64_t part) {
  const int64_t left = s.columns - part * Vec::width;
  return left < 0 ? 0 : left < Vec::width ? left : Vec::width;
}

static void find_factors(const LinearStep& s) {
  const int64_t n = s.each ? s.d_k : 1;
  for (int64_t i = 0; i < n; i += Vec::width) {
    const int64_t some = n - i < Vec::width ? n - i : Vec::width;
    store_first(s.factors + i, exp(load_first(s.decay + i, some)), some);
  }
}

/// Decays the state; `found` becomes its value for the key then.
template <bool decays, bool corrects>
LATHE_INLINE void look_up(const LinearStep& s, Vec (&found)[linear_parts]) {
  LATHE_UNROLL
  for (int64_t u = 0; u < linear_parts; ++u) found[u] = zero();
  for (int64_t i = 0; i < s.d_k; ++i) {
    const Vec factor = set(decays ? s.factors[s.each ? i : 0] : 1), key = set(s.key[i]);
    float* const row = s.state + i * linear_columns;
    LATHE_UNROLL
    for (int64_t u = 0; u < linear_parts; ++u) {
      Vec x = load(row + u * Vec::width);
      if (decays) store(row + u * Vec::width, x = x * factor);
      if (corrects) found[u] = fma(key, x, found[u]);
    }
  }
}

/// Reads the state's value for a query. `writes`: adds the change to the state first.
template <bool writes>
LATHE_INLINE void read(const LinearStep& s, int64_t query, const Vec (&change)[linear_parts]) {
  const float* const q = s.query + query * s.d_k;
  Vec sum[linear_parts];
  LATHE_UNROLL
  for (int64_t u = 0; u < linear_parts; ++u) sum[u] = zero();
  for (int64_t i = 0; i < s.d_k; ++i) {
    const Vec x = set(q[i]), key = set(s.key[i]);
    float* const row = s.state + i * linear_columns;
    LATHE_UNROLL
    for (int64_t u = 0; u < linear_parts; ++u) {
      Vec state = load(row + u * Vec::width);
      if (writes) store(row + u * Vec::width, state = fma(key, change[u], state));
      sum[u] = fma(x, state, sum[u]);
    }
  }
  for (int64_t u = 0; u < linear_parts; ++u)
    store_first(s.out + query * s.d_v + u * Vec::width, sum[u] * set(s.scale), columns_of(s, u));
}

template <bool decays, bool corrects>
static void linear_step(const LinearStep& s) {
  Vec change[linear_parts];
  for (int64_t u = 0; u < linear_parts; ++u)
    change[u] = load_first(s.value + u * Vec::width, columns_of(s, u));
  if (decays) find_factors(s);
  if (decays || corrects) {
    Vec found[linear_parts];
    look_up<decays, corrects>(s, found);
    for (int64_t u = 0; corrects && u < linear_parts; ++u) change[u] = set(*s.beta) * (change[u] - found[u]);
  }
  read<true>(s, 0, change);
  for (int64_t query = 1; query < s.queries; ++query) read<false>(s, query, change);
}
static void any_linear_step(const LinearStep& s) {
  if (s.decay)
    s.beta ? linear_step<true, true>(s) : linear_step<true, false>(s);
  else
    s.beta ? linear_step<false, true>(s) : linear_step<false, false>(s);
}

static void filter_row(const float* x, const float* filter, int64_t k, float bias, float* to, int64_t n) {
  constexpr int64_t few = 4;  // for which a vector is not worth it
  for (int64_t t = 0; n < few && t < n; ++t) {
    float sum = bias;
    for (int64_t i = 0; i < k; ++i) sum += filter[i] * x[t + i];
    to[t] = sum;
  }
  for (int64_t t = 0; n >= few && t < n; t += Vec::width) {
    const int64_t some = n - t < Vec::width ? n - t : Vec::width;
    Vec sum = set(bias);
    for (int64_t i = 0; i < k; ++i) sum = fma(set(filter[i]), load_first(x + t + i, some), sum);
    store_first(to + t, sum, some);
  }
}

constexpr LinearKernels table{.step = any_linear_step, .filter = filter_row};
