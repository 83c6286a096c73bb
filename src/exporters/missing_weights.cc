#include "exporters/missing_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "nn/sizes.h"

namespace lathe::exporters {
namespace {

/// Returns the vocabulary sizes of the architecture and its halves.
std::set<int64_t> vocabularies(const ModelConfig& config) {
  std::set<int64_t> all;
  if (config.has("vocab_size")) all.insert(config.get<int64_t>("vocab_size"));
  for (const char* half : {"decoder", "encoder", "text_config"})
    if (config.has(half)) all.merge(vocabularies(config.get<ModelConfig>(half)));
  return all;
}

/// Returns "encoder.layer." and 3 for "encoder.layer.3.output": the outermost list on the path.
std::optional<std::pair<std::string, int64_t>> index_in_list(const std::string& path) {
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const size_t end = path.find_first_not_of("0123456789", dot + 1);
    constexpr size_t longest = 9;
    if (end == std::string::npos || path[end] != '.' || end == dot + 1 || end - dot - 1 > longest) continue;
    return std::pair(path.substr(0, dot + 1), std::stoll(path.substr(dot + 1, end - dot - 1)));
  }
  return std::nullopt;
}

}  // namespace

std::optional<TooManyLayers> too_many_layers(const std::vector<std::string>& missing,
                                             const Checkpoint& checkpoint, const ModelConfig& config) {
  std::map<std::string, std::pair<int64_t, int64_t>>
      lists;  // the first index that is missing, and the required number
  for (const std::string& path : missing) {
    const auto place = index_in_list(path);
    if (!place) return std::nullopt;
    auto [at, fresh] = lists.try_emplace(place->first, place->second, 0);
    at->second.first = std::min(at->second.first, place->second);
    at->second.second = std::max(at->second.second, place->second + 1);
  }
  for (const auto& [list, counts] : lists) {
    // The checkpoint's names may have a prefix, or lack one: only their ends are compared.
    const auto has = [&, &name = list](int64_t i) {
      const std::string part = name + std::to_string(i) + ".";
      return std::ranges::any_of(checkpoint.tensors(), [&](const CheckpointTensor& t) {
        return t.name.find(part) != std::string::npos;
      });
    };
    const auto [first, wanted] = counts;
    const std::string keys = nn::keys_with_value(config, wanted, true);
    if (first == 0 || keys.empty() || !has(first - 1) || has(first)) continue;
    return TooManyLayers{keys + " of " + std::to_string(first) +
                             ", as many layers as the checkpoint has under '" +
                             list.substr(0, list.size() - 1) + "'",
                         std::to_string(wanted)};
  }
  return std::nullopt;
}

std::string keys_of_shape(const Shape& wanted, const std::string& got, const ModelConfig& config) {
  std::set<int64_t> there;
  std::istringstream sizes(got.substr(std::min(got.find('[') + 1, got.size())));
  for (int64_t n = 0; sizes >> n; sizes.ignore(1)) there.insert(n);  // "47, 16]"
  std::string all;
  for (const int64_t n : wanted) {
    const std::string keys = there.contains(n) ? std::string() : nn::keys_with_value(config, n);
    if (!keys.empty()) all += (all.empty() ? "" : ", ") + keys + " is " + std::to_string(n);
  }
  return all;
}

std::string remedy_for_missing_vocabulary(const nn::Module& module, const std::vector<std::string>& missing,
                                          const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::set<int64_t> words = vocabularies(config);
  std::set<std::string> same;
  for (const std::string& path : missing) {
    const Shape shape = module.parameter(path).shape();
    if (shape.size() != 2 || !words.contains(shape[0])) return {};
    for (const CheckpointTensor& t : checkpoint.tensors())
      if (t.shape == shape) same.insert(t.name);
  }
  if (same.empty()) return {};
  std::string names;
  for (const std::string& name : same) names += (names.empty() ? "'" : ", '") + name + "'";
  return "of that shape there is " + names +
         ": where it stands for what is missing, say 'tie_word_embeddings' true in config.json, or, where "
         "others are weights of their own, store it under the missing names too";
}

}  // namespace lathe::exporters
