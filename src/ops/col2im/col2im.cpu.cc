// Col2Im: a row of the image gathers from the rows of blocks that cover it, in the order of the reference.
#include <array>

#include "cpu/ceil_of.h"
#include "cpu/movement.h"
#include "cpu/reduce.h"
#include "cpu/support.h"
#include "ops/col2im/blocks.h"

namespace lathe {
namespace {

using cpu::ceil_of;

/// Sums that are made side by side, and those of one row at most; rows, and elements worth another thread.
constexpr int64_t max_sums = 4096, max_row_columns = 2048, max_image_rows = 256, summed_piece = 16384;

/// Types whose rows are added in vectors.
template <class T>
constexpr bool adds_rows = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                           std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;

/// Rows of images, some of which are made together: so each of their elements' rows is read in order.
template <class T>
class BlockRows {
  /// Integers wrap around alike, whatever their sign.
  using Sum = std::conditional_t<adds_rows<T> && std::is_integral_v<T>, int64_t, BlockSum<T>>;

 public:
  BlockRows(Isa isa, const Col2Im& op, const BlockGrid& g, const T* from, T* to)
      : isa_(isa),
        op_(op),
        g_(g),
        strides_(row_major(g.grid)),
        last_(g.image.size() - 1),
        width_(g.image[last_]),
        stride_(op.stride(last_)),
        from_(from),
        to_(to) {
    outer_block_.assign(g.block.begin(), g.block.end() - 1);
    outer_image_.assign(g.image.begin(), g.image.end() - 1);
    rows_ = count_of(outer_image_);
    together_ = std::clamp<int64_t>(max_row_columns / std::min(width_, max_row_columns), 1,
                                    std::min(rows_, max_image_rows));
  }
  /// The number of chunks of rows in one image.
  int64_t chunks() const { return ceil_of(rows_, together_); }

  void sum(int64_t plane, int64_t chunk, Poller& poll) const {
    const int64_t first = chunk * together_, rows = std::min(together_, rows_ - first);
    for (int64_t x = 0; x < width_; x += max_row_columns)
      sum({plane, first, rows, x, std::min(max_row_columns, width_ - x)}, poll);
  }

 private:
  /// Pixels [x, x + n) of some rows of an image. The sums of pixels of a row that are a stride apart are
  /// neighbors.
  struct Piece {
    int64_t plane, row, rows, x, n;
  };
  int64_t pitch(const Piece& p) const { return ceil_of(p.n, stride_); }
  int64_t phases(const Piece& p) const { return std::min(stride_, p.n); }

  void sum(const Piece& p, Poller& poll) const {
    std::array<Sum, max_sums> sums;
    std::fill_n(sums.begin(), p.rows * phases(p) * pitch(p), Sum{});
    const T* elements = from_ + p.plane * g_.area * g_.blocks;
    Odometer at(outer_block_, Shape(last_, 0));
    do {
      std::array<int64_t, max_image_rows> blocks;
      find_blocks(p, at.index(), blocks);
      for (int64_t k = 0; k < g_.block[last_]; ++k) add(elements + k * g_.blocks, k, p, blocks, sums, poll);
      elements += g_.block[last_] * g_.blocks;
      poll.did(p.rows);
    } while (at.next());
    store(p, sums);
    poll.did(p.rows * p.n);
  }

  /// Finds, for each row of pixels, the first block in the row of blocks whose element `at` is located on it;
  /// negative if there is none.
  void find_blocks(const Piece& p, const Shape& at, std::array<int64_t, max_image_rows>& blocks) const {
    Shape pixel(last_, 0);
    int64_t rest = p.row;
    for (size_t a = last_; a-- > 0; rest /= outer_image_[a]) pixel[a] = rest % outer_image_[a];
    for (int64_t row = 0; row < p.rows; ++row) {
      blocks[static_cast<size_t>(row)] = first_block(pixel, at);
      for (size_t a = last_; a-- > 0 && ++pixel[a] == outer_image_[a];) pixel[a] = 0;
    }
  }
  int64_t first_block(const Shape& pixel, const Shape& at) const {
    int64_t first = 0;
    for (size_t a = 0; a < last_; ++a) {
      const int64_t start = pixel[a] + op_.pad_begin(a) - at[a] * op_.dilation(a), n = start / op_.stride(a);
      if (start < 0 || start % op_.stride(a) != 0 || n >= g_.grid[a]) return -1;
      first += n * strides_[a];
    }
    return first;
  }

  /// Adds element k along the last axis of rows of blocks to the pixels at which it is located.
  void add(const T* elements, int64_t k, const Piece& p, const std::array<int64_t, max_image_rows>& blocks,
           std::array<Sum, max_sums>& sums, Poller& poll) const {
    poll.did(1);
    const int64_t start = p.x + op_.pad_begin(last_) - k * op_.dilation(last_);
    const int64_t phase = (stride_ - start % stride_) % stride_;  // of the first pixel that is possible
    if (phase >= p.n) return;
    const int64_t first = (start + phase) / stride_, begin = std::max<int64_t>(first, 0),
                  end = std::min(first + ceil_of(p.n - phase, stride_), g_.grid[last_]);
    if (begin >= end) return;
    Sum* const to = sums.data() + phase * pitch(p) + begin - first;
    const int64_t step = phases(p) * pitch(p);
    for (int64_t row = 0; row < p.rows; ++row)
      if (const int64_t block = blocks[static_cast<size_t>(row)]; block >= 0)
        add_row(elements + block + begin, end - begin, to + row * step);
    poll.did(p.rows * (end - begin));
  }
  void add_row(const T* from, int64_t n, Sum* sums) const {
    if constexpr (adds_rows<T>)
      cpu::accumulate_kernels(isa_).of<T>().columns[static_cast<size_t>(cpu::AccumulateOp::sum)](from, 1, 0,
                                                                                                 n, sums);
    else
      for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<Sum>(Element<T>::load(from[i]));
  }

  void store(const Piece& p, const std::array<Sum, max_sums>& sums) const {
    const Sum* from = sums.data();
    for (int64_t row = 0; row < p.rows; ++row) {
      T* const to = to_ + (p.plane * rows_ + p.row + row) * width_ + p.x;
      for (int64_t phase = 0; phase < phases(p); ++phase, from += pitch(p))
        for (int64_t i = phase, j = 0; i < p.n; i += stride_, ++j)
          to[i] = store_sum<T>(static_cast<BlockSum<T>>(from[j]));
    }
  }

  const Isa isa_;
  const Col2Im& op_;
  const BlockGrid& g_;
  const Shape strides_;
  Shape outer_block_, outer_image_;
  const size_t last_;
  const int64_t width_, stride_;
  int64_t rows_, together_;  // rows of an image, and rows that are summed together
  const T* const from_;
  T* const to_;
};

Support supports(const Col2Im&, const KernelQuery& r) {
  return cpu::supports_type(r.inputs[0].type, summable_types);
}

template <Isa isa>
void col2im(const Col2Im& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  BlockGrid g(op, c);
  Tensor& out = c.out(0, in.type(), g.output);
  if (out.size() == 0) return;
  if (g.image.empty()) g.image = g.block = g.grid = {1};
  const int64_t planes = in.dim(0) * g.channels, work = std::max(out.size(), in.size()) / planes;
  for_type(in.type(), summable_types, [&]<class T> {
    const BlockRows<T> rows(isa, op, g, in.as<T>().data(), out.as<T>().data());
    const int64_t chunks = rows.chunks();
    c.parallel(planes * chunks, std::max<int64_t>(1, summed_piece * chunks / work),
               [&](int64_t begin, int64_t end) {
                 Poller poll(c);
                 for (int64_t i = begin; i < end; ++i) rows.sum(i / chunks, i % chunks, poll);
               });
  });
}

/// The sizes of image and block.
std::optional<size_t> scratch(const Col2Im&, std::span<const Shape> inputs, std::span<const Shape>) {
  const auto of = [](const Shape& s) {
    return cpu::whole_lines(static_cast<size_t>(count_of(s)) * sizeof(int64_t));
  };
  return of(inputs[1]) + of(inputs[2]);
}

}  // namespace

void cpu_col2im(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<Col2Im>({.op = "Col2Im", .name = cpu::kernel_name("col2im", isa), .isa = isa, .temporaries = true},
                  {.run = col2im<isa>, .supports = supports, .scratch = scratch});
  });
}

}  // namespace lathe
