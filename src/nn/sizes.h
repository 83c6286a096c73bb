// What configurations say in more than one way, or in words of which some are known.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lathe/checkpoint.h"

namespace lathe::nn {

/// Refuses numbers that count or measure and that no model has, in the configuration and in those inside of
/// it: before anything is made of them. Throws Code::bad_argument, naming the key, what it may be, and what it
/// is. Keys that are absent, null or of another type are left to those who read them.
void check_sizes(const ModelConfig& config);
/// Keys of numbers of layers.
const std::vector<std::string>& layer_keys();
/// Of the keys that check_sizes() knows those that say `n`, in the configuration and in those inside of it:
/// "'vocab_size', 'decoder.vocab_size'". Empty where none does. `layers`: of numbers of layers only.
std::string keys_that_say(const ModelConfig& config, int64_t n, bool layers = false);

/// Labels of a classifier: those that id2label lists, else num_labels, else 2.
int64_t label_count(const ModelConfig& config);

/// The main version of transformers that wrote the configuration; 4 where it does not say. Some models are
/// computed otherwise by later versions.
int saved_by_version(const ModelConfig& config);

/// [height, width], which configurations say as one number too. Throws Code::bad_argument for another count
/// of numbers.
std::array<int64_t, 2> height_and_width(const ModelConfig& config, const char* key, int64_t fallback);

/// The activation that the key names. Throws Code::bad_argument, naming the key, for one that is not known,
/// with those that are near.
std::string activation_in(const ModelConfig& config, const char* key, const char* fallback);
/// `name`, which is what the key says or follows from it.
std::string activation_called(const std::string& name, const char* key);

/// Rows and columns of patches that are put together to an image again, as transformers does it: as many of
/// both. Throws Code::not_supported for other `rows` and `columns`.
void require_square(const char* where, int64_t rows, int64_t columns);

}  // namespace lathe::nn
