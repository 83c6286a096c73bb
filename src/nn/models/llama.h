// What Llama and its relatives differ in.
#pragma once

#include <cstdint>
#include <string>

#include "lathe/nn.h"

namespace lathe::nn {

/// Where config.json does not say.
struct LlamaFamily {
  bool attention_bias_key = false;  // whether there is a key attention_bias
  bool qkv_bias = false;
  int64_t groups = 0;  // 0: as many as heads
  int64_t window = 0;
};

/// Llama with its heads, as another architecture has it.
void add_llama_family(ModelRegistry& all, const std::string& type, const LlamaFamily& family);

}  // namespace lathe::nn
