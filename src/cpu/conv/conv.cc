#include "cpu/conv/conv.h"

#include <algorithm>
#include <array>

#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

#define LATHE_ISA_BODY "cpu/conv/conv_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(ConvKernels, conv_kernels)

namespace {

/// The output pixels whose patches are made at once: times patch_block they stay in the second-level cache.
constexpr int64_t block_pixels = 128;
/// KC: the terms of the sums that are made into patches at once.
constexpr int64_t patch_block = 320;
/// The floats of scratch for rows of a depthwise plane, and for the input rows of one output row of a wide
/// plane.
constexpr int64_t plane_floats = 16384, wide_plane_floats = 65536;
/// The limit of taps and strides for padded planes in scratch.
constexpr int64_t farthest_tap = 64;
constexpr int64_t max_tiles = 16, min_tiles = 4;

bool is_near(const ConvShape& s, int axis) {
  return (s.kernel[axis] - 1) * s.dilation[axis] < farthest_tap && s.stride[axis] <= farthest_tap;
}

/// Returns whether the convolution is depthwise. Does not depend on the order of the axes, as packing does
/// not know whether they are transposed.
bool is_depthwise(const ConvShape& s) {
  return s.in_channels == s.groups && s.out_channels == s.groups && s.taps() <= max_plane_taps &&
         is_near(s, 0) && is_near(s, 1) && is_near(s, 2);
}

ConvShape with_weights(ConvShape s) {
  s.weighted = true;
  return s;
}

/// Moves an innermost axis of one pixel to the front, so that rows are long.
ConvShape transposed(ConvShape s) {
  for (int i = 0; i < 2 && s.in[2] == 1 && s.out[2] == 1 && s.kernel[2] == 1 && s.pad[2] == 0; ++i)
    for (auto* axes : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation, &s.pad})
      std::rotate(std::begin(*axes), std::begin(*axes) + 2, std::end(*axes));
  return s;
}

/// Joins all axes into one if windows are single pixels: the convolution is a plain product then.
ConvShape flattened(ConvShape s) {
  for (int a = 0; a < 3; ++a)
    if (s.kernel[a] != 1 || s.stride[a] != 1 || s.in[a] != s.out[a] || s.pad[a] != 0) return s;
  s.in[2] = s.out[2] = s.in_pixels();
  s.in[0] = s.in[1] = s.out[0] = s.out[1] = 1;
  return s;
}

/// The rows of each slice, and the slices, that an output row needs in scratch.
int64_t rows_seen(const ConvShape& s) { return (s.kernel[1] - 1) * s.dilation[1] + 1; }
int64_t slices_seen(const ConvShape& s) { return s.weighted ? s.kernel[0] : 1; }

/// The output columns and rows of a depthwise plane that are computed at once: all columns, except in planes
/// so wide that a thread would poll too rarely.
int64_t plane_columns(const ConvShape& s) {
  const int64_t reach = rows_seen(s) * slices_seen(s);
  const int64_t most = std::max<int64_t>(1, wide_plane_floats / (reach * s.stride[2] * 16)) * 16;
  return std::clamp<int64_t>(s.out[2], 1, most);
}
int64_t plane_rows(const ConvShape& s) {
  const int64_t row = PlaneLayout(s, plane_columns(s)).row * slices_seen(s);
  return std::clamp<int64_t>((plane_floats / row - rows_seen(s)) / s.stride[1] + 1, 1,
                             std::max<int64_t>(1, s.out[1]));
}
/// Volumes need one more row for the reduction of slices; if windows have several rows, more than that is
/// free anyway.
int64_t plane_scratch(const ConvShape& s) {
  const int64_t rows = ((plane_rows(s) - 1) * s.stride[1] + rows_seen(s)) * slices_seen(s);
  // Vectors of every other column read one float more.
  return ((rows + s.volume) * PlaneLayout(s, plane_columns(s)).row + 1 + 15) / 16 * 16;
}

/// The division of a product with patches.
struct Division {
  Division(const GemmKernels& g, const ConvShape& s, int threads)
      : rows(s.out_channels / s.groups),
        tiles(rows, g.MR),
        blocks((s.out_pixels() + block_pixels - 1) / block_pixels) {
    while (tasks(s) < int64_t{3} * threads && threads > 1 && tiles_together > min_tiles) tiles_together /= 2;
  }
  int64_t tile_groups() const { return (tiles.count() + tiles_together - 1) / tiles_together; }
  int64_t tasks(const ConvShape& s) const { return s.batch * s.groups * blocks * tile_groups(); }

  int64_t rows;
  RowTiles tiles;
  int64_t blocks, tiles_together = max_tiles;
};

int64_t patch_depth(const ConvShape& s) { return std::min(patch_block, s.depth()); }

/// The runs of the pixels of one block.
struct BlockRuns {
  BlockRuns(const ConvShape& s, int64_t begin, int64_t end, int64_t NR, int64_t depth) {
    const int64_t padded = (end - begin + NR - 1) / NR * NR;
    for (int64_t i = 0; i < padded;) {
      const int64_t pixel = begin + i, lane = i % NR, x = pixel % s.out[2];
      PatchRun& r = runs[static_cast<size_t>(count++)];
      r = {.to = i / NR * NR * depth + lane, .length = NR - lane, .at = {}, .empty = pixel >= end};
      if (!r.empty) {
        r.length = std::min({r.length, s.out[2] - x, end - pixel});
        r.at[0] = pixel / s.out[2] / s.out[1];
        r.at[1] = pixel / s.out[2] % s.out[1];
        r.at[2] = x;
      }
      i += r.length;
    }
  }
  std::array<PatchRun, block_pixels + 1> runs;
  int64_t count = 0;
};

}  // namespace

bool fits_planes(const ConvShape& s) {
  return s.kernel[0] <= farthest_tap && s.kernel[1] * s.kernel[2] <= max_plane_taps && is_near(s, 1) &&
         is_near(s, 2);
}

size_t planes_workspace(const ConvShape& s, int threads) {
  const int64_t slices = s.batch * s.groups * s.out[0];
  return static_cast<size_t>(task_slots(slices, threads) * plane_scratch(s)) * sizeof(float);
}

namespace {

/// Applies the epilogue to rows [r0, r1) and columns [c0, c1) of an output slice, which are final.
void apply_rows(Epilogue& e, const ConvShape& s, int64_t slice, int64_t r0, int64_t r1, int64_t c0,
                int64_t c1) {
  e.apply_rows((slice * s.out[1] + r0) * s.out[2] + c0, c1 - c0, r1 - r0, s.out[2]);
}

}  // namespace

void planes(void (*kernel)(const Plane&), const Planes& p, void* workspace, KernelContext& c) {
  const ConvShape& s = p.shape;
  const int64_t rows = plane_rows(s), columns = plane_columns(s), size = plane_scratch(s);
  for_each_task(c, s.batch * s.groups * s.out[0], [&](int64_t task, int64_t slot) {
    const int64_t plane = task / s.out[0], slice = task % s.out[0], channel = plane % s.groups;
    for (int64_t row = 0; row < s.out[1]; row += rows)
      for (int64_t column = 0; column < s.out[2]; column += columns) {
        c.poll();
        kernel({.shape = &s,
                .image = p.x + plane * s.in_pixels(),
                .weights = p.weights ? p.weights + channel * s.taps() : nullptr,
                .start = p.bias ? p.bias[channel] : p.start,
                .row_factor = p.row_factor,
                .column_factor = p.column_factor,
                .slice_factor = p.slice_factor ? p.slice_factor[slice] : 1,
                .slice = slice,
                .row0 = row,
                .row1 = std::min(row + rows, s.out[1]),
                .column0 = column,
                .column1 = std::min(column + columns, s.out[2]),
                .scratch = static_cast<float*>(workspace) + slot * size,
                .to = p.y + plane * s.out_pixels()});
        if (Epilogue* e = c.epilogue())
          apply_rows(*e, s, task, row, std::min(row + rows, s.out[1]), column,
                     std::min(column + columns, s.out[2]));
      }
  });
}

int64_t packed_conv_weights_size(const GemmKernels& g, const ConvShape& s) {
  if (is_depthwise(s)) return s.groups * s.taps();
  return s.groups * packed_a_size(s.out_channels / s.groups, s.depth());
}

void pack_conv_weights(const GemmKernels& g, const ConvShape& s, const float* weights, float* to,
                       Workers& workers) {
  if (is_depthwise(s)) {
    std::copy_n(weights, s.groups * s.taps(), to);
    return;
  }
  const int64_t rows = s.out_channels / s.groups, depth = s.depth();
  for (int64_t i = 0; i < s.groups; ++i)
    pack_whole_a(g, to + i * packed_a_size(rows, depth), {weights + i * rows * depth, depth, 1}, rows, depth,
                 workers);
}

namespace {

/// The floats of depthwise weights that are widened all at once, in whole cache lines.
int64_t wide_planes_weights(const ConvShape& s, bool f16) {
  return f16 ? (s.groups * s.taps() + 15) / 16 * 16 : 0;
}

/// A slot of scratch: patches and, if weights are widened, those of a group of tiles.
struct Slot {
  Slot(const GemmKernels& g, const ConvShape& s, const Division& d, bool f16)
      : patches(block_pixels * patch_depth(s)),
        size(patches + (f16 ? d.tiles_together * g.MR * blocked(patch_depth(s)) : 0)) {}
  int64_t patches, size;  // floats
};

}  // namespace

size_t conv_workspace(const GemmKernels& g, const ConvShape& given, bool f16, int threads) {
  const ConvShape shape = transposed(given);
  if (shape.batch == 0 || shape.out_pixels() == 0 || shape.out_channels == 0) return 0;
  const ConvShape s = flattened(shape);
  if (is_depthwise(shape))
    return static_cast<size_t>(wide_planes_weights(shape, f16)) * sizeof(float) +
           planes_workspace(with_weights(shape), threads);
  const Division d(g, s, threads);
  return static_cast<size_t>(task_slots(d.tasks(s), threads) * Slot(g, s, d, f16).size) * sizeof(float);
}

void conv(Isa isa, const ConvShape& given, const float* x, const ConvWeights& weights, const float* bias,
          float* y, void* workspace, KernelContext& c) {
  const ConvShape shape = transposed(given);
  if (shape.batch == 0 || shape.out_pixels() == 0 || shape.out_channels == 0) return;
  if (is_depthwise(shape)) {
    const auto* taps = static_cast<const float*>(weights.data);
    float* const wide = static_cast<float*>(workspace);
    if (weights.f16()) {
      widen(isa, weights.type, weights.data, wide, shape.groups * shape.taps(), c);
      taps = wide;
    }
    return planes(conv_kernels(isa).weighted_sum,
                  {.shape = with_weights(shape), .x = x, .weights = taps, .bias = bias, .y = y},
                  wide + wide_planes_weights(shape, weights.f16()), c);
  }

  const ConvShape s = flattened(shape);
  const GemmKernels& g = gemm_kernels(isa);
  const ConvKernels& kernels = conv_kernels(isa);
  const Division d(g, s, c.threads());
  const int64_t depth = s.depth(), pixels = s.out_pixels(), groups_of_tiles = d.tile_groups();
  const int64_t weights_of_group = packed_a_size(d.rows, depth);
  const Slot size(g, s, d, weights.f16());

  for_each_task(c, d.tasks(s), [&](int64_t task, int64_t slot) {
    // Neighboring tasks share the image, then the weights.
    const int64_t t0 = task % groups_of_tiles * d.tiles_together, block = task / groups_of_tiles % d.blocks;
    const int64_t plane = task / groups_of_tiles / d.blocks, group = plane % s.groups;
    const int64_t begin = block * block_pixels, end = std::min(begin + block_pixels, pixels);
    const int64_t t1 = std::min(t0 + d.tiles_together, d.tiles.count());
    float* const patches = static_cast<float*>(workspace) + slot * size.size;
    float* const wide = patches + size.patches;
    const float* const image = x + plane * (s.in_channels / s.groups) * s.in_pixels();

    for (int64_t k0 = 0; k0 == 0 || k0 < depth; k0 += patch_block) {
      const int64_t k1 = std::min(k0 + patch_block, depth);
      const BlockRuns runs(s, begin, end, g.NR, k1 - k0);
      kernels.patches({.shape = &s,
                       .image = image,
                       .runs = runs.runs.data(),
                       .run_count = runs.count,
                       .k0 = k0,
                       .k1 = k1,
                       .NR = g.NR,
                       .to = patches});
      c.poll();
      // Tile t's weights: in place, or widened one tile after the other.
      const auto weights_of = [&](int64_t t) {
        return group * weights_of_group + d.tiles.begin(t) * blocked(depth) + k0 * d.tiles.rows(t);
      };
      const auto widened_at = [&](int64_t t) {
        return wide + (d.tiles.begin(t) - d.tiles.begin(t0)) * blocked(k1 - k0);
      };
      if (weights.f16())
        for (int64_t t = t0; t < t1; ++t)
          widened(isa, weights.type, weights.data, weights_of(t), d.tiles.rows(t) * blocked(k1 - k0),
                  widened_at(t));
      for (int64_t column = begin; column < end; column += g.NR) {
        Tile tile{.b = patches + (column - begin) * (k1 - k0),
                  .b_row = g.NR,
                  .c_row = pixels,
                  .k = k1 - k0,
                  .columns = std::min(g.NR, end - column)};
        for (int64_t t = t0; t < t1; ++t) {
          const int64_t row = d.tiles.begin(t), rows = d.tiles.rows(t), channel = group * d.rows + row;
          tile.a = weights.f16() ? widened_at(t) : static_cast<const float*>(weights.data) + weights_of(t);
          tile.c = y + (plane * d.rows + row) * pixels + column;
          if (k0 > 0)
            tile.start = {tile.c, pixels, 1};
          else
            tile.start = {bias ? bias + channel : nullptr, 1, 0};
          g.run(rows, tile);
        }
      }
    }
    if (Epilogue* e = c.epilogue())
      for (int64_t row = d.tiles.begin(t0); row < d.tiles.begin(t1); ++row)
        e->apply((plane * d.rows + row) * pixels + begin, end - begin);
  });
}

}  // namespace lathe::cpu
