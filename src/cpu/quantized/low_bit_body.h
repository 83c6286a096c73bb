// The functions of low_bit.h for one instruction set. Included by for_each_isa.h only.

constexpr int panel_vectors = 2;
constexpr int64_t NR = panel_vectors * Vec::width;

/// Bytes of one row of a panel.
template <int Bits>
constexpr int64_t row_bytes = Bits* NR / 8;

/// Loads a block's zero points, biased (ints_generic.h), to be subtracted from biased numbers.
LATHE_INLINE void load_zeros(Vec (&to)[panel_vectors], const LowBitPanel& p, int64_t at) {
  LATHE_UNROLL
  for (int j = 0; j < panel_vectors; ++j)
    to[j] = p.zeros ? biased(load_u8(p.zeros + at + j * Vec::width), 255) : biased(set_ints(p.zero), 255);
}

/// Loads a row of numbers less their zero points, exactly.
template <int Bits>
LATHE_INLINE void load_numbers(Vec (&to)[panel_vectors], const uint8_t* row,
                               const Vec (&zeros)[panel_vectors]) {
  if constexpr (Bits == 4) {
    const Ints both = load_u8(row);
    to[0] = biased(both, 15) - zeros[0];
    to[1] = biased(shifted_down<4>(both), 15) - zeros[1];
  } else {
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) to[j] = biased(load_u8(row + j * Vec::width), 255) - zeros[j];
  }
}

/// The numbers of a panel as they are packed.
template <int Bits>
struct PackedNumbers {
  explicit PackedNumbers(const LowBitRows& t) : panel(t.panel) {}
  LATHE_INLINE void begin_block(int64_t at) { load_zeros(zeros, panel, at); }
  LATHE_INLINE void load_row(Vec (&to)[panel_vectors], int64_t k) const {
    load_numbers<Bits>(to, panel.numbers + k * row_bytes<Bits>, zeros);
  }
  const LowBitPanel& panel;
  Vec zeros[panel_vectors];
};

/// The numbers of a panel that unpack_numbers() wrote.
struct UnpackedNumbers {
  explicit UnpackedNumbers(const LowBitRows& t) : numbers(t.unpacked) {}
  LATHE_INLINE void begin_block(int64_t) {}
  LATHE_INLINE void load_row(Vec (&to)[panel_vectors], int64_t k) const {
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) to[j] = load(numbers + k * NR + j * Vec::width);
  }
  const float* numbers;
};

template <class Numbers, int Rows>
LATHE_INLINE void multiply_number_row(Vec (&sum)[Rows][panel_vectors], const LowBitRows& t, int64_t k,
                                      const Numbers& numbers) {
  Vec row[panel_vectors];
  numbers.load_row(row, k);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec x = set(t.a[i * t.a_row + k]);
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
  }
}

template <int Rows>
LATHE_INLINE void clear(Vec (&sum)[Rows][panel_vectors]) {
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) sum[i][j] = zero();
  }
}

/// The numbers of a block are summed without their scale, and then the sum is scaled; the block's minimum is
/// multiplied by the sum of A over the block. With two sums a single row does not wait for its own additions.
template <class Numbers, int Rows, int sums>
void multiply_rows(const LowBitRows& t) {
  Numbers numbers(t);
  Vec total[Rows][panel_vectors];
  clear(total);
  int64_t at = 0;
  for (int64_t k = 0; k < t.k; at += NR) {
    const int64_t end = t.k - k < t.panel.block ? t.k : k + t.panel.block;
    Vec sum[sums][Rows][panel_vectors];
    numbers.begin_block(at);
    LATHE_UNROLL
    for (int s = 0; s < sums; ++s) clear(sum[s]);
    for (; end - k >= 4; k += 4) {
      LATHE_UNROLL
      for (int u = 0; u < 4; ++u) multiply_number_row(sum[u % sums], t, k + u, numbers);
    }
    for (; k < end; ++k) multiply_number_row(sum[0], t, k, numbers);
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) {
      const Vec scale = load(t.panel.scales + at + j * Vec::width);
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        const Vec all = sums == 2 ? sum[0][i][j] + sum[sums - 1][i][j] : sum[0][i][j];
        total[i][j] = fma(scale, all, total[i][j]);
      }
    }
    if (!t.panel.minimums) continue;
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) {
      const Vec minimum = load(t.panel.minimums + at + j * Vec::width);
      LATHE_UNROLL
      for (int i = 0; i < Rows; ++i)
        total[i][j] = fma(minimum, set(t.block_sums[i * t.block_sums_row + at / NR]), total[i][j]);
    }
  }
  const Vec least = set(t.bounds.least), greatest = set(t.bounds.greatest);
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) {
      const int64_t left = t.columns - j * Vec::width;
      float* const to = t.c + i * t.c_row + j * Vec::width;
      const Vec y = min(greatest, max(least, total[i][j]));
      if (left >= Vec::width)
        store(to, y);
      else if (left > 0)
        store_first(to, y, left);
    }
  }
}

template <int Bits, bool has_minimums>
void unpack_with(const LowBitPanel& p, int64_t k0, int64_t count, float* to) {
  const uint8_t* row = p.numbers + k0 * row_bytes<Bits>;
  for (int64_t k = k0, last = k0 + count; k < last;) {
    const int64_t block = k / p.block, at = block * NR;
    const int64_t end = (block + 1) * p.block < last ? (block + 1) * p.block : last;
    Vec zeros[panel_vectors], scale[panel_vectors], minimum[panel_vectors], numbers[panel_vectors];
    load_zeros(zeros, p, at);
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) {
      scale[j] = load(p.scales + at + j * Vec::width);
      if constexpr (has_minimums) minimum[j] = load(p.minimums + at + j * Vec::width);
    }
    for (; k < end; ++k, row += row_bytes<Bits>, to += NR) {
      load_numbers<Bits>(numbers, row, zeros);
      LATHE_UNROLL
      for (int j = 0; j < panel_vectors; ++j) {
        Vec weight = numbers[j] * scale[j];
        // Rounded twice, as those who widen such weights do.
        if constexpr (has_minimums) weight = weight + minimum[j];
        store(to + j * Vec::width, weight);
      }
    }
  }
}

template <int Bits>
void unpack(const LowBitPanel& p, int64_t k0, int64_t count, float* to) {
  p.minimums ? unpack_with<Bits, true>(p, k0, count, to) : unpack_with<Bits, false>(p, k0, count, to);
}

template <int Bits>
void unpack_numbers(const LowBitPanel& p, int64_t count, float* to) {
  const uint8_t* row = p.numbers;
  for (int64_t k = 0, at = 0; k < count; at += NR) {
    const int64_t end = k + p.block < count ? k + p.block : count;
    Vec zeros[panel_vectors], numbers[panel_vectors];
    load_zeros(zeros, p, at);
    for (; k < end; ++k, row += row_bytes<Bits>, to += NR) {
      load_numbers<Bits>(numbers, row, zeros);
      LATHE_UNROLL
      for (int j = 0; j < panel_vectors; ++j) store(to + j * Vec::width, numbers[j]);
    }
  }
}

/// The mask that flips the sign bits of all numbers in a byte, and the excess of the flipped numbers.
template <int Bits>
constexpr int32_t sign_bits = Bits == 8   ? 0x80
                              : Bits == 4 ? 0x88
                                          : 0xaa;
template <int Bits>
constexpr int32_t sign_value = 1 << (Bits - 1);

template <int Bits>
void widen(const uint8_t* from, float* to, int64_t n, bool is_signed) {
  constexpr int in_byte = 8 / Bits;
  constexpr int64_t together = Vec::width * in_byte;
  const int32_t flipped = is_signed ? sign_bits<Bits> : 0, excess = is_signed ? sign_value<Bits> : 0;
  int64_t i = 0;
  if constexpr (Bits >= 4) {
    const Ints flip = set_ints(flipped);
    const Vec less = biased(set_ints(excess), 255);
    for (; i + together <= n; i += together, from += Vec::width) {
      const Ints x = load_u8(from) ^ flip;
      if constexpr (Bits == 8) {
        store(to + i, biased(x, 255) - less);
      } else {
        const Vec low = biased(x, 15) - less, high = biased(shifted_down<4>(x), 15) - less;
        store(to + i, zip_low(low, high));
        store(to + i + Vec::width, zip_high(low, high));
      }
    }
  }
  for (int64_t first = i; i < n; ++i) {
    const int64_t bit = (i - first) * Bits;
    const int32_t number = (from[bit / 8] ^ flipped) >> (bit % 8) & ((1 << Bits) - 1);
    to[i] = static_cast<float>(number - excess);
  }
}

void scale_all(const float* x, float* y, int64_t n, float scale, float zero) {
  const Vec by = set(scale), less = set(zero);
  int64_t i = 0;
  for (; i + Vec::width <= n; i += Vec::width) store(y + i, (load(x + i) - less) * by);
  if (i < n) store_first(y + i, (load_first(x + i, n - i) - less) * by, n - i);
}

void scale_each(const float* x, float* y, int64_t n, const float* scales, const float* zeros) {
  for (int64_t i = 0; i < n; i += Vec::width) {
    const int64_t left = n - i;
    const bool whole = left >= Vec::width;
    Vec v = whole ? load(x + i) : load_first(x + i, left);
    if (zeros) v = v - (whole ? load(zeros + i) : load_first(zeros + i, left));
    v = v * (whole ? load(scales + i) : load_first(scales + i, left));
    if (whole)
      store(y + i, v);
    else
      store_first(y + i, v, left);
  }
}

template <bool each>
void quantize(const float* x, float* y, int64_t n, const float* scales, const float* zeros, Bounds within) {
  Vec scale = set(*scales), zero = set(zeros ? *zeros : 0);
  for (int64_t i = 0; i < n; i += Vec::width) {
    const int64_t left = n - i;
    const bool whole = left >= Vec::width;
    if (each) {
      scale = whole ? load(scales + i) : load_first(scales + i, left);
      if (zeros) zero = whole ? load(zeros + i) : load_first(zeros + i, left);
    }
    const Vec q = (whole ? load(x + i) : load_first(x + i, left)) / scale;
    const Vec number = min(set(within.greatest), max(set(within.least), round(q) + zero));
    const Vec v = select(is_nan(q), zero, number);
    if (whole)
      store(y + i, v);
    else
      store_first(y + i, v, left);
  }
}

template <int Bits, int... Rows>
constexpr void fill_rows(LowBitKernels& t, int at, std::integer_sequence<int, Rows...>) {
  ((t.multiply[at][Rows] = multiply_rows < PackedNumbers<Bits>, Rows + 1, Rows == 0 ? 2 : 1 >), ...);
}
template <int Bits, int... Rows>
constexpr void fill_strict_rows(LowBitKernels& t, int at, std::integer_sequence<int, Rows...>) {
  ((t.multiply_strict[at][Rows] = multiply_rows<PackedNumbers<Bits>, Rows + 1, 2>), ...);
}
/// As many rows as have all their sums in registers, with a row of numbers and, of 16 registers, none for A.
constexpr int unpacked_rows = Vec::width == 16 ? 6 : 3;
template <int... Rows>
constexpr void fill_unpacked_rows(LowBitKernels& t, std::integer_sequence<int, Rows...>) {
  ((t.multiply_unpacked[Rows] = multiply_rows<UnpackedNumbers, Rows + 1, 2>), ...);
}
constexpr LowBitKernels make_table() {
  LowBitKernels t{};
  fill_rows<4>(t, 0, std::make_integer_sequence<int, low_bit_rows>());
  fill_rows<8>(t, 1, std::make_integer_sequence<int, low_bit_rows>());
  fill_strict_rows<4>(t, 0, std::make_integer_sequence<int, strict_low_bit_rows>());
  fill_strict_rows<8>(t, 1, std::make_integer_sequence<int, strict_low_bit_rows>());
  fill_unpacked_rows(t, std::make_integer_sequence<int, unpacked_rows>());
  t.unpacked_rows = unpacked_rows;
  t.unpack_numbers[0] = unpack_numbers<4>;
  t.unpack_numbers[1] = unpack_numbers<8>;
  t.unpack[0] = unpack<4>;
  t.unpack[1] = unpack<8>;
  t.widen[0] = widen<2>;
  t.widen[1] = widen<4>;
  t.widen[2] = widen<8>;
  t.scale = scale_all;
  t.scale_each = scale_each;
  t.quantize = quantize<false>;
  t.quantize_each = quantize<true>;
  return t;
}
constexpr LowBitKernels table = make_table();
