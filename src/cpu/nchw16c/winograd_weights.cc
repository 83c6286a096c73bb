#include "cpu/nchw16c/winograd_weights.h"

#include <algorithm>
#include <bit>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/blocked_tile.h"
#include "cpu/nchw16c/blocked_winograd.h"

namespace lathe::cpu {
namespace {

constexpr int64_t max_taps = 25;
/// How many vectors of filters, with all of their taps, prefetches are ahead.
constexpr int64_t vectors_ahead = 8;

/// Calls f(first filter of the panel, its filters, first channel, channels) for every panel and some
/// channels at a time.
template <class F>
void for_each_piece(Isa isa, const BlockedShape& s, int64_t some_channels, Workers& workers, F&& f) {
  const BlockedTiles& t = blocked_tiles(isa);
  const int64_t all = s.out_blocks() * channel_block, pieces = ceil_of(s.channels, some_channels);
  workers.parallel(t.panels(s.out_blocks()) * pieces, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      workers.poll();
      const int64_t first = i / pieces * t.panel_filters(), channel = i % pieces * some_channels;
      f(first, std::min(t.panel_filters(), all - first), channel,
        std::min(some_channels, s.channels - channel));
    }
  });
}

}  // namespace

size_t form_of(Filtering f) {
  return static_cast<size_t>(std::find(std::begin(filterings), std::end(filterings), f) - filterings);
}

int64_t winograd_points_size(const BlockedShape& s, Filtering f) {
  return f.points() * s.out_blocks() * channel_block * s.channels;
}
int64_t winograd_weights_size(const BlockedShape& s, Filtering f) {
  return winograd_points_size(s, f) + untransformed_weights_size(s);
}

void pack_winograd_weights(Isa isa, const BlockedShape& s, Filtering form, const float* weights, float* to,
                           Workers& workers) {
  // Each point has an array of its own, and writes to one should be longer than a line.
  constexpr int64_t some_channels = 8, max_points = 36, max_filters = 32;
  const int64_t taps = s.taps(), all = s.out_blocks() * channel_block;
  const FilterKernels& k = filter_kernels(isa);
  for_each_piece(isa, s, some_channels, workers,
                 [&](int64_t first, int64_t width, int64_t channel, int64_t n) {
                   float transposed[some_channels * max_taps * channel_block],
                       at_points[max_points * some_channels * max_filters];
                   for (int64_t f = 0; f < width; f += channel_block) {
                     k.transpose(weights + ((first + f) * s.channels + channel) * taps, s.channels * taps,
                                 std::min(channel_block, s.filters - first - f), n * taps, transposed);
                     for (int64_t c = 0; c < n; ++c)
                       k.winograd[form_of(form)](transposed + c * taps * channel_block,
                                                 at_points + c * width + f, n * width);
                   }
                   for (int64_t p = 0; p < form.points(); ++p)
                     std::copy_n(at_points + p * n * width, n * width,
                                 to + (p * all + first) * s.channels + channel * width);
                 });
  pack_untransformed_weights(isa, s, weights, to + winograd_points_size(s, form), workers);
}

namespace {

int64_t untransformed_floats(const BlockedShape& s) {
  return s.out_blocks() * channel_block * s.channels * s.taps();
}

}  // namespace

int64_t untransformed_weights_size(const BlockedShape& s) { return untransformed_floats(s) + channel_block; }

void pack_untransformed_weights(Isa isa, const BlockedShape& s, const float* weights, float* to,
                                Workers& workers) {
  constexpr int64_t some_channels = 16;
  const int64_t taps = s.taps();
  const FilterKernels& k = filter_kernels(isa);
  for_each_piece(isa, s, some_channels, workers,
                 [&](int64_t first, int64_t width, int64_t channel, int64_t n) {
                   float transposed[some_channels * max_taps * channel_block];
                   for (int64_t f = 0; f < width; f += channel_block) {
                     k.transpose(weights + ((first + f) * s.channels + channel) * taps, s.channels * taps,
                                 std::min(channel_block, s.filters - first - f), n * taps, transposed);
                     float* const block = to + (first * s.channels + channel * width + f) * taps;
                     for (int64_t c = 0; c < n; ++c)
                       std::copy_n(transposed + c * taps * channel_block, taps * channel_block,
                                   block + c * width * taps);
                   }
                 });
  // Compares bits, so that NaN is the largest.
  uint32_t most = 0;
  for (int64_t i = 0; i < s.filters * s.channels * taps; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(weights[i]) & 0x7fffffffU);
  std::fill_n(to + untransformed_floats(s), channel_block,
              most < std::bit_cast<uint32_t>(large_weight) ? 0.0f : 1.0f);
}

BlockedImages select_untransformed_weights(const BlockedShape& s, Filtering f, bool untransformed,
                                           BlockedImages images) {
  if (!untransformed) images.weights = static_cast<const float*>(images.weights) + winograd_points_size(s, f);
  return images;
}

UntransformedWeights::UntransformedWeights(Isa isa, const BlockedShape& s, Filtering f,
                                           const BlockedImages& images)
    : isa_(isa),
      s_(s),
      f_(f),
      images_(images),
      kernels_(filter_kernels(isa)),
      tiles_(blocked_tiles(isa)),
      taps_(s.taps()),
      element_(bits_of(images.weights_type) / 8) {}

int64_t UntransformedWeights::width(int64_t first) const {
  return std::min(tiles_.panel_blocks, s_.out_blocks() - first) * channel_block;
}

bool UntransformedWeights::only_direct() const {
  float large[channel_block];
  return widened(isa_, images_.weights_type, images_.weights, untransformed_floats(s_), channel_block,
                 large)[0] != 0;
}

int64_t UntransformedWeights::index(const Piece& p) const {
  return (p.first * channel_block * s_.channels + p.channel * width(p.first)) * taps_;
}

const float* UntransformedWeights::at(const Piece& p) const {
  return reinterpret_cast<const float*>(static_cast<const char*>(images_.weights) + index(p) * element_);
}

void UntransformedWeights::evaluate(const Piece& p, float* to, int64_t point) const {
  const auto quickly = kernels_.winograd_quickly[form_of(f_)];
  const int64_t first = index(p), vectors = p.n * width(p.first) / channel_block,
                vector = taps_ * channel_block;
  alignas(64) float wide[max_taps * channel_block];
  const char* const weights = static_cast<const char*>(images_.weights);
  for (int64_t i = 0; i < vectors; ++i) {
    // They come from memory: nothing has read them since the last run.
    const int64_t soon = (first + (i + vectors_ahead) * vector) * element_;
    for (int64_t byte = 0; byte < vector * element_; byte += 64)
      __builtin_prefetch(weights + soon + byte, 0, 2);
    // Each point's line is written once, and so many stores would wait for their lines.
    for (int64_t k = 0; k < f_.points(); ++k)
      __builtin_prefetch(to + (i + 1) * channel_block + k * point, 1, 3);
    quickly(widened(isa_, images_.weights_type, images_.weights, first + i * vector, vector, wide),
            to + i * channel_block, point);
  }
}

int64_t UntransformedWeights::index(int64_t block, int64_t channel) const {
  const int64_t first = block / tiles_.panel_blocks * tiles_.panel_blocks;
  return index({.first = first, .channel = channel}) + (block - first) * taps_ * channel_block;
}

const float* UntransformedWeights::of_block(int64_t block, int64_t channel, int64_t n, int64_t& stride,
                                            float* buffer) const {
  const int64_t first = block / tiles_.panel_blocks * tiles_.panel_blocks, vector = taps_ * channel_block;
  const int64_t from = index(block, channel), wide = width(first) * taps_;
  if (images_.weights_type == DataType::float32) {
    stride = wide;
    return static_cast<const float*>(images_.weights) + from;
  }
  stride = vector;
  for (int64_t i = 0; i < n; ++i)
    widened(isa_, images_.weights_type, images_.weights, from + i * wide, vector, buffer + i * vector);
  return buffer;
}

const float* UntransformedWeights::after(int64_t block, int64_t channel, int64_t n, int64_t& stride) const {
  const int64_t first = block / tiles_.panel_blocks * tiles_.panel_blocks;
  stride = width(first) * taps_ * element_ / 4;
  int64_t from = 0;
  if (channel + 2 * n <= s_.channels)
    from = index(block, channel + n);
  else if (block + 1 < s_.out_blocks() && width(block + 1) == width(block))
    from = index(block + 1, 0);
  else
    return nullptr;
  return reinterpret_cast<const float*>(static_cast<const char*>(images_.weights) + from * element_);
}

void UntransformedWeights::evaluate_all(float* to, int64_t point, Workers& workers) const {
  constexpr int64_t some_channels = 16;
  for_each_piece(
      isa_, s_, some_channels, workers, [&](int64_t first, int64_t width, int64_t channel, int64_t n) {
        evaluate({first / channel_block, channel, n}, to + first * s_.channels + channel * width, point);
      });
}

}  // namespace lathe::cpu
