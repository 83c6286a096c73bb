#include "checkpoint.h"

#include <fmt/core.h>

#include <algorithm>

#include "command.h"
#include "json.h"
#include "lathe/checkpoint.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct Totals {
  uint64_t parameters = 0, bytes = 0, tied = 0;  // tied: bytes that are counted more than once
};

Totals totals_of(const Checkpoint& c) {
  Totals t;
  for (const CheckpointTensor& x : c.tensors()) {
    t.parameters += static_cast<uint64_t>(count_of(x.shape));
    t.bytes += x.bytes;
  }
  for (const auto& group : c.tied()) t.tied += c.at(group[0]).bytes * (group.size() - 1);
  return t;
}

void print_json(const Checkpoint& c) {
  Json tensors = Json::array(), files = Json::array();
  for (const CheckpointTensor& t : c.tensors())
    tensors.push_back({{"name", t.name},
                       {"type", name_of(t.type)},
                       {"shape", to_json(t.shape)},
                       {"bytes", t.bytes},
                       {"file", t.file.string()},
                       {"mapped", t.mapped}});
  for (const auto& f : c.files()) files.push_back(f.string());
  const Totals totals = totals_of(c);
  print({{"format", name_of(c.format())},
         {"files", files},
         {"metadata", c.metadata()},
         {"tensors", tensors},
         {"tied", c.tied()},
         {"parameters", totals.parameters},
         {"bytes", totals.bytes},
         {"tied_bytes", totals.tied}});
}

void print_text(const Checkpoint& c) {
  const bool shards = c.files().size() > 1;
  fmt::print("a checkpoint ({}) in {}\n", name_of(c.format()),
             shards              ? counted(c.files().size(), "file")
             : c.files().empty() ? "no file"
                                 : c.files()[0].string());
  Table t;
  for (const CheckpointTensor& x : c.tensors()) {
    std::vector<std::string> row{printable(x.name), std::string(name_of(x.type)), describe(x.shape),
                                 bytes_text(x.bytes)};
    if (shards) row.push_back(x.file.filename().string());
    t.add(std::move(row));
  }
  t.print();
  for (const auto& group : c.tied()) fmt::print("tied: {}\n", printable(join(group, ", ")));
  const Totals totals = totals_of(c);
  fmt::print("{} tensors, {} parameters, {}{}\n", c.tensors().size(),
             count_text(static_cast<double>(totals.parameters)), bytes_text(totals.bytes),
             totals.tied ? fmt::format(", {} of it tied", bytes_text(totals.tied)) : "");
}

}  // namespace

bool is_checkpoint(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return true;
  const std::string name = path.string();
  for (const char* ending : {".safetensors", ".bin", ".pt", ".pth", ".npz", ".npy", ".gguf", ".index.json"})
    if (name.ends_with(ending)) return true;
  return false;
}

int inspect_checkpoint(const std::filesystem::path& path, bool untrusted, bool json) {
  const Checkpoint c = Checkpoint::open(path, {.untrusted = untrusted});
  if (c.format() == CheckpointFormat::gguf) return inspect_gguf(path, untrusted, json);
  json ? print_json(c) : print_text(c);
  return success;
}

}  // namespace lathe::cli
