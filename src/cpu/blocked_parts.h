// Direct convolution in channel blocks whose products are made of parts of float32 by AMX's tiles
// (cpu/parts_amx.h): what it needs of the instruction set, and when it is used.
#pragma once

#include "cpu/amx.h"
#include "cpu/blocked.h"

namespace lathe::cpu {

/// Can this convolution be computed by parts here? And is it, since it is thought to be faster than AVX-512?
/// Depends on nothing that changes while a plan is used but use_amx(), and neither on the batch nor on the
/// number of threads.
bool fits_parts(Isa isa, const BlockedShape& s);
bool uses_parts(Isa isa, const BlockedShape& s);
/// Roughly, in nanoseconds, on one thread of the processor where it was measured.
double parts_time(const BlockedShape& s);
size_t parts_workspace(const BlockedShape& s, bool half, int threads);
/// Weights as those of direct_convolution().
void parts_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                       KernelContext& c);

/// Bytes of all parts of a vector of pairs.
inline constexpr int64_t parts_pixel = part_count * part_pixel;
inline constexpr int64_t parts_panel_blocks = 2, parts_panel_filters = parts_panel_blocks * channel_block;

/// Vectors of pairs that lie one behind the other: pixels of two blocks of channels, or rows of weights.
struct PartsRun {
  const float *low = nullptr, *high = nullptr;  // of each pair
  int64_t stride = 0, count = 0;                // floats from vector to vector, and how many vectors
  uint16_t lows = 0, highs = 0;                 // which lanes are there; the others are 0
  char* to = nullptr;
  int64_t to_stride = 0, part = 0;  // bytes from vector to vector, and from part to part
  int64_t ahead = 0;                // floats from what is read to what is to be fetched; 0: nothing is
};

/// What is to be split, run after run: all at once, or some of it beside each product, when it takes next to
/// no time.
class PartsSource {
 public:
  PartsRun run;
  int64_t left = 0;                 // vectors of pairs, with those of `run`
  float wrong[channel_block] = {};  // NaN once anything had no parts

  virtual ~PartsSource() = default;
  /// Makes `run` the next one; called when it is used up and some are left.
  virtual void next() = 0;
};

/// Neighbouring pixels of an image [C, H, W] of at most four channels, which come to lie 8 bytes apart.
struct PlainPartsRow {
  const float* channel[4] = {};  // null: 0
  int64_t pixels = 0;
  char* to = nullptr;
  int64_t part = 0;  // bytes from part to part
};

/// Up to 32 pixels, in two runs of up to 16, times a panel of filters.
struct PartsTile {
  const char *upper = nullptr, *lower = nullptr;
  const int64_t* offsets = nullptr;  // bytes from there to each step's pixels
  int64_t steps = 0;
  int64_t row = 0, part = 0;  // bytes from pixel to pixel, and from part to part
  const char* w = nullptr;
  int64_t upper_rows = 0;
  float* sums = nullptr;  // rows of 32
  bool adds = false;      // are there sums to be added to?
  PartsSource* beside[2] = {};
  int64_t rate[2] = {};  // vectors of pairs that are split beside a step
};

/// Rows of sums as they leave: with bias, within bounds.
struct PartsSums {
  const float* sums = nullptr;
  int64_t pixels = 0, blocks = 0;
  const float* bias = nullptr;
  Bounds bounds = {};
  float* y = nullptr;
  int64_t y_block = 0;
};

struct PartsKernels {
  void (*split)(PartsSource&, int64_t vectors) = nullptr;
  /// Returns whether anything had no parts.
  bool (*split_plain)(const PlainPartsRow&) = nullptr;
  /// By whether there is a lower run, and whether the panel has two blocks.
  void (*tile[2][2])(const PartsTile&) = {};
  void (*finish)(const PartsSums&) = nullptr;
  /// sum[width] += x[k] * w[k][width] for k < n.
  void (*add_terms)(const float* x, int64_t n, const float* w, int64_t width, float* sum) = nullptr;
};
const PartsKernels& parts_kernels();

}  // namespace lathe::cpu
