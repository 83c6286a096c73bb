// The differences between Llama and its relatives.
#pragma once

#include <cstdint>
#include <string>

#include "lathe/nn.h"

namespace lathe::nn {

/// Properties of an architecture that config.json does not tell.
struct LlamaFamily {
  /// The layers that see a window only.
  enum class Windows : uint8_t { none, everywhere, by_layer };
  bool bias_keys = false;  // attention_bias and mlp_bias are read
  bool qkv_bias = false;
  int64_t groups = 0;  // where num_key_value_heads is not there; 0: as many as heads
  Windows windows = Windows::none;
};

/// Llama with its heads, as another architecture has it.
void add_llama_family(ModelRegistry& all, const std::string& type, const LlamaFamily& family);

}  // namespace lathe::nn
