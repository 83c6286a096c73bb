// Turning a rectangle of elements of 32 bits for one instruction set. Included by for_each_isa.h only.

/// Up to Vec::width rows of the input from `from` on, and as many of its columns.
template <bool whole>
LATHE_INLINE void turn_vectors(const float* from, int64_t stride, float* to, int64_t row_step, int64_t width,
                               int64_t height) {
  Vec rows[Vec::width];
  load_turned<whole>(rows, from, stride, width, height);
  LATHE_UNROLL
  for (int64_t i = 0; i < Vec::width; ++i) {
    if (whole)
      store(to + i * row_step, rows[i]);
    else if (i < height)
      store_first(to + i * row_step, rows[i], width);
  }
}

void turn_rectangle(const float* from, int64_t stride, float* to, int64_t row_step, int64_t width,
                    int64_t height) {
  for (int64_t x = 0; x < width; x += Vec::width) {
    const int64_t columns = width - x < Vec::width ? width - x : Vec::width;
    for (int64_t y = 0; y < height; y += Vec::width) {
      const int64_t rows = height - y < Vec::width ? height - y : Vec::width;
      const float* const p = from + x * stride + y;
      float* const q = to + y * row_step + x;
      if (columns == Vec::width && rows == Vec::width)
        turn_vectors<true>(p, stride, q, row_step, columns, rows);
      else
        turn_vectors<false>(p, stride, q, row_step, columns, rows);
    }
  }
}

constexpr TurnKernels table{.turn = turn_rectangle, .width = Vec::width};
