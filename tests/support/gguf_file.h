// GGUF files written byte by byte, right ones and wrong ones.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lathe/gguf.h"
#include "support/checkpoint_files.h"

namespace lathe::testing {

inline std::string gguf_string(std::string_view s) { return little(s.size(), 8) + std::string(s); }

/// The number of a value's type, and its bytes.
inline std::string gguf_value(GgufValueType type, const std::string& bytes) {
  return little(static_cast<uint64_t>(type), 4) + bytes;
}
inline std::string gguf_text(std::string_view s) { return gguf_value(GgufValueType::string, gguf_string(s)); }
inline std::string gguf_u32(uint32_t v) { return gguf_value(GgufValueType::uint32, little(v, 4)); }
inline std::string gguf_array(GgufValueType type, uint64_t count, const std::string& bytes) {
  return gguf_value(GgufValueType::array, little(static_cast<uint64_t>(type), 4) + little(count, 8) + bytes);
}

struct GgufFile {
  struct OneTensor {
    std::string name;
    std::vector<uint64_t> sizes;  // innermost first, as in the file
    uint32_t type = 0;
    std::string bytes;
    std::optional<uint64_t> offset = {};  // by default behind the one before
  };
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<OneTensor> tensors;
  uint32_t version = 3;
  size_t alignment = 32;
  std::optional<uint64_t> tensor_count = {}, key_count = {};  // by default as many as there are

  GgufFile& with(const std::string& key, const std::string& value) {
    metadata.emplace_back(key, value);
    return *this;
  }
  GgufFile& with(const std::string& name, const std::vector<uint64_t>& sizes, GgufType type,
                 const std::string& bytes) {
    tensors.push_back({name, sizes, static_cast<uint32_t>(type), bytes});
    return *this;
  }
  std::string bytes() const {
    std::string out = "GGUF" + little(version, 4) + little(tensor_count.value_or(tensors.size()), 8) +
                      little(key_count.value_or(metadata.size()), 8);
    std::string data;
    const auto pad = [&](std::string& s) { s.resize((s.size() + alignment - 1) / alignment * alignment); };
    for (const auto& [key, value] : metadata) out += gguf_string(key) + value;
    for (const OneTensor& t : tensors) {
      pad(data);
      out += gguf_string(t.name) + little(t.sizes.size(), 4);
      for (uint64_t size : t.sizes) out += little(size, 8);
      out += little(t.type, 4) + little(t.offset.value_or(data.size()), 8);
      data += t.bytes;
    }
    pad(out);
    return out + data;
  }
};

}  // namespace lathe::testing
