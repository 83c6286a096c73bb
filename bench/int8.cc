// Quantized convolutions and products, one thread, on the layers of ResNet-50, MobileNetV2 and BERT: billions
// of multiplications with additions a second, best of many runs.
//
//   lathe_bench_int8 [avx512|avx2|generic] [part of a layer's name]
//
// LATHE_NO_VNNI in the environment leaves VNNI (and AMX) out, LATHE_NO_AMX only AMX. Weights come from
// memory, not from the cache.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cpu/quantized/int8_winograd.h"
#include "cpu/simd/isa.h"
#include "support/worker_context.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

struct Layer {
  const char* network;
  int64_t in, out, size, kernel, stride;
  bool adds = false, depthwise = false;
};
constexpr Layer layers[] = {
    {"resnet50 stem", 3, 64, 224, 7, 2},
    {"resnet50", 64, 64, 56, 1, 1},
    {"resnet50", 64, 64, 56, 3, 1},
    {"resnet50", 64, 256, 56, 1, 1},
    {"resnet50 sum", 64, 256, 56, 1, 1, true},
    {"resnet50", 256, 64, 56, 1, 1},
    {"resnet50 sum", 128, 512, 28, 1, 1, true},
    {"resnet50", 128, 128, 28, 3, 1},
    {"densenet", 128, 32, 28, 3, 1},
    {"unet", 32, 32, 256, 3, 1},
    {"resnet50 sum", 256, 1024, 14, 1, 1, true},
    {"resnet50", 256, 256, 14, 3, 1},
    {"resnet50 sum", 512, 2048, 7, 1, 1, true},
    {"resnet50", 2048, 512, 7, 1, 1},
    {"resnet50", 512, 512, 7, 3, 1},
    {"mobilenetv2", 16, 96, 112, 1, 1},
    {"mobilenetv2", 24, 144, 56, 1, 1},
    {"mobilenetv2", 144, 24, 56, 1, 1},
    {"mobilenetv2", 32, 192, 28, 1, 1},
    {"mobilenetv2 sum", 192, 32, 28, 1, 1, true},
    {"mobilenetv2 depthwise", 144, 144, 56, 3, 1, false, true},
    {"mobilenetv2 depthwise", 576, 576, 14, 3, 2, false, true},
};
struct Product {
  const char* network;
  int64_t m, n, k;
};
constexpr Product products[] = {{"bert", 128, 768, 768},
                                {"bert", 128, 3072, 768},
                                {"bert", 128, 768, 3072},
                                {"classifier", 1, 1000, 2048}};

/// Lines, whichever the first element.
class Memory {
 public:
  explicit Memory(size_t bytes) : data_(bytes + 64, 1) {}
  uint8_t* begin() { return data_.data() + (64 - reinterpret_cast<uintptr_t>(data_.data()) % 64) % 64; }

 private:
  std::vector<uint8_t> data_;
};

/// Packed weights, so many times that no cache holds all.
class Weights {
 public:
  explicit Weights(int64_t bytes)
      : bytes_((bytes + 63) / 64 * 64),
        copies_(1 + (int64_t{96} << 20) / bytes_),
        memory_(static_cast<size_t>(bytes_ * copies_)) {}
  int8_t* first() { return reinterpret_cast<int8_t*>(memory_.begin()); }
  void spread() {
    for (int64_t i = 1; i < copies_; ++i)
      std::memcpy(first() + i * bytes_, first(), static_cast<size_t>(bytes_));
  }
  const int8_t* next() { return first() + next_++ % copies_ * bytes_; }

 private:
  int64_t bytes_, copies_, next_ = 0;
  Memory memory_;
};

double best_of(const std::function<void()>& f) {
  double best = 1e9;
  for (int i = 0; i < 60; ++i) {
    const auto start = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

void report(const std::string& what, double work, double seconds) {
  std::printf("%-44s %8.1f us  %6.1f G/s\n", what.c_str(), seconds * 1e6, work / seconds * 1e-9);
}

void measure(Isa isa, const Layer& l, bool winograd) {
  cpu::BlockedShape s{.channels = l.in, .filters = l.out};
  for (int a : {0, 1}) {
    s.in[a] = l.size, s.kernel[a] = l.kernel, s.stride[a] = l.stride, s.pad[a] = l.kernel / 2;
    s.out[a] = (l.size + 2 * s.pad[a] - l.kernel) / l.stride + 1;
  }
  const cpu::Int8ConvShape conv{s};
  test::WorkerContext c(1);
  if (winograd && (l.depthwise || !cpu::fits_int8_winograd(conv))) return;
  const int64_t inner = l.depthwise ? 1 : l.in;
  const std::vector<int8_t> plain(static_cast<size_t>(l.out * inner * s.taps()), 1);
  Weights w(l.depthwise ? cpu::int8_depthwise_weights_size(s)
            : winograd  ? cpu::int8_winograd_weights_size(conv)
                        : cpu::int8_conv_weights_size(conv));
  if (l.depthwise)
    cpu::pack_int8_depthwise(s, plain.data(), true, w.first());
  else if (winograd)
    cpu::pack_int8_winograd(conv, plain.data(), true, w.first(), c);
  else
    cpu::pack_int8_conv(conv, plain.data(), true, w.first(), c);
  w.spread();
  const auto image = [&](int64_t blocks, int64_t pixels) {
    return Memory(static_cast<size_t>(blocks * pixels * cpu::channel_block));
  };
  Memory x = image(s.in_blocks(), s.in_pixels()), y = image(s.out_blocks(), s.out_pixels()),
         other = image(s.out_blocks(), s.out_pixels());
  Memory scratch(l.depthwise ? cpu::int8_depthwise_workspace(s)
                 : winograd  ? cpu::int8_winograd_workspace(isa, conv, 1)
                             : cpu::int8_conv_workspace(isa, conv, 1));
  const auto lanes = static_cast<size_t>(cpu::panels(l.out) * cpu::panel_filters);
  const std::vector<int32_t> start(lanes);
  const std::vector<float> factor(lanes, 0.01f), shift(lanes);
  cpu::Int8Images images{.x = x.begin(), .start = start.data(), .other = other.begin(), .y = y.begin()};
  images.requant.factor = factor.data();
  images.requant.shift = shift.data();
  images.requant.adds = l.adds;
  images.requant.find_shortcut(l.out);
  const double seconds = best_of([&] {
    images.weights = w.next();
    if (l.depthwise)
      cpu::int8_depthwise(isa, s, images, scratch.begin(), c);
    else if (winograd)
      cpu::int8_winograd(isa, conv, images, scratch.begin(), c);
    else
      cpu::int8_convolution(isa, conv, images, scratch.begin(), c);
  });
  const std::string name = std::string(l.network) + " " + std::to_string(l.in) + " -> " +
                           std::to_string(l.out) + ", " + std::to_string(l.size) + ", k" +
                           std::to_string(l.kernel) + " s" + std::to_string(l.stride) +
                           (winograd ? " Winograd" : "");
  report(name, static_cast<double>(l.out * inner * s.taps() * s.out_pixels()), seconds);
}

void measure(Isa isa, const Product& p) {
  test::WorkerContext c(1);
  const std::vector<int8_t> plain(static_cast<size_t>(p.n * p.k), 1);
  Weights w(cpu::packed_matrix_bytes(p.k, p.n));
  cpu::pack_matrix({plain.data(), true}, p.k, p.n, w.first(), c);
  w.spread();
  Memory a(static_cast<size_t>(p.m * p.k)), y(static_cast<size_t>(p.m * p.n) * sizeof(float)),
      scratch(cpu::int8_product_workspace(isa, p.m, p.k));
  const std::vector<float> scale(static_cast<size_t>(cpu::panels(p.n) * cpu::panel_filters), 0.1f);
  cpu::Int8Product b{.m = p.m, .n = p.n, .k = p.k};
  b.a = a.begin();
  b.scale = scale.data();
  b.floats = reinterpret_cast<float*>(y.begin());
  const double seconds = best_of([&] {
    b.b = w.next();
    cpu::multiply_int8(isa, b, scratch.begin(), c);
  });
  report(std::string(p.network) + " " + std::to_string(p.m) + " x " + std::to_string(p.k) + " x " +
             std::to_string(p.n),
         static_cast<double>(p.m * p.n * p.k), seconds);
}

}  // namespace
}  // namespace lathe

int main(int count, char** arguments) {
  using namespace lathe;
  Isa isa = test::usable_isas().back();
  std::string part;
  for (int i = 1; i < count; ++i) {
    bool known = false;
    for (Isa one : test::usable_isas())
      if (arguments[i] == std::string(name_of(one))) isa = one, known = true;
    if (!known) part = arguments[i];
  }
  cpu::use_vnni(!std::getenv("LATHE_NO_VNNI"));
  cpu::use_amx(!std::getenv("LATHE_NO_AMX"));
  const auto wanted = [&](const char* name) { return std::string(name).find(part) != std::string::npos; };
  for (const Layer& l : layers)
    for (bool winograd : {false, true})
      if (wanted(l.network)) measure(isa, l, winograd);
  for (const Product& p : products)
    if (wanted(p.network)) measure(isa, p);
}
