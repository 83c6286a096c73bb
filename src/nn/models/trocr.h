// The decoder of TrOCR (Li et al. 2021), which reads lines of text from the output of an encoder of images.
#pragma once

#include "nn/sequence_layers.h"

namespace lathe::nn {

/// BART's decoder, with positions that may be sines and cosines, and an encoder that may be of another size.
/// Throws not_supported for options of transformers that this decoder lacks.
SequenceOptions trocr_options(const ModelConfig& config);

}  // namespace lathe::nn
