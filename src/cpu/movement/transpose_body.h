// Transposes a rectangle of elements of 32 bits for one instruction set. Included by for_each_isa.h only.

/// Transposes up to Vec::width rows of the input from `from` on, and as many columns.
template <bool whole>
LATHE_INLINE void transpose_vectors(const float* from, int64_t stride, float* to, int64_t row_step,
                                    int64_t width, int64_t height) {
  Vec rows[Vec::width];
  load_transposed<whole>(rows, from, stride, width, height);
  LATHE_UNROLL
  for (int64_t i = 0; i < Vec::width; ++i) {
    if (whole)
      store(to + i * row_step, rows[i]);
    else if (i < height)
      store_first(to + i * row_step, rows[i], width);
  }
}

/// Transposes the square that begins with row `x` and column `y` of the input, or the part of it that exists.
LATHE_INLINE void transpose_square(const float* from, int64_t stride, float* to, int64_t row_step,
                                   int64_t width, int64_t height, int64_t x, int64_t y) {
  const int64_t columns = width - x < Vec::width ? width - x : Vec::width;
  const int64_t rows = height - y < Vec::width ? height - y : Vec::width;
  const float* const p = from + x * stride + y;
  float* const q = to + y * row_step + x;
  if (columns == Vec::width && rows == Vec::width)
    transpose_vectors<true>(p, stride, q, row_step, columns, rows);
  else
    transpose_vectors<false>(p, stride, q, row_step, columns, rows);
}

void transpose_rectangle(const float* from, int64_t stride, float* to, int64_t row_step, int64_t width,
                         int64_t height) {
  // Goes along the rows with the larger stride, line after line of the same rows.
  if (stride <= row_step) {
    for (int64_t y = 0; y < height; y += Vec::width)
      for (int64_t x = 0; x < width; x += Vec::width)
        transpose_square(from, stride, to, row_step, width, height, x, y);
  } else {
    for (int64_t x = 0; x < width; x += Vec::width)
      for (int64_t y = 0; y < height; y += Vec::width)
        transpose_square(from, stride, to, row_step, width, height, x, y);
  }
}

/// Joins lanes of blocks that are `block_step` apart: `channels` of each pixel, from `lane` of the first
/// block on.
void join_blocks(const float* from, int64_t block_step, int64_t lane, float* to, int64_t channels,
                 int64_t pixels) {
  // One load reads all blocks in turn, which hardware prefetchers do not recognize.
  constexpr int64_t block = 16, ahead = 16;
  const float* const end = to + pixels * channels;
  for (int64_t p = 0; p < pixels; ++p, from += block) {
    const float* f = from;
    for (int64_t first = lane, rest = channels; rest > 0; first = 0, f += block_step) {
      const int64_t lanes = block - first < rest ? block - first : rest;
      __builtin_prefetch(f + ahead * block);
      for (int64_t x = 0; x < lanes; x += Vec::width) {
        const int64_t n = lanes - x < Vec::width ? lanes - x : Vec::width;
        const Vec v = n == Vec::width ? load(f + first + x) : load_first(f + first + x, n);
        // The lanes behind these are overwritten by the next ones.
        if (end - (to + x) >= Vec::width)
          store(to + x, v);
        else
          store_first(to + x, v, n);
      }
      to += lanes;
      rest -= lanes;
    }
  }
}

constexpr TransposeKernels table{
    .transpose = transpose_rectangle, .join_blocks = join_blocks, .width = Vec::width};
