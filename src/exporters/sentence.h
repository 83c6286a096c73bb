// modules.json of sentence-transformers: what stands behind the encoder of a sentence.
#pragma once

#include <filesystem>
#include <vector>

#include "nn/sentence.h"

namespace lathe::exporters {

/// An encoder of sentences in a directory.
struct SentenceCheckpoint {
  bool clip = false;                        // the encoder is of images too
  std::filesystem::path encoder;            // the folder with its config.json and weights
  std::vector<nn::SentenceModule> modules;  // behind it, in order
};

/// What modules.json says; where there is none, the encoder is in the directory itself and the mean of all
/// tokens behind it. Throws json_malformed, bad_argument for what is no list of modules and for folders
/// outside the checkpoint's, not_supported where another module than a Transformer or CLIPModel is first.
SentenceCheckpoint sentence_checkpoint(const std::filesystem::path& checkpoint);

/// The modules.json of an export, in whose own folder the encoder's files are. Empty where there is none.
std::string exported_modules(const std::filesystem::path& checkpoint);

}  // namespace lathe::exporters
