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

}  // namespace lathe::nn
