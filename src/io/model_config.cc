#include <algorithm>
#include <optional>

#include "base/error_about.h"
#include "base/nearest.h"
#include "io/bounded_json.h"
#include "io/stored_tensor.h"

namespace lathe {

struct ModelConfig::State {
  std::shared_ptr<const Json> document;  // kept alive for `object`, a part of it
  const Json* object = nullptr;
  std::string origin;
  std::string prefix;  // "text_config.": where `object` stands

  Error fault(std::string_view key, std::string expected, std::string got, std::string remedy) const {
    return error_about(Code::bad_argument, "read config", origin,
                       "key '" + prefix + std::string(key) + "' " + expected, std::move(got),
                       std::move(remedy));
  }
  /// Makes the error about the value at `key`.
  auto error_maker(std::string_view key) const {
    return [this, key](std::string expected, std::string got) {
      return fault(key, std::move(expected), std::move(got), "correct the configuration");
    };
  }
  /// The value a dotted key leads to, null where there is none. A key with dots of its own comes first.
  const Json* find(std::string_view key) const;
  const Json& at(std::string_view key) const;
};

namespace {

/// The JSON text of a value, short enough for a message.
std::string shown(const Json& j) {
  const std::string text = j.dump();
  return text.size() > 60 ? text.substr(0, 60) + "…" : text;
}

/// Empty when j is not a T.
template <class T>
std::optional<T> value_of(const Json& j) {
  if constexpr (std::is_same_v<T, bool>) {
    if (j.is_boolean()) return j.get<bool>();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (j.is_number_unsigned() && j.get<uint64_t>() > uint64_t{INT64_MAX}) return std::nullopt;
    if (j.is_number_integer()) return j.get<int64_t>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (j.is_number()) return j.get<double>();
  } else {
    if (j.is_string()) return j.get<std::string>();
  }
  return std::nullopt;
}

template <class T>
constexpr const char* kind_of() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer";
  if constexpr (std::is_same_v<T, double>) return "a number";
  return "a string";
}

template <class T>
T get_value(const Json& j, const auto& fault) {
  auto v = value_of<T>(j);
  if (!v) throw fault(std::string("as ") + kind_of<T>(), shown(j));
  return *std::move(v);
}

template <class T>
std::vector<T> get_list(const Json& j, const auto& fault) {
  const std::string expected = std::string("as a list, each item ") + kind_of<T>();
  if (!j.is_array()) throw fault(expected, shown(j));
  std::vector<T> list;
  for (const Json& item : j) {
    auto v = value_of<T>(item);
    if (!v) throw fault(expected, shown(item) + " as item " + std::to_string(list.size()));
    list.push_back(*std::move(v));
  }
  return list;
}

}  // namespace

const Json* ModelConfig::State::find(std::string_view key) const {
  const Json* at = object;
  for (std::string_view rest = key;;) {
    if (!at->is_object()) return nullptr;
    if (const Json* found = at->find(rest)) return found->is_null() ? nullptr : found;
    const size_t dot = rest.find('.');
    if (dot == std::string_view::npos) return nullptr;
    at = at->find(rest.substr(0, dot));
    if (!at) return nullptr;
    rest.remove_prefix(dot + 1);
  }
}

namespace {

/// Keys as `find` takes them: those of objects inside too.
void list_keys(const Json& object, const std::string& prefix, std::vector<std::string>& keys) {
  for (const auto& [key, value] : object.items()) {
    keys.push_back(prefix + key);
    if (value.is_object()) list_keys(value, prefix + key + ".", keys);
  }
}

}  // namespace

const Json& ModelConfig::State::at(std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  std::vector<std::string> keys;
  list_keys(*object, "", keys);
  std::string near;
  for (const std::string& k : nearest_names(key, keys))
    if (find(k)) near += (near.empty() ? "near to it: '" : ", '") + k + "'";
  const bool null = std::find(keys.begin(), keys.end(), key) != keys.end();
  throw fault(key, "in the configuration", null ? "null" : "none",
              near.empty() ? "add it, or give a default" : near);
}

ModelConfig ModelConfig::open(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
  const auto bytes = read_file(open_regular(file), file);
  return parse(bytes->view(), file.string());
}

ModelConfig ModelConfig::parse(std::string_view json, std::string origin) {
  auto state = std::make_shared<State>();
  state->document = std::make_shared<const Json>(parse_bounded_json(json, origin));
  state->object = state->document.get();
  state->origin = std::move(origin);
  return ModelConfig(std::move(state));
}

bool ModelConfig::has(std::string_view key) const { return state_->find(key) != nullptr; }

std::vector<std::string> ModelConfig::keys() const {
  std::vector<std::string> keys;
  for (const Json::Member& m : state_->object->items()) keys.push_back(m.name);
  return keys;
}

template <>
bool ModelConfig::get(std::string_view key) const {
  return get_value<bool>(state_->at(key), state_->error_maker(key));
}
template <>
int64_t ModelConfig::get(std::string_view key) const {
  return get_value<int64_t>(state_->at(key), state_->error_maker(key));
}
template <>
double ModelConfig::get(std::string_view key) const {
  return get_value<double>(state_->at(key), state_->error_maker(key));
}
template <>
std::string ModelConfig::get(std::string_view key) const {
  return get_value<std::string>(state_->at(key), state_->error_maker(key));
}
template <>
std::vector<bool> ModelConfig::get(std::string_view key) const {
  return get_list<bool>(state_->at(key), state_->error_maker(key));
}
template <>
std::vector<int64_t> ModelConfig::get(std::string_view key) const {
  return get_list<int64_t>(state_->at(key), state_->error_maker(key));
}
template <>
std::vector<double> ModelConfig::get(std::string_view key) const {
  return get_list<double>(state_->at(key), state_->error_maker(key));
}
template <>
std::vector<std::string> ModelConfig::get(std::string_view key) const {
  return get_list<std::string>(state_->at(key), state_->error_maker(key));
}
template <>
ModelConfig ModelConfig::get(std::string_view key) const {
  const Json& j = state_->at(key);
  if (!j.is_object()) throw state_->error_maker(key)("as an object", shown(j));
  auto inner = std::make_shared<State>(*state_);
  inner->object = &j;
  inner->prefix += std::string(key) + ".";
  return ModelConfig(std::move(inner));
}
}  // namespace lathe
