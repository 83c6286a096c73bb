// What configurations say in more than one way, or in words of which some are known.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lathe/checkpoint.h"

namespace lathe::nn {

/// Labels of a classifier: those that id2label lists, else num_labels, else 2.
int64_t label_count(const ModelConfig& config);

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
