#include "tensor/attributes.h"

#include <algorithm>

namespace lathe {

std::string_view kind_of(const AttributeValue& v) {
  static constexpr std::string_view kinds[] = {"int",  "float",  "string",  "tensor",
                                               "ints", "floats", "strings", "tensors"};
  return kinds[v.index()];
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Entry& e : entries_)
    if (e.name == name) return &e.value;
  return nullptr;
}

void Attributes::set(std::string name, AttributeValue v) {
  for (Entry& e : entries_)
    if (e.name == name) {
      e.value = std::move(v);
      return;
    }
  entries_.push_back({std::move(name), std::move(v)});
}

bool Attributes::erase(std::string_view name) {
  return std::erase_if(entries_, [&](const Entry& e) { return e.name == name; }) != 0;
}

bool Attributes::rename(std::string_view from, std::string to) {
  for (Entry& e : entries_)
    if (e.name == from) {
      e.name = std::move(to);
      return true;
    }
  return false;
}

void bad_attribute(std::string_view name, std::string_view expected, const AttributeValue& got) {
  throw Error(Code::node_bad_attribute, "check",
              "attribute '" + std::string(name) + "' of kind " + std::string(expected),
              std::string(kind_of(got)), "write the attribute with its declared kind");
}

}  // namespace lathe
