// What Llama and its relatives differ in.
#pragma once

#include <cstdint>
#include <string>

#include "lathe/nn.h"

namespace lathe::nn {

/// Where config.json does not say.
struct LlamaFamily {
  /// Which layers see a window only.
  enum class Windows : uint8_t { none, everywhere, by_layer };
  bool bias_keys = false;  // attention_bias and mlp_bias are read
  bool qkv_bias = false;
  int64_t groups = 0;  // where num_key_value_heads is not there; 0: as many as heads
  Windows windows = Windows::none;
};

/// Llama with its heads, as another architecture has it.
void add_llama_family(ModelRegistry& all, const std::string& type, const LlamaFamily& family);

}  // namespace lathe::nn
