// The targets of fuzzing: each takes any bytes and returns, whatever they are; it aborts if a property does
// not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "support/error_code.h"

namespace lathe::fuzz {

using Bytes = std::span<const uint8_t>;

/// The protobuf reader: messages, tensors, and writing what was read.
void wire(Bytes);
/// Importer, checker and shape inference, and the exporter on what they accept.
void import(Bytes);
/// The text parser and the printer.
void text(Bytes);
/// Small graphs drawn by the operators' cases and signatures, built and run by both backends.
void run(Bytes);
/// The same, and whether the graph was accepted and ran to its end.
bool runs(Bytes);
/// Such graphs, written at another opset and read again.
void convert(Bytes);
/// Chat templates, parsed and rendered.
void chat_template(Bytes);
/// Such graphs and models of files, their constants hidden behind foldable nodes, built at every level.
void levels(Bytes);

/// GGUF files, of one part or two.
void gguf(Bytes);
/// Files of tokenizers, and texts to and from tokens with what they say.
void tokenizer(Bytes);
/// Models of SentencePiece, with a text to convert.
void sentencepiece(Bytes);
/// Ranks of tiktoken, with a text to convert.
void tiktoken(Bytes);
/// Saved sequences of tokens with their keys and values.
void sequence(Bytes);

struct Target {
  std::string_view name;
  void (*feed)(Bytes);
};
inline constexpr Target targets[] = {{"wire", wire},           {"import", import},
                                     {"text", text},           {"run", run},
                                     {"convert", convert},     {"levels", levels},
                                     {"gguf", gguf},           {"chat_template", chat_template},
                                     {"tokenizer", tokenizer}, {"sentencepiece", sentencepiece},
                                     {"tiktoken", tiktoken},   {"sequence", sequence}};

inline std::string_view chars(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

using testing::code_of;

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace lathe::fuzz
