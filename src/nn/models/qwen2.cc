// Qwen2 (Yang et al. 2024): Llama with biases of query, key and value, and a sliding window for some layers.
#include "nn/models/llama.h"

namespace lathe::nn {

void register_qwen2(ModelRegistry& all) {
  add_llama_family(all, "qwen2", {.qkv_bias = true, .groups = 32, .windows = LlamaFamily::Windows::by_layer});
}

}  // namespace lathe::nn
