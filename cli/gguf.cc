// Tells what a GGUF file is: its model, its metadata, and how its tensors are stored.
#include "lathe/gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "checkpoint.h"
#include "command.h"
#include "json.h"
#include "text.h"

namespace lathe::cli {
namespace {

constexpr uint64_t longest_list = 16;  // of which JSON has all elements
constexpr size_t longest_text = 72;    // columns of a value in the table

/// A single value as text; empty where there is none, or an array.
std::string text_at(const Gguf& g, const std::string& key) {
  const GgufValue* v = g.find(key);
  return v && v->type() != GgufValueType::array ? v->text() : "";
}

struct GgufStored {
  uint64_t tensors = 0, parameters = 0, bytes = 0;
};
struct GgufFacts {
  std::string architecture, name, context_length, vocabulary, splitting;
  uint64_t tokens = 0;
  std::map<GgufType, GgufStored> types;
  GgufStored all;
  double bits() const {
    return all.parameters ? 8 * static_cast<double>(all.bytes) / static_cast<double>(all.parameters) : 0;
  }
};

GgufFacts facts_of(const Gguf& g) {
  GgufFacts f;
  f.architecture = text_at(g, "general.architecture");
  f.name = text_at(g, "general.name");
  f.context_length = text_at(g, f.architecture + ".context_length");
  f.vocabulary = text_at(g, "tokenizer.ggml.model");
  f.splitting = text_at(g, "tokenizer.ggml.pre");
  const GgufValue* tokens = g.find("tokenizer.ggml.tokens");
  if (tokens && tokens->type() == GgufValueType::array) f.tokens = tokens->size();
  for (const GgufTensor& t : g.tensors())
    for (GgufStored* s : {&f.types[t.type], &f.all}) {
      ++s->tensors;
      s->parameters += static_cast<uint64_t>(count_of(t.shape));
      s->bytes += t.bytes;
    }
  return f;
}

/// What reading makes of a type.
std::string read_as(const GgufTypeInfo& info) {
  if (!info.decodes) return "its bytes only";
  return info.plain == DataType::undefined ? "float32, or as blocks" : std::string(name_of(info.plain));
}

Json number_json(const GgufValue& v) {
  switch (v.type()) {
    case GgufValueType::string:
      return v.get<std::string>();
    case GgufValueType::boolean:
      return v.get<bool>();
    case GgufValueType::float32:
    case GgufValueType::float64:
      return v.get<double>();
    case GgufValueType::uint64:
      return v.get<uint64_t>();
    default:
      return v.get<int64_t>();
  }
}

Json list_json(const GgufValue& v) {
  switch (v.element_type()) {
    case GgufValueType::string:
      return v.get<std::vector<std::string>>();
    case GgufValueType::boolean:
      return v.get<std::vector<bool>>();
    case GgufValueType::float32:
    case GgufValueType::float64:
      return v.get<std::vector<double>>();
    case GgufValueType::uint64:
      return v.get<std::vector<uint64_t>>();
    default:
      return v.get<std::vector<int64_t>>();
  }
}

/// A value; of a long array its type and size.
Json metadata_json(const GgufValue& v) {
  if (v.type() != GgufValueType::array) return number_json(v);
  if (v.size() <= longest_list) return list_json(v);
  return {{"array_of", name_of(v.element_type())}, {"size", v.size()}};
}

void print_gguf_json(const Gguf& g) {
  const GgufFacts f = facts_of(g);
  const GgufValue* context = g.find(f.architecture + ".context_length");
  Json files = Json::array(), metadata = Json::object(), types = Json::array(), tensors = Json::array();
  for (const auto& file : g.files()) files.push_back(file.string());
  for (const auto& [key, value] : g.metadata()) metadata[key] = metadata_json(value);
  for (const auto& [type, s] : f.types)
    types.push_back({{"type", name_of(type)},
                     {"tensors", s.tensors},
                     {"parameters", s.parameters},
                     {"bytes", s.bytes},
                     {"read_as", read_as(info_of(type))}});
  for (const GgufTensor& t : g.tensors())
    tensors.push_back({{"name", t.name},
                       {"type", name_of(t.type)},
                       {"shape", to_json(t.shape)},
                       {"bytes", t.bytes},
                       {"file", g.files()[t.part].string()},
                       {"offset", t.offset}});
  print({{"format", "gguf"},
         {"version", g.version()},
         {"files", files},
         {"architecture", f.architecture},
         {"name", f.name},
         {"context_length",
          context && context->type() != GgufValueType::array ? metadata_json(*context) : Json()},
         {"vocabulary", {{"model", f.vocabulary}, {"pre", f.splitting}, {"tokens", f.tokens}}},
         {"parameters", f.all.parameters},
         {"bytes", f.all.bytes},
         {"bits_per_weight", f.bits()},
         {"types", types},
         {"metadata", metadata},
         {"tensors", tensors}});
}

/// One line of a table. Strings may be any bytes: those that are no text are only counted.
std::string shortened(const GgufValue& v) {
  std::string text = v.text();
  try {
    (void)Json(text).dump();
  } catch (const Json::exception&) {  // the bytes are no UTF-8
    return fmt::format("{} that are not all UTF-8", counted(text.size(), "byte"));
  }
  if (text.size() > longest_text) {
    size_t end = longest_text;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return printable(text);
}

std::string type_text(const GgufValue& v) {
  const std::string type(name_of(v.element_type()));
  return v.type() == GgufValueType::array ? fmt::format("{}[{}]", type, v.size()) : type;
}

void print_facts(const GgufFacts& f) {
  Table t;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) t.add({what, printable(value)});
  };
  add("architecture", f.architecture);
  add("name", f.name);
  add("context length", f.context_length);
  if (f.tokens || !f.vocabulary.empty()) {
    const std::string kind = f.vocabulary.empty() ? "of no kind" : f.vocabulary;
    add("vocabulary",
        kind + (f.splitting.empty() ? "" : " (" + f.splitting + ")") + ", " + counted(f.tokens, "token"));
  }
  add("parameters", count_text(static_cast<double>(f.all.parameters)));
  add("tensors",
      fmt::format("{}, {}, {:.2f} bits per weight", f.all.tensors, bytes_text(f.all.bytes), f.bits()));
  t.print();
}

void print_gguf_text(const Gguf& g) {
  const bool parts = g.files().size() > 1;
  const GgufFacts f = facts_of(g);
  fmt::print("a GGUF file of version {} in {}\n", g.version(),
             parts ? counted(g.files().size(), "part") : g.files()[0].string());
  print_facts(f);
  if (!f.types.empty()) fmt::print("types\n");
  Table types;
  for (const auto& [type, s] : f.types)
    types.add({std::string(name_of(type)), counted(s.tensors, "tensor"),
               count_text(static_cast<double>(s.parameters)) + " parameters", bytes_text(s.bytes),
               "read as " + read_as(info_of(type))});
  types.print();
  if (!g.metadata().empty()) fmt::print("metadata\n");
  Table metadata;
  for (const auto& [key, value] : g.metadata())
    metadata.add({printable(key), type_text(value), shortened(value)});
  metadata.print();
  if (!g.tensors().empty()) fmt::print("tensors\n");
  Table tensors;
  for (const GgufTensor& t : g.tensors()) {
    std::vector<std::string> row{printable(t.name), std::string(name_of(t.type)), describe(t.shape),
                                 bytes_text(t.bytes)};
    if (parts) row.push_back(g.files()[t.part].filename().string());
    tensors.add(std::move(row));
  }
  tensors.print();
}

}  // namespace

int inspect_gguf(const std::filesystem::path& path, bool untrusted, bool json) {
  const Gguf g = Gguf::open(path, {.untrusted = untrusted});
  json ? print_gguf_json(g) : print_gguf_text(g);
  return success;
}

}  // namespace lathe::cli
