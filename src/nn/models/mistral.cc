// Mistral (Jiang et al. 2023): Llama with a sliding window.
#include "nn/models/llama.h"

namespace lathe::nn {

void register_mistral(ModelRegistry& all) {
  add_llama_family(all, "mistral", {.groups = 8, .windows = LlamaFamily::Windows::everywhere});
}

}  // namespace lathe::nn
