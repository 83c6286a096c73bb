// modules.json of sentence-transformers: what stands behind the encoder of a sentence.
#pragma once

#include <filesystem>
#include <vector>

#include "nn/sentence.h"

namespace lathe::exporters {

/// The modules behind the encoder, in order; the mean of all tokens where there is no modules.json. Throws
/// json_malformed, bad_argument for what is no list of them, for folders outside the checkpoint's, and where
/// the encoder lies in a folder of its own.
std::vector<nn::SentenceModule> sentence_modules(const std::filesystem::path& checkpoint);

}  // namespace lathe::exporters
