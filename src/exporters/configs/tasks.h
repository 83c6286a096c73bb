// Tasks that kinds of architectures share.
#pragma once

#include <string>
#include <vector>

namespace lathe::exporters {

inline const std::vector<std::string> common_text_tasks = {"feature-extraction",  "fill-mask",
                                                           "multiple-choice",     "question-answering",
                                                           "text-classification", "token-classification"};
inline const std::vector<std::string> common_generation_tasks = {
    "feature-extraction", "feature-extraction-with-past", "text-generation", "text-generation-with-past"};
inline const std::vector<std::string> encoder_decoder_tasks = {
    "feature-extraction", "feature-extraction-with-past", "text2text-generation",
    "text2text-generation-with-past"};

inline std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace lathe::exporters
