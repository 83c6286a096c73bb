// Measures how fast a language model reads prompts and generates tokens.
#pragma once

#include <cstdint>

#include "generation_options.h"

namespace lathe::cli {

struct GenerationBench {
  int64_t prompt = 0, generate = 0;  // tokens; 0: not measured
  bool fits = false;                 // fewer where the context is shorter
  double seconds = 3;                // rounds are begun for so long, three at least
};

/// Prints medians over rounds. Throws as Generator::open() and next() do.
int run_generation_bench(const GeneratorArguments& model, const GenerationBench& o, bool json);

}  // namespace lathe::cli
