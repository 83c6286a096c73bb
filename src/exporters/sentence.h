// modules.json of sentence-transformers: the modules behind the encoder of a sentence.
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

/// Reads modules.json; without it, the encoder is in the directory itself, followed by the mean of all
/// tokens. Throws json_malformed, bad_argument for anything but a list of modules and for folders outside the
/// checkpoint's, not_supported if the first module is not a Transformer or CLIPModel.
SentenceCheckpoint sentence_checkpoint(const std::filesystem::path& checkpoint);

/// Returns the modules.json of an export, in whose own folder the encoder's files are. Empty if there is
/// none.
std::string exported_modules(const std::filesystem::path& checkpoint);

}  // namespace lathe::exporters
