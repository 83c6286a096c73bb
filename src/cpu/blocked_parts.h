// Direct convolution in channel blocks whose products are made of parts of float32 by AMX's tiles
// (cpu/parts_amx.h): what it needs of the instruction set, and when it is used.
#pragma once

#include "cpu/blocked.h"

namespace lathe::cpu {

/// Is this convolution computed by parts here? Depends on nothing that changes while a plan is used but
/// use_amx(), and neither on the batch nor on the number of threads.
bool uses_parts(Isa isa, const BlockedShape& s);
size_t parts_workspace(const BlockedShape& s, bool half, int threads);
/// Weights as those of direct_convolution().
void parts_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                       KernelContext& c);

/// Bytes of the parts of one pixel of two blocks of channels, one part, and of one step's weights.
inline constexpr int64_t part_pixel = 64, part_weights = 3 * 16 * 2 * part_pixel;

/// Neighbouring pixels of two blocks of channels; of the copy that tiles read.
struct PartsRow {
  const float *low = nullptr, *high = nullptr;  // the blocks; high may be null
  int64_t lows = 0, highs = 0;                  // channels that are there
  int64_t stride = 0, pixels = 0;               // floats from pixel to pixel, and how many
  char* to = nullptr;
  int64_t part = 0;  // bytes from part to part
};

/// A panel of weights: rows of `width` floats, as direct convolution packs them.
struct PartsWeights {
  const float* from = nullptr;
  int64_t width = 0, channels = 0, taps = 0;
  char* to = nullptr;  // [pair of blocks][tap][part][16][32 pairs]
};

/// Up to 32 pixels, in two runs of up to 16, times a panel of filters.
struct PartsTile {
  const char *upper = nullptr, *lower = nullptr;
  const int64_t* offsets = nullptr;  // bytes from there to each step's pixels
  int64_t steps = 0, part = 0;
  const char* w = nullptr;
  int64_t upper_rows = 0;
  float* sums = nullptr;        // rows of 32
  const float* next = nullptr;  // weights that are wanted soon
  int64_t next_lines = 0;       // how many cache lines of them to fetch with every step
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
  /// Both return whether anything has no parts.
  bool (*split_row)(const PartsRow&) = nullptr;
  bool (*split_weights)(const PartsWeights&) = nullptr;
  /// By whether there is a lower run, and whether the panel has two blocks.
  void (*tile[2][2])(const PartsTile&) = {};
  void (*finish)(const PartsSums&) = nullptr;
  /// sum[32] += x[k] * w[k][width] for k < n.
  void (*add_terms)(const float* x, int64_t n, const float* w, int64_t width, float* sum) = nullptr;
};
const PartsKernels& parts_kernels();

}  // namespace lathe::cpu
