// Numbers of tokenizer.json as the Rust library reads them.
#pragma once

#include <string_view>

namespace lathe::text {

/// Returns the number that serde_json makes of a text of JSON without its feature float_roundtrip: as many
/// digits as 64 bits hold, divided by a power of ten. It is not always the nearest one, and scores of which
/// sums are nearly equal decide what a text is cut into. Returns 0 for a text that is no number.
double score_number(std::string_view text);

}  // namespace lathe::text
