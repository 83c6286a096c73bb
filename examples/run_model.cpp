// The shortest program that runs a model: build, make a context, run.
#include <cstdio>

#include "lathe/lathe.h"

int main(int argc, char** argv) try {
  auto engine = lathe::Engine::build(argc > 1 ? argv[1] : "examples/digits/digits.onnx");
  auto context = engine.create_context();
  auto outputs =
      context.run({{"image", lathe::Tensor::from<float>({1, 8, 8}, std::vector<float>(64, 8.0f))}});
  for (float p : outputs.at("probabilities").tensor().as<float>()) std::printf("%.3f ", p);
  std::puts("");
} catch (const lathe::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
