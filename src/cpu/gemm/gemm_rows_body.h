// The sizes of tiles of C, and the epilogue of their rows. Included by bodies only.

/// MR, the rows of the highest tile, and NR, the columns of a panel of B.
[[maybe_unused]] constexpr int MR = Vec::width == 16 ? 14 : Vec::width == 8 ? 6 : 4;
[[maybe_unused]] constexpr int panel_vectors = 2;
[[maybe_unused]] constexpr int64_t NR = panel_vectors * Vec::width;

template <int Vectors>
LATHE_INLINE void load_row(Vec (&to)[Vectors], const float* from, int64_t columns, bool whole) {
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const int64_t left = columns - j * Vec::width;
    to[j] = whole || left >= Vec::width ? load(from + j * Vec::width)
            : left > 0                  ? load_first(from + j * Vec::width, left)
                                        : zero();
  }
}

template <int Vectors>
LATHE_INLINE void store_row(float* to, const Vec (&from)[Vectors], int64_t columns, bool whole) {
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) {
    const int64_t left = columns - j * Vec::width;
    if (whole || left >= Vec::width)
      store(to + j * Vec::width, from[j]);
    else if (left > 0)
      store_first(to + j * Vec::width, from[j], left);
  }
}

/// Completes row i of a tile: adds its start and bias, clamps it and stores it.
template <int Vectors>
LATHE_INLINE void epilogue_row(const Tile& t, int64_t i, Vec (&sum)[Vectors], bool whole) {
  const Vec scale = set(t.start.scale), least = set(t.bounds.least), greatest = set(t.bounds.greatest);
  if (t.start.data) {
    Vec from[Vectors];
    const float* p = t.start.data + i * t.start.row;
    if (t.start.column) {
      load_row(from, p, t.columns, whole);
    } else {
      LATHE_UNROLL
      for (int j = 0; j < Vectors; ++j) from[j] = set(*p);
    }
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[j] = fma(scale, from[j], sum[j]);
  }
  if (t.added) {
    Vec row[Vectors];
    load_row(row, t.added, t.columns, whole);
    LATHE_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[j] = sum[j] + row[j];
  }
  LATHE_UNROLL
  for (int j = 0; j < Vectors; ++j) sum[j] = min(greatest, max(least, sum[j]));
  store_row(t.c + i * t.c_row, sum, t.columns, whole);
}
