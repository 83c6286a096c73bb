// Values that configurations express in more than one way, or by names of which only some are known.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lathe/checkpoint.h"

namespace lathe::nn {

/// Refuses counts and sizes that no model has, in the configuration and in those inside of it, before
/// anything is made of them. Throws Code::bad_argument, naming the key, what it may be, and what it is. Keys
/// that are absent, null or of another type are left to the code that reads them.
void check_sizes(const ModelConfig& config);
/// Returns the keys of numbers of layers.
const std::vector<std::string>& layer_keys();
/// Returns the keys known to check_sizes() whose value is `n`, in the configuration and in those inside of
/// it: "'vocab_size', 'decoder.vocab_size'". Empty if there is none. `layers`: only keys of numbers of
/// layers.
std::string keys_with_value(const ModelConfig& config, int64_t n, bool layers = false);

/// Returns the number of labels of a classifier: those in id2label, else num_labels, else 2.
int64_t label_count(const ModelConfig& config);

/// Returns the main version of transformers that wrote the configuration; 4 if it is not given. Later
/// versions compute some models differently.
int saved_by_version(const ModelConfig& config);

/// Returns [height, width], for which configurations may have one number. Throws Code::bad_argument for
/// another count of numbers.
std::array<int64_t, 2> height_and_width(const ModelConfig& config, const char* key, int64_t fallback);

/// Returns the activation that the key names. Throws Code::bad_argument for an unknown one, naming the key
/// and similar activations.
std::string activation_in(const ModelConfig& config, const char* key, const char* fallback);
/// Same for `name`, which is the value of the key or follows from it.
std::string activation_called(const std::string& name, const char* key);

/// Requires as many rows as columns of patches, because transformers makes square images of them. Throws
/// Code::not_supported otherwise.
void require_square(const char* where, int64_t rows, int64_t columns);

}  // namespace lathe::nn
