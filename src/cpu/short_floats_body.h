// The functions of short_floats.h for one instruction set. Included by for_each_isa.h only.

constexpr int panel_vectors = 2;
constexpr int64_t panel_columns = panel_vectors * Vec::width;
static_assert(Bytes::size == Vec::width * static_cast<int64_t>(sizeof(float)));

constexpr int64_t line = sizeof(ShortBlock);
constexpr int64_t block_elements = short_block_rows * panel_columns;

/// What exponents the codes of a block stand for.
struct Exponents {
  LATHE_INLINE explicit Exponents(uint8_t base) {
    alignas(16) static constexpr uint8_t codes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    alignas(16) static constexpr uint8_t but_zero[16] = {0,   255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255};
    all = (repeated(codes) + set_bytes(base)) & repeated(but_zero);
    upper = shifted_down<1>(all);
    lower = shifted_up<7>(all);
  }
  Bytes all;
  Bytes upper, lower;  // as they stand in the upper and lower byte of a word
};

/// Words, the upper halves of floats, of sign and mantissa and codes below 16.
LATHE_INLINE void decode_words(Bytes rest, Bytes codes, const Exponents& e, Bytes (&words)[2]) {
  const Bytes upper = chosen(0x80, rest, look_up(e.upper, codes)),
              lower = chosen(0x7f, rest, look_up(e.lower, codes));
  words[0] = zip_bytes_low(lower, upper);
  words[1] = zip_bytes_high(lower, upper);
}
LATHE_INLINE Bytes exponents_of(const Bytes (&words)[2]) {
  const Bytes upper = odd_bytes(words[0], words[1]), lower = even_bytes(words[0], words[1]);
  return (upper + upper) | shifted_down<7>(lower);
}
LATHE_INLINE Bytes rest_of(const Bytes (&words)[2]) {
  return chosen(0x80, odd_bytes(words[0], words[1]), even_bytes(words[0], words[1]));
}

LATHE_INLINE Bytes load_element(const float* from, int i) {
  return load_lanes(reinterpret_cast<const std::byte*>(from + i * Vec::width));
}

/// Elements that are floats. A group has codes for eight vectors of them: what is said of each half of the
/// codes stands behind them, sign and mantissa of the upper words first, then the lower words.
struct Floats {
  static constexpr int vectors = 4, size = 3;  // of a half: elements in vectors, and what is kept of them
  static LATHE_INLINE void decode(const std::byte* from, Bytes codes, const Exponents& e, Vec* to) {
    Bytes words[2];
    decode_words(load_lanes(from), codes, e, words);
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const Bytes lower = load_lanes(from + (1 + i) * Bytes::size);
      to[2 * i] = as_vec(zip_words_low(lower, words[i]));
      to[2 * i + 1] = as_vec(zip_words_high(lower, words[i]));
    }
  }
  static LATHE_INLINE void words(const float* from, Bytes (&to)[2]) {
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i) to[i] = odd_words(load_element(from, 2 * i), load_element(from, 2 * i + 1));
  }
  static LATHE_INLINE void encode(const float* from, const Bytes (&words)[2], std::byte* to) {
    store_lanes(to, rest_of(words));
    LATHE_UNROLL
    for (int i = 0; i < 2; ++i)
      store_lanes(to + (1 + i) * Bytes::size,
                  even_words(load_element(from, 2 * i), load_element(from, 2 * i + 1)));
  }
  static bool fits(uint32_t bits, uint32_t base) { return word_fits(bits >> 16, base); }
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec y) { accumulate(sum, x, y); }

  static bool word_fits(uint32_t word, uint32_t base) {
    const uint32_t e = word >> 7 & 255;
    return e == 0 || (e > base && e <= base + 15);
  }
};

/// Elements that are pairs of bfloat16: words, of which nothing else is kept.
struct Pairs {
  static constexpr int vectors = 2, size = 1;
  static LATHE_INLINE void decode(const std::byte* from, Bytes codes, const Exponents& e, Vec* to) {
    Bytes words[2];
    decode_words(load_lanes(from), codes, e, words);
    to[0] = as_vec(words[0]);
    to[1] = as_vec(words[1]);
  }
  static LATHE_INLINE void words(const float* from, Bytes (&to)[2]) {
    to[0] = load_element(from, 0);
    to[1] = load_element(from, 1);
  }
  static LATHE_INLINE void encode(const float*, const Bytes (&words)[2], std::byte* to) {
    store_lanes(to, rest_of(words));
  }
  static bool fits(uint32_t bits, uint32_t base) {
    return Floats::word_fits(bits >> 16, base) && Floats::word_fits(bits & 0xffff, base);
  }
  static LATHE_INLINE void add_product(Vec& sum, Vec x, Vec y) { sum = add_pair_products(x, y, sum); }
};

/// A block of elements of one kind.
template <class Elements>
struct Block {
  static constexpr int vectors = 2 * Elements::vectors;
  static constexpr int64_t group_rows = vectors / panel_vectors;
  static constexpr int64_t half_size = Elements::size * Bytes::size, group_size = Bytes::size + 2 * half_size;
  static constexpr int64_t group_elements = vectors * Vec::width;
  static constexpr int64_t groups = short_block_rows / group_rows;
  static constexpr int64_t size = line + groups * group_size;
  static_assert(groups <= 16 && a_block % group_rows == 0);
};

template <class Elements>
LATHE_INLINE void decode_group(const std::byte* from, const Exponents& e,
                               Vec (&to)[Block<Elements>::vectors]) {
  const Bytes codes = load_lanes(from);
  const std::byte* const half = from + Bytes::size;
  Elements::decode(half, codes & set_bytes(15), e, to);
  Elements::decode(half + Block<Elements>::half_size, shifted_down<4>(codes), e, to + Elements::vectors);
}

LATHE_INLINE Exponents exponents(const std::byte* block) { return Exponents(static_cast<uint8_t>(block[0])); }

/// What of a block does not fit. Numbers from a file may be any.
__attribute__((noinline)) void put_rest(const std::byte* block, int64_t first, int64_t elements, float* to) {
  ShortBlock b = {};
  std::memcpy(&b, block, sizeof b);
  const size_t count = b.count < ShortBlock::most ? b.count : ShortBlock::most;
  for (size_t i = 0; i < count; ++i)
    if (const int64_t at = b.at[i] - first; at >= 0 && at < elements) to[at] = b.value[i];
}

template <class Elements>
void unpack_block(const std::byte* block, float* to) {
  using B = Block<Elements>;
  const Exponents e = exponents(block);
  for (int64_t i = 0; i < B::groups; ++i) {
    Vec group[B::vectors];
    decode_group<Elements>(block + line + i * B::group_size, e, group);
    LATHE_UNROLL
    for (int j = 0; j < B::vectors; ++j) store(to + i * B::group_elements + j * Vec::width, group[j]);
  }
  if (block[1] != std::byte{0}) put_rest(block, 0, block_elements, to);
}

template <class Elements>
void unpack(const std::byte* panel, int64_t k0, int64_t k, float* to) {
  const std::byte* block = panel + k0 / short_block_rows * Block<Elements>::size;
  for (; k > 0; k -= short_block_rows, block += Block<Elements>::size, to += block_elements) {
    if (k >= short_block_rows) {
      unpack_block<Elements>(block, to);
    } else {
      float whole[block_elements];
      unpack_block<Elements>(block, whole);
      std::memcpy(to, whole, static_cast<size_t>(k * panel_columns) * sizeof(float));
    }
  }
}

/// Puts into a group what of it does not fit.
template <class Elements>
LATHE_INLINE void complete(const std::byte* block, int64_t row, Vec (&group)[Block<Elements>::vectors]) {
  float elements[Block<Elements>::group_elements];
  LATHE_UNROLL
  for (int j = 0; j < Block<Elements>::vectors; ++j) store(elements + j * Vec::width, group[j]);
  put_rest(block, row * panel_columns, Block<Elements>::group_elements, elements);
  LATHE_UNROLL
  for (int j = 0; j < Block<Elements>::vectors; ++j) group[j] = load(elements + j * Vec::width);
}

/// One row of a block times an element of each row of A.
template <class Elements, int Rows>
LATHE_INLINE void add_row(const Vec* row, const float* a, Vec (&sum)[Rows][panel_vectors]) {
  LATHE_UNROLL
  for (int i = 0; i < Rows; ++i) {
    const Vec x = set(a[i * a_block]);
    LATHE_UNROLL
    for (int j = 0; j < panel_vectors; ++j) Elements::add_product(sum[i][j], x, row[j]);
  }
}

/// What memory brings is asked for before it is wanted: the next few groups (measured on an Intel Xeon: best
/// from 500 to 1500 bytes ahead), or past the second-level cache, further ahead (on a Zen 5, floats of 28
/// bits: 10.3 ms without, 11.0 with 1344 bytes, 9.6 with 3584, 10.4 with 8960; bfloat16 of 12 bits: 4.4, 4.9
/// with 768, 4.2 with 3072, 3.9 with 6144, 4.1 with 12288).
template <class Elements, bool Past>
LATHE_INLINE void ask_ahead(const std::byte* group) {
  constexpr int64_t size = Block<Elements>::group_size;
  constexpr int64_t ahead = !Past ? 1344 : Elements::size == 1 ? 6144 : 3584;
  LATHE_UNROLL
  for (int64_t i = 0; i < size; i += line) __builtin_prefetch(group + ahead + i, 0, Past ? 0 : 3);
}

/// A block's terms as they come.
template <class Elements, int Rows, int Sums, bool Past>
LATHE_INLINE void add_whole(const std::byte* block, const float* a, Vec (&sum)[Sums][Rows][panel_vectors]) {
  using B = Block<Elements>;
  static_assert(B::group_rows % Sums == 0);
  const Exponents e = exponents(block);
  const int unfit = static_cast<int>(block[2]) | static_cast<int>(block[3]) << 8;
  for (int64_t i = 0; i < B::groups; ++i) {
    const std::byte* const from = block + line + i * B::group_size;
    const int64_t k = i * B::group_rows;
    ask_ahead<Elements, Past>(from);
    Vec group[B::vectors];
    decode_group<Elements>(from, e, group);
    if ((unfit >> i & 1) != 0) [[unlikely]]
      complete<Elements>(block, k, group);
    LATHE_UNROLL
    for (int u = 0; u < B::group_rows; ++u)
      add_row<Elements, Rows>(group + u * panel_vectors, a + k / a_block * a_block * Rows + k % a_block + u,
                              sum[u % Sums]);
  }
}

/// The same of a block whose rows are fewer.
template <class Elements, int Rows, int Sums>
__attribute__((noinline)) void add_unpacked(const std::byte* block, int64_t k, const float* a,
                                            Vec (&sum)[Sums][Rows][panel_vectors]) {
  alignas(64) float elements[block_elements];
  unpack_block<Elements>(block, elements);
  for (int64_t kk = 0; kk < k; ++kk) {
    Vec row[panel_vectors];
    for (int j = 0; j < panel_vectors; ++j) row[j] = load(elements + kk * panel_columns + j * Vec::width);
    // Terms behind the last whole block of A are added to the first sums.
    const bool in_turn = kk / a_block * a_block + a_block <= k;
    const float* const at = a + kk / a_block * a_block * Rows + kk % a_block;
    add_row<Elements, Rows>(row, at, sum[in_turn ? kk % Sums : 0]);
  }
}

template <class Elements, int Rows, int Sums, bool Past>
void multiply_short(const ShortTile& t) {
  Vec sum[Sums][Rows][panel_vectors];
  LATHE_UNROLL
  for (int s = 0; s < Sums; ++s) {
    LATHE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      LATHE_UNROLL
      for (int j = 0; j < panel_vectors; ++j) sum[s][i][j] = zero();
    }
  }
  const std::byte* block = t.panel;
  for (int64_t k0 = 0; k0 < t.k; k0 += short_block_rows, block += Block<Elements>::size) {
    const float* const a = t.a + k0 * Rows;
    if (t.k - k0 >= short_block_rows) [[likely]] {
      add_whole<Elements, Rows, Sums, Past>(block, a, sum);
    } else {
      Vec other[Sums][Rows][panel_vectors];  // whose address is taken
      std::memcpy(other, sum, sizeof sum);
      add_unpacked<Elements, Rows, Sums>(block, t.k - k0, a, other);
      std::memcpy(sum, other, sizeof sum);
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < panel_vectors; ++j) {
      Vec all = sum[0][i][j];
      for (int s = 1; s < Sums; ++s) all = all + sum[s][i][j];
      store(t.sums + i * panel_columns + j * Vec::width, all);
    }
}

/// The greatest exponent of a block, but for that of infinities and NaN.
template <class Elements>
uint8_t greatest_exponent(const float* rows) {
  constexpr int64_t step = Elements::vectors * Vec::width;
  Bytes most = set_bytes(1);
  for (int64_t i = 0; i < block_elements; i += step) {
    Bytes words[2];
    Elements::words(rows + i, words);
    most = max(most, exponents_of(words) + set_bytes(1));
  }
  std::byte lanes[Bytes::size];
  store_lanes(lanes, most);
  auto greatest = std::byte{1};
  for (const std::byte one : lanes) greatest = greatest > one ? greatest : one;
  return static_cast<uint8_t>(static_cast<int>(greatest) - 1);
}

/// A group as decode_group takes it apart; did everything fit?
template <class Elements>
LATHE_INLINE bool encode_group(const float* from, uint8_t base, const Exponents& e, std::byte* to) {
  Bytes codes[2], wrong = set_bytes(0);
  LATHE_UNROLL
  for (int h = 0; h < 2; ++h) {
    Bytes words[2];
    Elements::words(from + h * Elements::vectors * Vec::width, words);
    Elements::encode(from + h * Elements::vectors * Vec::width, words,
                     to + Bytes::size + h * Block<Elements>::half_size);
    const Bytes is = exponents_of(words);
    codes[h] = min(less(is, set_bytes(base)), set_bytes(15));
    wrong = wrong | (look_up(e.all, codes[h]) ^ is);
  }
  store_lanes(to, codes[0] | shifted_up<4>(codes[1]));
  std::byte lanes[Bytes::size], any{0};
  store_lanes(lanes, wrong);
  for (const std::byte one : lanes) any |= one;
  return any == std::byte{0};
}

/// Notes what of a group does not fit. False: there is no room for it.
template <class Elements>
bool note_rest(const float* elements, int64_t group, ShortBlock& block) {
  const int64_t first = group * Block<Elements>::group_elements;
  for (int64_t i = first; i < first + Block<Elements>::group_elements; ++i) {
    uint32_t bits;
    std::memcpy(&bits, elements + i, sizeof bits);
    if (Elements::fits(bits, block.base)) continue;
    if (block.count == ShortBlock::most) return false;
    block.groups = static_cast<uint16_t>(block.groups | 1 << group);
    block.at[block.count] = static_cast<uint16_t>(i);
    block.value[block.count++] = elements[i];
  }
  return true;
}

template <class Elements>
bool encode(const float* rows, std::byte* to) {
  using B = Block<Elements>;
  const uint8_t greatest = greatest_exponent<Elements>(rows);
  ShortBlock block = {};
  block.base = static_cast<uint8_t>(greatest > 15 ? greatest - 15 : 0);
  const Exponents e(block.base);
  for (int64_t i = 0; i < B::groups; ++i)
    if (!encode_group<Elements>(rows + i * B::group_elements, block.base, e, to + line + i * B::group_size) &&
        !note_rest<Elements>(rows, i, block))
      return false;
  std::memcpy(to, &block, sizeof block);
  return true;
}

template <class Elements, int... Rows>
constexpr ShortKernels make_table(std::integer_sequence<int, Rows...>) {
  ShortKernels k{.block_size = Block<Elements>::size, .encode = encode<Elements>, .unpack = unpack<Elements>};
  ((k.multiply[0][Rows + 1] = multiply_short<Elements, Rows + 1, 1, false>,
    k.multiply[1][Rows + 1] = multiply_short<Elements, Rows + 1, 1, true>),
   ...);
  k.multiply_row[0] = multiply_short<Elements, 1, 2, false>;
  k.multiply_row[1] = multiply_short<Elements, 1, 2, true>;
  return k;
}
constexpr ShortTables table{make_table<Floats>(std::make_integer_sequence<int, twin_rows>()),
                            make_table<Pairs>(std::make_integer_sequence<int, twin_rows>())};
