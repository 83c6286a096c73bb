#include "exporters/lacking.h"

#include <algorithm>
#include <set>

namespace lathe::exporters {
namespace {

/// Words of the architecture, or of the half of it that has some.
std::set<int64_t> vocabularies(const ModelConfig& config) {
  std::set<int64_t> all;
  if (config.has("vocab_size")) all.insert(config.get<int64_t>("vocab_size"));
  for (const char* half : {"decoder", "encoder", "text_config"})
    if (config.has(half)) all.merge(vocabularies(config.get<ModelConfig>(half)));
  return all;
}

}  // namespace

std::string remedy_for_lacking_words(const nn::Module& module, const std::vector<std::string>& missing,
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
