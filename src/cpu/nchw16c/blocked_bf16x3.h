// Direct convolution in channel blocks with bf16x3 products on AMX tiles (cpu/simd/bf16x3_amx.h): what it
// supports, and when it is used.
#pragma once

#include "cpu/nchw16c/blocked.h"
#include "cpu/simd/amx.h"

namespace lathe::cpu {

/// Return whether this convolution can be computed in bf16x3 here, and whether it is, because that is
/// estimated to be faster than AVX-512. They depend on nothing that changes while a plan is used but
/// use_amx(), and neither on the batch nor on the number of threads.
bool fits_bf16x3(Isa isa, const BlockedShape& s);
bool uses_bf16x3(Isa isa, const BlockedShape& s);
/// A rough estimate in nanoseconds, for one thread of the processor where it was measured.
double bf16x3_time(const BlockedShape& s);
size_t bf16x3_workspace(const BlockedShape& s, bool f16, int threads);
/// Weights are packed as those of direct_convolution().
void bf16x3_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                        KernelContext& c);

/// The bytes of all parts of a vector of pairs.
inline constexpr int64_t bf16x3_pixel = part_count * part_pixel;
inline constexpr int64_t bf16x3_panel_blocks = 2, bf16x3_panel_filters = bf16x3_panel_blocks * channel_block;

/// A run of vectors of pairs at constant distances: pixels of two blocks of channels, or rows of weights.
struct Bf16x3Run {
  const float *low = nullptr, *high = nullptr;  // of each pair
  int64_t stride = 0, count = 0;                // floats from vector to vector, and how many vectors
  uint16_t lows = 0, highs = 0;                 // which lanes exist; the others are 0
  char* to = nullptr;
  int64_t to_stride = 0, part = 0;  // bytes from vector to vector, and from part to part
  int64_t ahead = 0;                // floats from what is read to what is prefetched; 0: nothing is
};

/// Vectors to split, run after run: all at once, or some alongside each product, where splitting takes next
/// to no time.
class Bf16x3Source {
 public:
  Bf16x3Run run;
  int64_t left = 0;                 // vectors of pairs that are left, with those of `run`
  float wrong[channel_block] = {};  // NaN once a value could not be split

  virtual ~Bf16x3Source() = default;
  /// Sets `run` to the next run; called when it is used up and vectors are left.
  virtual void next() = 0;
};

/// Neighboring pixels of an image [C, H, W] of at most four channels, which are written 8 bytes apart.
struct NchwBf16x3Row {
  const float* channel[4] = {};  // null: 0
  int64_t pixels = 0;
  char* to = nullptr;
  int64_t part = 0;  // bytes from part to part
};

/// Up to 32 pixels, in two runs of up to 16, times a panel of filters.
struct Bf16x3Tile {
  const char *upper = nullptr, *lower = nullptr;
  const int64_t* offsets = nullptr;  // bytes from there to each step's pixels
  int64_t steps = 0;
  int64_t row = 0, part = 0;  // bytes from pixel to pixel, and from part to part
  const char* w = nullptr;
  int64_t upper_rows = 0;
  float* sums = nullptr;  // rows of 32
  bool adds = false;      // true if products are added to these sums
  Bf16x3Source* split_meanwhile[2] = {};
  int64_t rate[2] = {};  // vectors of pairs that are split alongside a step
};

/// Rows of sums to store in the output, with bias and bounds.
struct Bf16x3Sums {
  const float* sums = nullptr;
  int64_t pixels = 0, blocks = 0;
  const float* bias = nullptr;
  Bounds bounds = {};
  float* y = nullptr;
  int64_t y_block = 0;
};

struct Bf16x3Kernels {
  void (*split)(Bf16x3Source&, int64_t vectors) = nullptr;
  /// Returns whether any value could not be split.
  bool (*split_nchw)(const NchwBf16x3Row&) = nullptr;
  /// Indexed by whether there is a lower run, and by whether the panel has two blocks.
  void (*tile[2][2])(const Bf16x3Tile&) = {};
  void (*epilogue)(const Bf16x3Sums&) = nullptr;
  /// sum[width] += x[k] * w[k][width] for k < n.
  void (*add_terms)(const float* x, int64_t n, const float* w, int64_t width, float* sum) = nullptr;
};
const Bf16x3Kernels& bf16x3_kernels();

}  // namespace lathe::cpu
