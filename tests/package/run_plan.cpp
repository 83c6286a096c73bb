// run_plan PLAN: a program that only runs plans; nothing of what reads or builds models is linked.
#include <cstdio>

#include "lathe/engine.h"

int main(int, char** argv) {
  auto engine = lathe::Engine::load(argv[1]);
  auto context = engine.create_context();
  auto image = lathe::Tensor::from<float>({1, 8, 8}, std::vector<float>(64, 8.0f));
  auto outputs = context.run({{"image", image}});
  for (float p : outputs.at("probabilities").tensor().as<float>()) std::printf("%.3f ", p);
}
