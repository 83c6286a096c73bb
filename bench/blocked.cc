// Convolution in channel blocks, one thread, on the layers of well-known networks: GFLOP/s (of the direct
// algorithm's arithmetic, whichever runs) and their share of what the registers alone reach, measured just
// before and after.
//
//   lathe_bench_blocked [avx512|avx2|generic] [part of a layer's name]
//
// LATHE_NO_AMX in the environment leaves AMX out; with LATHE_COLD every call takes weights that no cache
// holds, as in a network.
#include "cpu/nchw16c/blocked.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cpu/simd/amx.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/probe.h"
#include "support/worker_context.h"

#define LATHE_ISA_BODY "cpu/simd/probe_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe {
namespace cpu {
LATHE_SELECT_ISA(Probe, probe)
}  // namespace cpu

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& f) {
  const auto start = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Layer {
  const char* network;
  int64_t in, out, size, kernel, stride;
  bool depthwise = false, nchw = false;
};

constexpr Layer layers[] = {
    {"resnet50 stem", 3, 64, 224, 7, 2, false, true},
    {"resnet50", 64, 64, 56, 1, 1},
    {"resnet50", 64, 256, 56, 1, 1},
    {"resnet50", 256, 64, 56, 1, 1},
    {"resnet50", 256, 128, 56, 1, 1},
    {"resnet50", 128, 512, 28, 1, 1},
    {"resnet50", 512, 128, 28, 1, 1},
    {"resnet50", 256, 1024, 14, 1, 1},
    {"resnet50", 1024, 256, 14, 1, 1},
    {"resnet50", 512, 2048, 7, 1, 1},
    {"resnet50", 2048, 512, 7, 1, 1},
    {"resnet50 down", 256, 512, 56, 1, 2},
    {"resnet50 down", 1024, 2048, 14, 1, 2},
    {"resnet50", 128, 128, 56, 3, 2},
    {"resnet50", 256, 256, 28, 3, 2},
    {"resnet50", 512, 512, 14, 3, 2},
    {"resnet18", 64, 64, 56, 3, 1},
    {"resnet18", 128, 128, 28, 3, 1},
    {"resnet18", 256, 256, 14, 3, 1},
    {"resnet18", 512, 512, 7, 3, 1},
    {"vgg16 stem", 3, 64, 224, 3, 1, false, true},
    {"vgg16", 64, 64, 224, 3, 1},
    {"vgg16", 128, 128, 112, 3, 1},
    {"vgg16", 256, 256, 56, 3, 1},
    {"vgg16", 512, 512, 28, 3, 1},
    {"vgg16", 512, 512, 14, 3, 1},
    {"unet256", 64, 64, 64, 3, 1},
    {"unet256", 128, 128, 64, 3, 1},
    {"unet256", 256, 256, 32, 3, 1},
    {"unet256", 512, 256, 32, 3, 1},
    {"unet256", 512, 512, 16, 3, 1},
    {"densenet", 128, 32, 56, 3, 1},
    {"densenet", 128, 32, 28, 3, 1},
    {"densenet", 128, 32, 14, 3, 1},
    {"densenet", 128, 32, 7, 3, 1},
    {"mnist", 8, 16, 14, 5, 1},
    {"inception", 48, 64, 35, 5, 1},
    {"googlenet", 16, 32, 28, 5, 1},
    {"yolo depth", 64, 64, 56, 5, 1},
    {"mobilenet2 stem", 3, 32, 224, 3, 2, false, true},
    {"mobilenet2", 16, 96, 112, 1, 1},
    {"mobilenet2", 24, 144, 56, 1, 1},
    {"mobilenet2", 144, 24, 56, 1, 1},
    {"mobilenet2", 64, 384, 14, 1, 1},
    {"mobilenet2", 160, 960, 7, 1, 1},
    {"mobilenet2", 32, 32, 112, 3, 1, true},
    {"mobilenet2", 96, 96, 112, 3, 2, true},
    {"mobilenet2", 144, 144, 56, 3, 1, true},
    {"mobilenet2", 384, 384, 14, 3, 1, true},
    {"mobilenet2", 960, 960, 7, 3, 1, true},
    {"efficientnet", 40, 240, 28, 1, 1},
    {"efficientnet", 240, 40, 28, 1, 1},
    {"efficientnet", 80, 480, 14, 1, 1},
    {"efficientnet", 480, 80, 14, 1, 1},
    {"efficientnet", 112, 672, 14, 1, 1},
    {"efficientnet", 672, 112, 14, 1, 1},
    {"efficientnet", 192, 1152, 7, 1, 1},
    {"efficientnet", 1152, 192, 7, 1, 1},
    {"efficientnet", 240, 240, 28, 5, 1, true},
    {"efficientnet", 672, 672, 14, 5, 1, true},
    {"efficientnet", 1152, 1152, 7, 5, 1, true},
};

cpu::BlockedShape shape_of(const Layer& l) {
  cpu::BlockedShape s{.channels = l.in, .filters = l.out, .nchw = l.nchw};
  for (int a : {0, 1}) {
    s.in[a] = l.size;
    s.kernel[a] = l.kernel;
    s.stride[a] = l.stride;
    s.pad[a] = l.kernel / 2;
    s.out[a] = (l.size + 2 * s.pad[a] - l.kernel) / l.stride + 1;
  }
  return s;
}

/// Floats that begin with a cache line, as tensors do.
class Floats {
 public:
  Floats() = default;
  explicit Floats(int64_t n) : lines_(static_cast<size_t>((n + 15) / 16)) {
    test::Random r(static_cast<uint64_t>(n));
    for (Line& l : lines_)
      for (float& x : l.x) x = r();
  }
  float* data() { return lines_.front().x; }

 private:
  struct alignas(64) Line {
    float x[16];
  };
  std::vector<Line> lines_;
};

class Bench {
 public:
  Bench(Isa isa, const Layer& l) : isa_(isa), layer_(l), s_(shape_of(l)) {
    x_ = Floats(s_.nchw ? s_.channels * s_.in_pixels() : s_.in_blocks() * 16 * s_.in_pixels());
    weights_ = Floats(s_.filters * (l.depthwise ? 1 : s_.channels) * s_.taps());
    bias_ = Floats(s_.filters);
    y_ = Floats(s_.out_blocks() * 16 * s_.out_pixels());
  }

  void run() {
    if (layer_.depthwise) {
      pack(cpu::depthwise_weights_size(s_),
           [&](float* to) { cpu::pack_depthwise_weights(s_, weights_.data(), to); });
      measure("depthwise", [&] { cpu::depthwise_convolution(isa_, s_, images(), nullptr, c_); });
      return;
    }
    pack(cpu::direct_weights_size(isa_, s_),
         [&](float* to) { cpu::pack_direct_weights(isa_, s_, weights_.data(), to, c_); });
    void* scratch = c_.workspace(cpu::direct_workspace(isa_, s_, false, 1));
    measure("direct", [&] { cpu::direct_convolution(isa_, s_, images(), scratch, c_); });
    for (const cpu::Filtering f : cpu::filterings) {
      if (!cpu::fits_winograd(s_, f)) continue;
      const std::string name =
          "winograd" + std::to_string(f.output) + (f.taps == 3 ? "" : "_" + std::to_string(f.taps));
      for (const bool untransformed : {false, true}) {
        pack(untransformed ? cpu::untransformed_weights_size(s_) : cpu::winograd_weights_size(s_, f),
             [&](float* to) {
               if (untransformed)
                 cpu::pack_untransformed_weights(isa_, s_, weights_.data(), to, c_);
               else
                 cpu::pack_winograd_weights(isa_, s_, f, weights_.data(), to, c_);
             });
        scratch = c_.workspace(cpu::winograd_workspace(isa_, s_, f, untransformed, 1));
        measure(name + (untransformed ? ".untransformed" : ""),
                [&] { cpu::winograd_convolution(isa_, s_, f, untransformed, images(), scratch, c_); });
      }
    }
  }

 private:
  /// Packs once, or with LATHE_COLD so many copies that no cache holds them.
  void pack(int64_t n, const std::function<void(float*)>& pack_to) {
    constexpr int64_t uncached = int64_t{32} << 20;
    each_ = (n + 15) / 16 * 16;
    copies_ = std::getenv("LATHE_COLD") ? uncached / each_ + 1 : 1;
    packed_ = Floats(copies_ * each_);
    for (int64_t i = 0; i < copies_; ++i) pack_to(packed_.data() + i * each_);
  }
  cpu::BlockedImages images() {
    next_ = (next_ + 1) % copies_;
    return {.x = x_.data(), .weights = packed_.data() + next_ * each_, .bias = bias_.data(), .y = y_.data()};
  }

  double peak() const {
    float out[16];
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      double flops = 0;
      const double t = seconds([&] { flops = cpu::probe(isa_).arithmetic(40000, out); });
      best = std::max(best, flops / t);
    }
    return best;
  }

  void measure(const std::string& algorithm, const std::function<void()>& f) {
    f();
    const double once = seconds(f);
    const int together = std::max(1, static_cast<int>(0.002 / once));
    std::vector<double> times;
    double top = peak();
    for (int i = 0; i < 25; ++i)
      times.push_back(seconds([&] {
                        for (int j = 0; j < together; ++j) f();
                      }) /
                      together);
    top = std::max(top, peak());
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2], best = times[0];
    const double flops = 2.0 * static_cast<double>(s_.filters * s_.out_pixels() * s_.taps()) *
                         static_cast<double>(layer_.depthwise ? 1 : s_.channels);
    std::printf(
        "%-16s %4lld -> %4lld %3lld^2 k%lld s%lld  %-16s %9.1f us  %7.1f GFLOP/s  %5.1f %%  (best %7.1f, "
        "%5.1f %%)\n",
        layer_.network, static_cast<long long>(layer_.in), static_cast<long long>(layer_.out),
        static_cast<long long>(layer_.size), static_cast<long long>(layer_.kernel),
        static_cast<long long>(layer_.stride), algorithm.c_str(), median * 1e6, flops / median * 1e-9,
        100 * flops / median / top, flops / best * 1e-9, 100 * flops / best / top);
    std::fflush(stdout);
  }

  Isa isa_;
  const Layer& layer_;
  cpu::BlockedShape s_;
  Floats x_, weights_, bias_, y_, packed_;
  int64_t copies_ = 1, each_ = 0, next_ = 0;  // of packed weights
  test::WorkerContext c_;
};

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  using namespace lathe;
  Isa isa = test::usable_isas().back();
  for (Isa i : test::usable_isas())
    if (argc > 1 && name_of(i) == argv[1]) isa = i;
  cpu::use_amx(!std::getenv("LATHE_NO_AMX"));
  for (const Layer& l : layers)
    if (argc < 3 || std::strstr(l.network, argv[2])) Bench(isa, l).run();
}
