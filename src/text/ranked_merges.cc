#include "text/ranked_merges.h"

#include "text/aligned_text.h"

namespace lathe::text {

std::vector<Merge> ranked_merges(const Vocabulary& v, const std::function<uint32_t(uint32_t id)>& rank_of) {
  std::vector<Merge> merges;
  for (const Vocabulary::Entry& e : v.entries()) {
    const std::string_view text = v.text_of(e);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (!begins_character(text[cut])) continue;
      const uint32_t left = v.find(text.substr(0, cut));
      if (left == no_token) continue;
      const uint32_t right = v.find(text.substr(cut));
      if (right == no_token) continue;
      merges.push_back({left, right, e.id, rank_of(e.id)});
      if (merges.size() > most_ranked_merges) return merges;
    }
  }
  return merges;
}

}  // namespace lathe::text
