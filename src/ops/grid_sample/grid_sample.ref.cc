#include "ops/grid_sample/grid_sample.h"

#include "ops/grid_sample/grid_taps.h"
#include "ops/movement.h"
#include "ops/numeric_store.h"

namespace lathe {
namespace {

/// Calls f(offset within a channel, weight) for every tap inside the image.
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

/// Calls f(plane of the image, index in the output, taps) for every element of the output.
template <class F>
void for_samples(const GridSample& op, const Tensor& image, const Tensor& grid, KernelContext& c, F&& f) {
  const GridGeometry g(image, grid);
  const GridRule rule(op);
  c.parallel(g.batch * g.samples, std::max<int64_t>(1, 4096 / std::max<int64_t>(g.channels, 1)),
             [&](int64_t begin, int64_t end) {
               Poller poll(c);
               for (int64_t s = begin; s < end; ++s) {
                 poll.did(64);
                 const auto taps = grid.type() == DataType::float64 ? sample_taps<double>(rule, g, grid, s)
                                                                    : sample_taps<float>(rule, g, grid, s);
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
  check_grid(c);
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
