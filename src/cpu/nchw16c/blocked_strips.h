// The parts of direct convolution in channel blocks: a strip of output rows, read in place or from a padded
// copy, in tiles, one panel of filters after the other. Shared by direct convolution and by
// convolution–depthwise fusion.
#pragma once

#include "cpu/ceil_of.h"
#include "cpu/gemm.h"
#include "cpu/nchw16c/blocked_epilogue.h"
#include "cpu/nchw16c/blocked_tile.h"

namespace lathe::cpu {

inline int64_t whole_lines(int64_t floats) { return ceil_of(floats, 16) * 16; }

inline const BlockedTiles& tiles_of(Isa isa, const BlockedShape& s) {
  return s.bf16_dot2 ? blocked_bf16_dot2_tiles(isa) : blocked_tiles(isa);
}

/// The offsets of an output's terms, in memory with `row_pixels` pixels a row and `rows` rows a plane.
struct Steps {
  explicit Steps(const BlockedShape& s) : shape(s) {
    if (s.nchw) {
      neighbors = s.dilation[1] == 1;
      depth = neighbors ? s.kernel[1] : 1;
      count = s.channels * s.taps() / depth;
    } else {
      const int64_t left = s.channels % channel_block;
      depth = pixel();
      count = s.channels / channel_block * s.taps();
      last_depth = s.bf16_dot2 ? (left + 1) / 2 : left;
      last_count = left ? s.taps() : 0;
    }
  }
  int64_t total() const { return count + last_count; }
  /// The floats of one block of a pixel: in the image, and in the memory that tiles read.
  int64_t image_pixel() const { return shape.nchw ? 1 : channel_block; }
  int64_t pixel() const { return shape.bf16_dot2 ? channel_block / 2 : image_pixel(); }
  int64_t planes() const { return shape.nchw ? shape.channels : shape.in_blocks(); }

  void fill(int64_t* to, int64_t row_pixels, int64_t rows) const {
    const int64_t columns = neighbors ? 1 : shape.kernel[1];
    for (int64_t plane = 0; plane < planes(); ++plane)
      for (int64_t i = 0; i < shape.kernel[0]; ++i)
        for (int64_t j = 0; j < columns; ++j)
          *to++ = ((plane * rows + i * shape.dilation[0]) * row_pixels + j * shape.dilation[1]) * pixel();
  }

  const BlockedShape& shape;
  bool neighbors = false;  // true if the taps of a row are contiguous, as one step
  int64_t count = 0, depth = 0, last_count = 0, last_depth = 0;
};

/// A convolution divided into tiles, and the memory that they read.
struct TiledRows {
  TiledRows(const BlockedTiles& t, const BlockedShape& shape);
  TiledRows(const TiledRows&) = delete;  // steps refer to the shape

  /// Sets the size of the largest strip.
  void hold(int64_t out_rows, int64_t out_columns) {
    row_pixels = in_place ? s.in[1] : (out_columns - 1) * s.stride[1] + s.reach(1);
    rows = in_place ? s.in[0] : (out_rows - 1) * s.stride[0] + s.reach(0);
  }
  int64_t row() const { return row_pixels * steps.pixel(); }
  /// The floats of the copy of a strip, and of the list of steps.
  int64_t strip_size() const { return in_place ? 0 : whole_lines(steps.planes() * rows * row()); }
  int64_t steps_size() const {
    return whole_lines(steps.total() * static_cast<int64_t>(sizeof(int64_t) / sizeof(float)));
  }
  /// A tile with the values that all tiles share.
  BlockedTile tile(const int64_t* list, int64_t y_block, const Bounds& bounds) const {
    return {.steps = list,
            .count = steps.count,
            .depth = steps.depth,
            .last_count = steps.last_count,
            .last_depth = steps.last_depth,
            .stride = s.stride[1] * steps.pixel(),
            .y_block = y_block,
            .bounds = bounds};
  }

  BlockedShape s;
  Steps steps;
  RowTiles tiles;
  bool in_place;  // true if the image is read without a copy
  int64_t panels;
  int64_t row_pixels = 0, rows = 0;  // of the memory that tiles read
};

/// The rows and tiles of a strip.
struct Piece {
  int64_t row0, row1, tile0, tile1;
};

/// Returns the input of the first tap of a strip's first output pixel: in the image, or in a copy in
/// `buffer`, padded and scaled.
const float* begin_strip(Isa isa, const TiledRows& d, const float* image, const ChannelScaling& by,
                         const Piece& piece, float* buffer);
/// The floats of one panel of weights.
inline int64_t panel_size(const BlockedTiles& t, const BlockedShape& s) {
  return s.terms() * s.taps() * t.panel_filters();
}
/// Computes a panel of a strip. `tile` is that of TiledRows, with the x of the strip's first pixel and, as y,
/// the destination of that pixel, from which `pixel_epilogue` counts. `buffer` is for a panel of weights that
/// is widened or gated.
void compute_panel(Isa isa, const TiledRows& d, const Piece& piece, BlockedTile tile, int64_t panel,
                   const BlockedImages& images, float* buffer, PixelEpilogue& pixel_epilogue,
                   Workers& workers);

}  // namespace lathe::cpu
