// The loops of maxima.h, which the compiler vectorizes. Included by for_each_isa.h only.

/// Updates neighboring windows with one tap. The first of equal elements is kept, the last of NaN. The first
/// element that a window sees always counts if taps are recorded.
template <class T, bool wants_taps, int64_t fixed_stride>
static void take_tap(const T* __restrict x, int64_t n, int64_t stride, int32_t tap, T* __restrict greatest,
                     int32_t* __restrict taps) {
  if (fixed_stride > 0) stride = fixed_stride;
  for (int64_t i = 0; i < n; ++i) {
    const T seen = x[i * stride];
    bool greater = (seen > greatest[i]) | (seen != seen);
    if (wants_taps) {
      greater |= taps[i] < 0;
      taps[i] = greater ? tap : taps[i];
    }
    greatest[i] = greater ? seen : greatest[i];
  }
}

/// The number of multiples of `step`, from 0 on, that are less than `limit`.
LATHE_INLINE int64_t multiples_below(int64_t limit, int64_t step) {
  return limit <= 0 ? 0 : (limit - 1) / step + 1;
}

template <class T, bool wants_taps>
static void take_row(const MaximaRow<T>& r) {
  // The taps that lie within the row for at least one window; the last window reaches it first.
  const int64_t start = r.first * r.stride - r.pad, last_start = start + (r.count - 1) * r.stride;
  int64_t end = multiples_below(r.in - start, r.dilation);
  if (end > r.kernel) end = r.kernel;
  for (int64_t k = multiples_below(-last_start, r.dilation); k < end; ++k) {
    const int64_t at = start + k * r.dilation;
    const int64_t first = multiples_below(-at, r.stride);
    int64_t n = multiples_below(r.in - at, r.stride);
    n = (n < r.count ? n : r.count) - first;
    if (n <= 0) continue;
    const T* const x = r.x + at + first * r.stride;
    const int32_t tap = r.tap + static_cast<int32_t>(k);
    T* const greatest = r.greatest + first;
    int32_t* const taps = wants_taps ? r.taps + first : nullptr;
    if (r.stride == 1)
      take_tap<T, wants_taps, 1>(x, n, 1, tap, greatest, taps);
    else if (r.stride == 2)
      take_tap<T, wants_taps, 2>(x, n, 2, tap, greatest, taps);
    else
      take_tap<T, wants_taps, 0>(x, n, r.stride, tap, greatest, taps);
  }
}

constexpr MaximaKernels table{{take_row<float, true>, take_row<float, false>},
                              {take_row<double, true>, take_row<double, false>},
                              {take_row<int8_t, true>, take_row<int8_t, false>},
                              {take_row<uint8_t, true>, take_row<uint8_t, false>}};
