// The files beside the model of a GGUF file that others need to run it: its tokenizer, and what they say of
// generation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/gguf.h"

namespace lathe::exporters {

/// Returns the texts of tokenizer.json, tokenizer_config.json and generation_config.json by name, and of
/// genai_config.json for onnxruntime-genai if `model_file`, a decoder with its past, is not empty. What
/// cannot be made is named in `left_out`, with the reason. `config`: that of the model. Throws bad_argument
/// for metadata of other types than they have.
std::map<std::string, std::string> gguf_companions(const Gguf& file, const ModelConfig& config,
                                                   const std::string& model_file,
                                                   std::vector<std::string>& left_out);

}  // namespace lathe::exporters
