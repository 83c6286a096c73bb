// Chat templates of GGUF files.
#pragma once

#include <map>
#include <string>

#include "lathe/gguf.h"
#include "text/plain_vocabulary.h"

namespace lathe::text {

/// Sources of templates by name, and the special tokens that they see: bos_token, eos_token, ….
struct GgufTemplates {
  std::map<std::string, std::string> templates, special_tokens;
};

/// Reads tokenizer.chat_template, which is "default", and tokenizer.chat_template.NAME; with the special
/// tokens if the file has a vocabulary. Throws as read_gguf_vocabulary() does.
GgufTemplates read_gguf_templates(const Gguf& file);
/// Reads those of a file whose vocabulary is this one.
GgufTemplates read_gguf_templates(const Gguf& file, const PlainVocabulary& vocabulary);

}  // namespace lathe::text
