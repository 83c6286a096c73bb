// What configurations say of sizes in more than one way.
#pragma once

#include <array>
#include <cstdint>

#include "lathe/checkpoint.h"

namespace lathe::nn {

/// Labels of a classifier: those that id2label lists, else num_labels, else 2.
int64_t label_count(const ModelConfig& config);

/// [height, width], which configurations say as one number too. Throws Code::bad_argument for another count
/// of numbers.
std::array<int64_t, 2> height_and_width(const ModelConfig& config, const char* key, int64_t fallback);

/// Rows and columns of patches that are put together to an image again, as transformers does it: as many of
/// both. Throws Code::not_supported for other `rows` and `columns`.
void require_square(const char* where, int64_t rows, int64_t columns);

}  // namespace lathe::nn
