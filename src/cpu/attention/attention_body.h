// Rows of scores for one instruction set. Included by for_each_isa.h only.

LATHE_INLINE Vec masked_scores() { return set(-std::numeric_limits<float>::infinity()); }
/// Loads the last n < width elements of a row, followed by masked ones.
LATHE_INLINE Vec load_scores(const float* p, int64_t n) { return load_first(p, n, masked_scores()); }

LATHE_INLINE Vec capped(Vec s, float softcap) {
  return softcap > 0 ? set(softcap) * tanh(s * set(1.0f / softcap)) : s;
}

/// A masked key is ignored: its score may be any number.
LATHE_INLINE Vec biased(Vec s, Vec bias) {
  const Vec masked = masked_scores();
  return select(bias == masked, masked, s + bias);
}

/// The greater of both; NaN stays NaN.
LATHE_INLINE Vec greater(Vec a, Vec b) { return select(is_nan(a), a, max(a, b)); }

template <bool Whole>
LATHE_INLINE Vec prepared(const ScoreRow& r, int64_t i) {
  const int64_t left = r.n - i;
  Vec s = capped(Whole ? load(r.scores + i) : load_scores(r.scores + i, left), r.softcap);
  if (r.bias) s = biased(s, Whole ? load(r.bias + i) : load_first(r.bias + i, left));
  if (!r.bias && r.softcap <= 0) return s;
  if (Whole) {
    store(r.scores + i, s);
    return s;
  }
  store_first(r.scores + i, s, left);
  return load_scores(r.scores + i, left);  // capped, lanes beyond the end are no longer masked
}

/// Takes four vectors at a time, which do not wait for one another.
float prepare_scores(const ScoreRow& r) {
  Vec greatest[4] = {masked_scores(), masked_scores(), masked_scores(), masked_scores()};
  int64_t i = 0;
  for (; i + 4 * Vec::width <= r.n; i += 4 * Vec::width) {
    LATHE_UNROLL
    for (int u = 0; u < 4; ++u) greatest[u] = greater(greatest[u], prepared<true>(r, i + u * Vec::width));
  }
  for (; i + Vec::width <= r.n; i += Vec::width) greatest[0] = greater(greatest[0], prepared<true>(r, i));
  if (i < r.n) greatest[1] = greater(greatest[1], prepared<false>(r, i));
  const Vec most = greater(greater(greatest[0], greatest[1]), greater(greatest[2], greatest[3]));
  return any_nan(most) ? std::numeric_limits<float>::quiet_NaN() : max_of(most);
}

float weigh_scores(const float* scores, int64_t n, float greatest, float* to, int64_t block) {
  static_assert(a_block % Vec::width == 0);
  const Vec most = set(greatest);
  Vec sum = zero();
  for (; n >= a_block; n -= a_block, scores += a_block, to += block) {
    LATHE_UNROLL
    for (int64_t j = 0; j < a_block; j += Vec::width) {
      const Vec e = exp_weight(load(scores + j) - most);
      store(to + j, e);
      sum = sum + e;
    }
  }
  for (; n > 0; n -= Vec::width, scores += Vec::width, to += Vec::width) {
    const int64_t some = n < Vec::width ? n : Vec::width;
    const Vec e = exp_weight(load_scores(scores, some) - most);
    store_first(to, e, some);
    sum = sum + e;
  }
  return sum_of(sum);
}

void scale_row(const float* from, float* to, int64_t n, float factor) {
  const Vec by = set(factor);
  for (; n >= Vec::width; n -= Vec::width, from += Vec::width, to += Vec::width) store(to, load(from) * by);
  if (n > 0) store_first(to, load_first(from, n) * by, n);
}

/// Loads elements of keys and values: float32, floats of 16 bits, or integers whose rows have a scale.
LATHE_INLINE Vec load_element(const float* p) { return load(p); }
LATHE_INLINE Vec load_elements(const float* p, int64_t n) { return load_first(p, n); }
LATHE_INLINE Vec load_element(const int8_t* p) { return load_i8_as_floats(p); }
template <class F16>
LATHE_INLINE Vec load_element(const F16* p) {
  return load_f16(p);
}
template <class T>
LATHE_INLINE Vec load_elements(const T* p, int64_t n) {
  T some[Vec::width] = {};
  for (int64_t i = 0; i < n; ++i) some[i] = p[i];
  return load_element(some);
}
/// Returns the factor of a row's elements; `end`: the address behind the last of them.
template <class T>
LATHE_INLINE float scale_of_row(const T*) {
  return 1;
}
LATHE_INLINE float scale_of_row(const int8_t* end) {
  float scale;
  std::memcpy(&scale, end, sizeof scale);
  return scale;
}

/// The number of keys that are read at once.
constexpr int64_t keys_together = 4;

template <int Keys, class T>
LATHE_INLINE void few_products(const float* q, const T* k, int64_t row, int64_t head, float scale,
                               float* scores) {
  Vec sum[Keys];
  LATHE_UNROLL
  for (int j = 0; j < Keys; ++j) sum[j] = zero();
  int64_t i = 0;
  for (; i + Vec::width <= head; i += Vec::width) {
    const Vec x = load(q + i);
    LATHE_UNROLL
    for (int j = 0; j < Keys; ++j) sum[j] = fma(x, load_element(k + j * row + i), sum[j]);
  }
  if (i < head) {
    const Vec x = load_first(q + i, head - i);
    LATHE_UNROLL
    for (int j = 0; j < Keys; ++j) sum[j] = fma(x, load_elements(k + j * row + i, head - i), sum[j]);
  }
  LATHE_UNROLL
  for (int j = 0; j < Keys; ++j) scores[j] = sum_of(sum[j]) * scale * scale_of_row(k + j * row + head);
}

template <class T>
void few_scores(const float* q, const void* keys, int64_t row, int64_t n, int64_t head, float scale,
                float* scores) {
  const T* k = static_cast<const T*>(keys);
  for (; n >= keys_together; n -= keys_together, k += keys_together * row, scores += keys_together)
    few_products<keys_together>(q, k, row, head, scale, scores);
  for (; n > 0; --n, k += row, ++scores) few_products<1>(q, k, row, head, scale, scores);
}

template <int Vectors, class T>
LATHE_INLINE void combine_columns(const float* weights, const T* v, int64_t row, int64_t n, int64_t to_end,
                                  float* y) {
  Vec sum[Vectors];
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) sum[j] = load(y + j * Vec::width);
  for (int64_t i = 0; i < n; ++i, v += row) {
    if (weights[i] == 0) continue;
    const Vec w = set(weights[i] * scale_of_row(v + to_end));
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[j] = fma(w, load_element(v + j * Vec::width), sum[j]);
  }
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) store(y + j * Vec::width, sum[j]);
}

template <class T>
void combine_values(const float* weights, const void* values, int64_t row, int64_t n, int64_t v_head,
                    float* y) {
  const T* const v = static_cast<const T*>(values);
  int64_t j = 0;
  for (; j + 4 * Vec::width <= v_head; j += 4 * Vec::width)
    combine_columns<4>(weights, v + j, row, n, v_head - j, y + j);
  for (; j + Vec::width <= v_head; j += Vec::width)
    combine_columns<1>(weights, v + j, row, n, v_head - j, y + j);
  if (j == v_head) return;
  Vec sum = load_first(y + j, v_head - j);
  for (int64_t i = 0; i < n; ++i)
    if (weights[i] != 0)
      sum = fma(set(weights[i] * scale_of_row(v + i * row + v_head)),
                load_elements(v + i * row + j, v_head - j), sum);
  store_first(y + j, sum, v_head - j);
}

template <class T>
constexpr FewQueries few_queries{few_scores<T>, combine_values<T>};

bool all_finite(const float* p, int64_t n) {
  Vec sum = zero();
  for (; n >= Vec::width; n -= Vec::width, p += Vec::width) sum = fma(load(p), zero(), sum);
  if (n > 0) sum = fma(load_first(p, n), zero(), sum);
  return !any_nan(sum);
}

void copy_past_caches(const void* source, void* target, size_t bytes) {
  const std::byte* from = static_cast<const std::byte*>(source);
  std::byte* to = static_cast<std::byte*>(target);
  const size_t unaligned = -reinterpret_cast<uintptr_t>(to) % sizeof(Vec);
  const size_t head = unaligned < bytes ? unaligned : bytes;
  std::memcpy(to, from, head);
  for (from += head, to += head, bytes -= head; bytes >= sizeof(Vec);
       from += sizeof(Vec), to += sizeof(Vec), bytes -= sizeof(Vec))
    stream(reinterpret_cast<float*>(to), load(reinterpret_cast<const float*>(from)));
  streamed();
  std::memcpy(to, from, bytes);
}

constexpr AttentionKernels table{.prepare = prepare_scores,
                                 .weigh = weigh_scores,
                                 .scale = scale_row,
                                 .floats = few_queries<float>,
                                 .float16 = few_queries<Float16>,
                                 .bfloat16 = few_queries<BFloat16>,
                                 .int8 = few_queries<int8_t>,
                                 .finite = all_finite,
                                 .copy = copy_past_caches};
