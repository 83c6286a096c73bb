#include "text/json_part.h"

#include <algorithm>

#include "base/nearest.h"
#include "io/stored_tensor.h"
#include "text/aligned_text.h"

namespace lathe::text {

void Part::fail(const std::string& expected, const std::string& got) const {
  state_.fail(Code::json_malformed, path_ + ": " + expected, got, "download the file again");
}
void Part::too_large(const std::string& expected, const std::string& got) const {
  state_.fail(Code::wire_too_large, path_ + ": " + expected, got);
}
void Part::unsupported(const std::vector<std::string>& known, const std::string& got) const {
  std::string all;
  for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
  const auto near = nearest_names(got, known, 1);
  state_.fail(Code::not_supported, path_ + ": one of " + all, in_quotes(got),
              near.empty() ? "" : "near to it: " + near[0]);
}

Part Part::operator[](const std::string& key) const {
  static const Json none;
  if (!json_.is_object()) fail("an object", json_.type_name());
  const Json* at = json_.find(key);
  return {state_, at ? *at : none, path_.empty() ? key : path_ + "." + key};
}
std::vector<Part> Part::items() const {
  if (!json_.is_array()) fail("a list", json_.type_name());
  std::vector<Part> all;
  for (size_t i = 0; i < json_.size(); ++i)
    all.emplace_back(state_, json_[i], path_ + "[" + std::to_string(i) + "]");
  return all;
}
std::string Part::text() const {
  if (!json_.is_string()) fail("a string", json_.type_name());
  return json_.get<std::string>();
}
std::string Part::token() const {
  std::string t = text();
  if (t.size() > longest_token)
    too_large("a token of at most " + std::to_string(longest_token) + " bytes", std::to_string(t.size()));
  return t;
}
std::string Part::type() const { return (*this)["type"].text(); }
bool Part::flag(bool fallback) const {
  if (is_null()) return fallback;
  if (!json_.is_boolean()) fail("true or false", json_.type_name());
  return json_.get<bool>();
}
int64_t Part::number(int64_t most) const {
  if (!json_.is_number_unsigned() || json_.get<uint64_t>() > static_cast<uint64_t>(most))
    fail("a whole number from 0 to " + std::to_string(most),
         json_.is_number() ? json_.dump() : json_.type_name());
  return json_.get<int64_t>();
}
char32_t Part::character() const {
  const std::string s = text();
  size_t i = 0;
  const char32_t c = s.empty() ? 0 : next_character(s, i);
  if (s.empty() || i != s.size()) fail("one character", in_quotes(s));
  return c;
}
size_t Part::choice(const std::vector<std::string>& known) const {
  if (is_null()) return 0;
  const std::string said = text();
  const auto at = std::ranges::find(known, said);
  if (at == known.end()) unsupported(known, said);
  return static_cast<size_t>(at - known.begin());
}

}  // namespace lathe::text
