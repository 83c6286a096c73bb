// MaxRoiPool of float32: rows of pixels that a row of bins covers become one, in vectors; bins are cut from
// that.
#include <algorithm>
#include <thread>
#include <vector>

#include "cpu/ceil_of.h"
#include "cpu/elementwise.h"
#include "cpu/movement.h"
#include "cpu/support.h"
#include "ops/max_roi_pool/regions.h"

namespace lathe {
namespace {

/// Pixels worth another thread.
constexpr int64_t pooled_piece = 16384;

/// NaN stays.
float greater(float a, float b) { return b > a || b != b ? b : a; }

/// One region after the other, channel by channel.
class RegionPool {
 public:
  RegionPool(Isa isa, const MaxRoiPool& op, KernelContext& c)
      : width_(c.in(0).dim(3)),
        greatest_(cpu::elementwise_kernels(isa).binary[static_cast<size_t>(cpu::BinaryOp::maximum)]
                                                      [static_cast<size_t>(cpu::RowForm::both)]),
        poll_(c),
        down_(static_cast<size_t>(op.pooled_shape[0]), c.scratch()),
        across_(static_cast<size_t>(op.pooled_shape[1]), c.scratch()),
        row_(static_cast<size_t>(width_), c.scratch()) {}

  void enter(const PoolRegion& region) {
    for (size_t i = 0; i < down_.size(); ++i) down_[i] = region.down(static_cast<int64_t>(i));
    for (size_t j = 0; j < across_.size(); ++j) across_[j] = region.across(static_cast<int64_t>(j));
    poll_.did(static_cast<int64_t>(down_.size() + across_.size()));
  }
  void pool(const float* plane, float* to) {
    const int64_t begin = across_.front().begin, end = across_.back().end;
    for (const PoolBin& down : down_) {
      const bool empty = down.begin >= down.end || begin >= end;
      if (!empty) join_rows(plane, down, begin, end);
      for (const PoolBin& across : across_) *to++ = empty ? 0.0f : greatest_of(across);
      poll_.did(static_cast<int64_t>(across_.size()));
    }
  }

 private:
  void join_rows(const float* plane, const PoolBin& down, int64_t begin, int64_t end) {
    float* const row = row_.data() + begin;
    poll_.copy(plane + down.begin * width_ + begin, end - begin, row);
    for (int64_t y = down.begin + 1; y < down.end; ++y) {
      greatest_(row, plane + y * width_ + begin, row, end - begin);
      poll_.did(end - begin);
    }
  }
  float greatest_of(const PoolBin& across) {
    if (across.begin >= across.end) return 0;
    float most = row_[static_cast<size_t>(across.begin)];
    for (int64_t k = across.begin + 1; k < across.end; ++k)
      most = greater(most, row_[static_cast<size_t>(k)]);
    poll_.did(across.end - across.begin);
    return most;
  }

  const int64_t width_;
  const cpu::BinaryRow greatest_;
  Poller poll_;
  std::pmr::vector<PoolBin> down_, across_;
  std::pmr::vector<float> row_;  // greatest of some rows
};

template <Isa isa>
void max_roi_pool(const MaxRoiPool& op, KernelContext& c) {
  const Tensor &x = c.in(0), &rois = c.in(1);
  float* const to = cpu::floats(c.out(0));
  const int64_t channels = x.dim(1), area = x.dim(2) * x.dim(3),
                bins = op.pooled_shape[0] * op.pooled_shape[1];
  // Checks all regions, even if nothing is pooled.
  for (int64_t r = 0; r < rois.dim(0); ++r) PoolRegion(op, x, rois, r, c);
  if (c.out(0).size() == 0) return;
  // At most one piece for each thread, which allocates its memory once.
  const int64_t planes = rois.dim(0) * channels;
  const int64_t grain =
      std::max(pooled_piece / std::max(area, bins), cpu::ceil_of(planes, int64_t{c.threads()}));
  c.parallel(planes, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
    RegionPool regions(isa, op, c);
    for (int64_t i = begin; i < end; ++i) {
      const PoolRegion region(op, x, rois, i / channels, c);
      if (i == begin || i % channels == 0) regions.enter(region);
      regions.pool(cpu::floats(x) + (region.image * channels + i % channels) * area, to + i * bins);
    }
  });
}

/// The scratch memory of all threads, each of which has its own.
std::optional<size_t> scratch(const MaxRoiPool& op, std::span<const Shape> inputs, std::span<const Shape>) {
  const auto lines = [](int64_t n, size_t each) { return cpu::whole_lines(static_cast<size_t>(n) * each); };
  const auto threads = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const int64_t tasks = std::min(inputs[1][0] * inputs[0][1], threads);
  return static_cast<size_t>(tasks) *
         (lines(op.pooled_shape[0], sizeof(PoolBin)) + lines(op.pooled_shape[1], sizeof(PoolBin)) +
          lines(inputs[0][3], sizeof(float)));
}

}  // namespace

void cpu_max_roi_pool(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<MaxRoiPool>(
        {.op = "MaxRoiPool", .name = cpu::kernel_name("max_roi_pool", isa), .isa = isa, .temporaries = true},
        {.run = max_roi_pool<isa>, .supports = cpu::supports_float32<MaxRoiPool>, .scratch = scratch});
  });
}

}  // namespace lathe
