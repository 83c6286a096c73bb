// Merges of vocabularies that say what comes out of them, not what goes in: any two tokens merge whose common
// text is a token, in the order of that one's rank.
#pragma once

#include <functional>
#include <vector>

#include "text/model.h"

namespace lathe::text {

/// Vocabularies beyond these are refused: what is made of them would take all memory, or all day.
constexpr size_t longest_ranked_token = 1024, most_ranked_merges = size_t{1} << 23;

/// Returns the merges; tokens of equal ranks are equal. Texts are cut between characters. Returns fewer than
/// there are, more than most_ranked_merges, where there are more than that.
std::vector<Merge> ranked_merges(const Vocabulary& v, const std::function<uint32_t(uint32_t id)>& rank_of);

}  // namespace lathe::text
