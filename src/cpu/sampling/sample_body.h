// The loops of sample.h for one instruction set. Included by for_each_isa.h only.

LATHE_INLINE Vec part_of(Vec weight, Vec x) { return select(weight == zero(), zero(), weight * x); }

template <bool near>
LATHE_INLINE Vec elements(const float* row, const int32_t* at) {
  return near ? gather_near(row, at) : gather(row, at);
}

template <bool near>
static void between(const RowSamples& s, const float* row, float* to) {
  int64_t i = 0;
  for (; i + Vec::width <= s.n; i += Vec::width)
    store(to + i, part_of(load(s.a + i), elements<near>(row, s.left + i)) +
                      part_of(load(s.b + i), elements<near>(row, s.right + i)));
  for (; i < s.n; ++i)
    to[i] = (s.a[i] == 0 ? 0 : s.a[i] * row[s.left[i]]) + (s.b[i] == 0 ? 0 : s.b[i] * row[s.right[i]]);
}

template <bool near>
static void weigh(const RowTaps& s, const float* row, float* to) {
  int64_t i = 0;
  for (; i + Vec::width <= s.n; i += Vec::width) {
    Vec sum = zero();
    for (int64_t tap = i; tap < i + s.taps * s.stride; tap += s.stride)
      sum = sum + part_of(load(s.weight + tap), elements<near>(row, s.at + tap));
    store(to + i, sum);
  }
  for (; i < s.n; ++i) {
    float sum = 0;
    for (int64_t tap = i; tap < i + s.taps * s.stride; tap += s.stride)
      if (s.weight[tap] != 0) sum += s.weight[tap] * row[s.at[tap]];
    to[i] = sum;
  }
}

void blend(const WeightedRow* rows, size_t count, bool adds, float* to, int64_t n) {
  constexpr int64_t together = 4;
  int64_t i = 0;
  for (; i + together * Vec::width <= n; i += together * Vec::width) {
    Vec sum[together];
    for (int64_t v = 0; v < together; ++v) sum[v] = adds ? load(to + i + v * Vec::width) : zero();
    for (size_t row = 0; row < count; ++row) {
      const Vec weight = set(rows[row].weight);
      for (int64_t v = 0; v < together; ++v)
        sum[v] = sum[v] + weight * load(rows[row].data + i + v * Vec::width);
    }
    for (int64_t v = 0; v < together; ++v) store(to + i + v * Vec::width, sum[v]);
  }
  for (; i < n; i += Vec::width) {
    const int64_t left = n - i < Vec::width ? n - i : Vec::width;
    Vec sum = adds ? load_first(to + i, left) : zero();
    for (size_t row = 0; row < count; ++row)
      sum = sum + set(rows[row].weight) * load_first(rows[row].data + i, left);
    store_first(to + i, sum, left);
  }
}

static bool are_near(const RowSamples& s) {
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t first = i / Vec::width * Vec::width;
    for (const int32_t* at : {s.left, s.right})
      if (at[i] < at[first] || at[i] - at[first] >= 2 * Vec::width) return false;
  }
  return true;
}

constexpr SampleKernels table{.between = between<false>,
                              .between_near = between<true>,
                              .weigh = weigh<false>,
                              .weigh_near = weigh<true>,
                              .are_near = are_near,
                              .blend = blend};
