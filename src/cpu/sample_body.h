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

void blend(const float* x, const float* y, float a, float b, float* to, int64_t n) {
  const Vec wa = set(a), wb = set(b);
  for (int64_t i = 0; i < n; i += Vec::width) {
    const int64_t left = n - i < Vec::width ? n - i : Vec::width;
    Vec sum = zero();
    if (a != 0) sum = wa * load_first(x + i, left);
    if (b != 0) sum = sum + wb * load_first(y + i, left);
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

constexpr SampleKernels table{
    .between = between<false>, .between_near = between<true>, .are_near = are_near, .blend = blend};
