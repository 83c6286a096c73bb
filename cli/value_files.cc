#include "value_files.h"

#include <fmt/core.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "command.h"

namespace lathe::cli {
namespace {

bool may_stay(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) || c == '_' || c == '-' || c == '.';
}
std::string plain(std::string_view name) {
  std::string s(name);
  for (char& c : s)
    if (!may_stay(c)) c = '_';
  return s;
}
/// "a/b" as "a%2Fb": no other name is written so.
std::string percent_encoded(std::string_view name) {
  std::string s;
  for (char c : name)
    s += may_stay(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return s;
}

std::string whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Error(Code::file_unreadable, "read", "a file that can be read", path.string());
  return std::move(text).str();
}

}  // namespace

std::vector<std::string> file_names(const std::vector<std::string>& names) {
  std::set<std::string> taken;
  for (const std::string& name : names)
    if (plain(name) == name) taken.insert(name);
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string file = plain(name);
    files.push_back(file == name || taken.insert(file).second ? file : percent_encoded(name));
  }
  return files;
}

std::optional<std::filesystem::path> find_value(const std::filesystem::path& dir, const std::string& prefix,
                                                const IoInfo& io, const char* role, size_t index) {
  const std::string before = prefix.empty() ? "" : prefix + "_";
  for (const std::string& name : {io.name, percent_encoded(io.name), plain(io.name)})
    for (const char* ending : {".npy", ".json", ".pb"})
      if (const auto path = dir / (before + name + ending); std::filesystem::is_regular_file(path))
        return path;
  std::vector<std::string> roles{role};
  if (roles[0] == "output") roles.push_back("expected");
  for (const std::string& r : roles)
    for (const char* ending : {".pb", ".npy", ".json"})
      if (const auto path = dir / (r + "_" + std::to_string(index) + ending);
          std::filesystem::is_regular_file(path))
        return path;
  return std::nullopt;
}

Value read_value(const std::filesystem::path& file, const IoInfo& io) {
  try {
    if (file.extension() == ".pb" && io.type.starts_with("seq("))
      return owned(onnx::to_value(onnx::parse<onnx::SequenceProto>(whole_file(file))));
    if (file.extension() == ".pb" && io.type.starts_with("optional("))
      return owned(onnx::to_value(onnx::parse<onnx::OptionalProto>(whole_file(file))));
    return load_value(file, io.element_type);
  } catch (const Error& e) {
    throw e.at("", file.string(), "");
  }
}

std::filesystem::path write_value(const std::filesystem::path& dir, const std::string& file, const Value& v) {
  std::error_code fault;
  std::filesystem::create_directories(dir, fault);
  std::filesystem::path path = dir / (file + ".npy");
  if (v.is_tensor() && v.tensor().type() != DataType::string) {
    save_npy(path, v.tensor());
    return path;
  }
  path.replace_extension(".json");
  save_text(path, to_json(v) + "\n");
  return path;
}

}  // namespace lathe::cli
