#include "ops/grid_sample/grid_sample.h"

#include <array>

#include "ops/movement.h"
#include "ops/numeric_store.h"

namespace lathe {
namespace {

/// What one axis contributes to one sample: up to four indices (-1: outside, counts as 0) with weights.
struct GridTaps {
  int count = 1;
  std::array<int64_t, 4> index{};
  std::array<double, 4> weight{1, 0, 0, 0};
};

/// Mirrors at both borders until it is within.
template <class F>
F reflected(F x, F low, F high) {
  const F range = high - low;
  if (!(range > 0)) return low;
  const F beyond = x < low ? low - x : x > high ? x - high : 0;
  if (beyond == 0) return x;
  const F times = std::floor(beyond / range), rest = beyond - times * range;
  const bool same_side = std::fmod(times, F(2)) == 0;
  return (x < low) == same_side ? low + rest : high - rest;
}

/// The taps of one axis of `size` elements for a coordinate from -1 to 1. F is the precision of coordinates:
/// it decides ties.
template <class F>
GridTaps grid_taps(const GridSample& op, int64_t size, F coordinate) {
  const F n = static_cast<F>(size);
  const F low = op.align_corners ? F(0) : F(-0.5), high = op.align_corners ? n - 1 : n - F(0.5);
  F x = op.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  // So far outside nothing tells one place from another; NaN lies nowhere.
  x = x == x ? std::clamp(x, F(-1e9), F(1e9)) : F(-1e9);
  if (op.mode == "nearest") x = std::nearbyint(x);
  if (x < low || x > high) {
    if (op.padding_mode == "border") x = std::clamp(x, F(0), n - 1);
    if (op.padding_mode == "reflection") x = reflected(x, low, high);
  }
  const auto pixel = [&](int64_t i) -> int64_t {
    if (i >= 0 && i < size) return i;
    if (op.padding_mode == "zeros") return -1;
    if (op.padding_mode == "reflection")
      i = static_cast<int64_t>(
          reflected(static_cast<double>(i), static_cast<double>(low), static_cast<double>(high)));
    return std::clamp<int64_t>(i, 0, size - 1);
  };
  GridTaps t;
  const auto base = static_cast<int64_t>(std::floor(x));
  const double r = static_cast<double>(x) - static_cast<double>(base);
  if (op.mode == "nearest") {
    t.index[0] = pixel(static_cast<int64_t>(x));
  } else if (op.mode == "linear") {
    t.count = 2;
    t.index = {pixel(base), pixel(base + 1)};
    t.weight = {1 - r, r};
  } else {
    constexpr double a = -0.75;
    const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    t.count = 4;
    t.index = {pixel(base - 1), pixel(base), pixel(base + 1), pixel(base + 2)};
    t.weight = {far(r + 1), near(r), near(1 - r), far(2 - r)};
  }
  return t;
}

/// Always three axes: missing outer ones have one element.
struct GridGeometry {
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t batch, channels, samples, axes;
  GridGeometry(const Tensor& image, const Tensor& grid)
      : batch(image.dim(0)),
        channels(image.dim(1)),
        samples(1),
        axes(static_cast<int64_t>(image.rank()) - 2) {
    for (int64_t a = 0; a < axes; ++a)
      size[static_cast<size_t>(3 - axes + a)] = image.dim(static_cast<size_t>(2 + a));
    for (size_t a = 1; a + 1 < grid.rank(); ++a) samples *= grid.dim(a);
  }
  int64_t area() const { return size[0] * size[1] * size[2]; }
};

template <class F>
std::array<GridTaps, 3> sample_taps(const GridSample& op, const GridGeometry& g, const Tensor& grid,
                                    int64_t sample) {
  std::array<GridTaps, 3> taps;
  for (int64_t a = 0; a < g.axes; ++a) {
    // Coordinates come innermost axis first.
    const auto axis = static_cast<size_t>(2 - a);
    taps[axis] = grid_taps<F>(op, g.size[axis], static_cast<F>(load_double(grid, sample * g.axes + a)));
  }
  return taps;
}

/// Calls f(offset within a channel, weight) for every tap that lies inside.
template <class F>
void for_taps(const std::array<GridTaps, 3>& taps, const GridGeometry& g, F&& f) {
  for (size_t z = 0; z < static_cast<size_t>(taps[0].count); ++z)
    for (size_t y = 0; y < static_cast<size_t>(taps[1].count); ++y)
      for (size_t x = 0; x < static_cast<size_t>(taps[2].count); ++x) {
        const int64_t i = taps[0].index[z], j = taps[1].index[y], k = taps[2].index[x];
        if (i < 0 || j < 0 || k < 0) continue;
        f((i * g.size[1] + j) * g.size[2] + k, taps[0].weight[z] * taps[1].weight[y] * taps[2].weight[x]);
      }
}

/// Calls f(plane of the image, place in the output, taps) for every element of the output.
template <class F>
void for_samples(const GridSample& op, const Tensor& image, const Tensor& grid, KernelContext& c, F&& f) {
  const GridGeometry g(image, grid);
  c.parallel(g.batch * g.samples, std::max<int64_t>(1, 4096 / std::max<int64_t>(g.channels, 1)),
             [&](int64_t begin, int64_t end) {
               Poller poll(c);
               for (int64_t s = begin; s < end; ++s) {
                 poll.did(64);
                 const auto taps = grid.type() == DataType::float64 ? sample_taps<double>(op, g, grid, s)
                                                                    : sample_taps<float>(op, g, grid, s);
                 const int64_t n = s / g.samples;
                 for (int64_t channel = n * g.channels; channel < (n + 1) * g.channels; ++channel) {
                   poll.did(64);
                   f(channel * g.area(), channel * g.samples + s % g.samples, taps, g);
                 }
               }
             });
}

void grid_sample(const GridSample& op, KernelContext& c) {
  const Tensor &image = c.in(0), &grid = c.in(1);
  if (grid.rank() != image.rank() || grid.dim(0) != image.dim(0) ||
      grid.shape().back() != static_cast<int64_t>(image.rank()) - 2)
    c.fail(Code::run_bad_shape, "a grid that fits the image " + describe(image), describe(grid));
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  if (image.size() == 0) c.fail(Code::run_bad_value, "an image to sample", describe(image));
  if (op.mode == "nearest")
    return for_size(image.type(), [&]<class T> {
      const T* from = image.as<T>().data();
      T* to = out.as<T>().data();
      for_samples(op, image, grid, c, [&](int64_t plane, int64_t place, const auto& taps, const auto& g) {
        to[place] = T{};
        for_taps(taps, g, [&](int64_t offset, double) { to[place] = from[plane + offset]; });
      });
    });
  const int64_t parts = parts_of(image.type());
  for_parts(image.type(), [&]<class T> {
    const T* from = static_cast<const T*>(image.data());
    T* to = static_cast<T*>(out.data());
    for_samples(op, image, grid, c, [&](int64_t plane, int64_t place, const auto& taps, const auto& g) {
      for (int64_t part = 0; part < parts; ++part) {
        double sum = 0;
        for_taps(taps, g, [&](int64_t offset, double weight) {
          sum += weight * static_cast<double>(Element<T>::load(from[(plane + offset) * parts + part]));
        });
        to[place * parts + part] = store_rounded<T>(sum);
      }
    });
  });
}

}  // namespace

void reference_grid_sample(KernelCatalog& k) { k.reference<GridSample>("GridSample", grid_sample); }

}  // namespace lathe
