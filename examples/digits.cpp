// The demo: recognizes handwritten digits, and shows them so that a person sees whether it is right.
//   example_digits examples/digits/digits.onnx examples/digits/images.npy
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "lathe/io.h"
#include "lathe/lathe.h"

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// An image of values 0…16 as eight lines of text, two characters a pixel.
std::string picture_row(const float* pixels) {
  static const char* shades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  std::string line;
  for (int x = 0; x < 8; ++x) line += shades[static_cast<int>(pixels[x] / 16.0f * 4.0f + 0.5f)];
  return line;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL.onnx IMAGES.npy\n", argv[0]);
    return 2;
  }
  auto start = std::chrono::steady_clock::now();
  const lathe::Engine engine = lathe::Engine::build(argv[1]);
  lathe::Context context = engine.create_context();
  const double load = milliseconds_since(start);

  const lathe::Tensor images = lathe::load_npy(argv[2]);
  start = std::chrono::steady_clock::now();
  const lathe::NamedValues outputs = context.run({{"image", images}});
  const double run = milliseconds_since(start);

  const lathe::Tensor& probabilities = outputs.at("probabilities").tensor();
  const float* pixels = images.as<float>().data();
  const float* p = probabilities.as<float>().data();
  const int64_t count = images.dim(0);
  constexpr int64_t per_line = 5;
  for (int64_t first = 0; first < count; first += per_line) {
    const int64_t last = std::min(count, first + per_line);
    for (int64_t y = 0; y < 8; ++y) {
      for (int64_t i = first; i < last; ++i)
        std::printf("  %s", picture_row(pixels + i * 64 + y * 8).c_str());
      std::puts("");
    }
    for (int64_t i = first; i < last; ++i) {
      const float* row = p + i * 10;
      const auto best = std::max_element(row, row + 10) - row;
      std::printf("  a %d, %5.1f %% sure  ", static_cast<int>(best), 100.0 * static_cast<double>(row[best]));
    }
    std::puts("\n");
  }
  std::printf("loaded and built in %.2f ms, %lld images recognized in %.3f ms on %d thread%s\n", load,
              static_cast<long long>(count), run, engine.threads(), engine.threads() == 1 ? "" : "s");
  std::puts(
      "your own model:  build/release/cli/lathe run MODEL.onnx   (random inputs; --help says how to give "
      "your own)");
  return 0;
} catch (const lathe::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
