// Checkpoints written byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::testing {

inline std::string little(uint64_t v, unsigned width) {
  std::string s;
  for (unsigned i = 0; i < width; ++i) s += static_cast<char>(v >> (8 * i));
  return s;
}

/// The header's length, the header, the elements.
inline std::string safetensors(const std::string& header, const std::string& data = {}) {
  return little(header.size(), 8) + header + data;
}
/// One entry of a header: "name": {…}.
inline std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                         uint64_t begin, uint64_t end) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

struct ZipPart {
  std::string name, bytes;
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0;
  uint64_t size = ~uint64_t{0};  // of what is inside; by default that of `bytes`
};

/// A zip archive of these members, as they are; `zip64` writes the large forms of sizes and the end record.
inline std::string zip(const std::vector<ZipPart>& parts, bool zip64 = false) {
  std::string out, directory;
  for (const ZipPart& p : parts) {
    const uint64_t size = p.size == ~uint64_t{0} ? p.bytes.size() : p.size, offset = out.size();
    const std::string common =
        little(20, 2) + little(p.flags, 2) + little(p.method, 2) + little(0, 4) + little(p.crc, 4) +
        (zip64 ? little(~0u, 4) + little(~0u, 4) : little(p.bytes.size(), 4) + little(size, 4)) +
        little(p.name.size(), 2);
    const std::string sizes = little(size, 8) + little(p.bytes.size(), 8);
    const std::string local = zip64 ? little(1, 2) + little(16, 2) + sizes : "";
    const std::string central = zip64 ? little(1, 2) + little(24, 2) + sizes + little(offset, 8) : "";
    out += "PK\3\4" + common + little(local.size(), 2) + p.name + local + p.bytes;
    directory += "PK\1\2" + little(20, 2) + common + little(central.size(), 2) + little(0, 2) + little(0, 2) +
                 little(0, 2) + little(0, 4) + little(zip64 ? ~0u : offset, 4) + p.name + central;
  }
  const uint64_t at = out.size();
  out += directory;
  if (zip64) {
    const uint64_t end = out.size();
    out += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 4) + little(0, 4) +
           little(parts.size(), 8) + little(parts.size(), 8) + little(directory.size(), 8) + little(at, 8);
    out += "PK\6\7" + little(0, 4) + little(end, 8) + little(1, 4);
  }
  return out + "PK\5\6" + little(0, 4) + little(parts.size(), 2) + little(parts.size(), 2) +
         little(zip64 ? ~0u : directory.size(), 4) + little(zip64 ? ~0u : at, 4) + little(0, 2);
}

// Instructions of a pickle.
inline std::string text(std::string_view s) { return "X" + little(s.size(), 4) + std::string(s); }
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string integer(int64_t v) { return "\x8a\x08" + little(static_cast<uint64_t>(v), 8); }
inline std::string tuple(const std::vector<std::string>& items) {
  std::string s = "(";
  for (const std::string& i : items) s += i;
  return s + "t";
}
inline std::string storage(const std::string& type, const std::string& key, int64_t count) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), integer(count)}) + "Q";
}
/// A call of _rebuild_tensor_v2.
inline std::string tensor(const std::string& storage, int64_t offset, const std::vector<int64_t>& size,
                          const std::vector<int64_t>& strides) {
  std::vector<std::string> sizes, steps;
  for (int64_t v : size) sizes.push_back(integer(v));
  for (int64_t v : strides) steps.push_back(integer(v));
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage, integer(offset), tuple(sizes), tuple(steps), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}
/// {name: object, …}, as a whole pickle.
inline std::string dictionary(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string s = "\x80\x02}(";
  for (const auto& [name, object] : items) s += text(name) + object;
  return s + "u.";
}
/// A PyTorch file with this pickle and storages "0", "1", ….
inline std::string pytorch(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<ZipPart> parts{{"archive/data.pkl", pickle}};
  for (size_t i = 0; i < storages.size(); ++i)
    parts.push_back({"archive/data/" + std::to_string(i), storages[i]});
  parts.push_back({"archive/version", "3\n"});
  return zip(parts);
}

}  // namespace lathe::testing
