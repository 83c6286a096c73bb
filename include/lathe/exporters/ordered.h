// Names and what belongs to them, in the order in which they came: inputs and outputs of a model.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::exporters {

/// A map for a few hundred names at most: looking up walks through it.
template <class T>
class Ordered {
 public:
  using Item = std::pair<std::string, T>;
  Ordered() = default;
  Ordered(std::initializer_list<Item> items) {
    for (const Item& i : items) (*this)[i.first] = i.second;
  }
  T& operator[](std::string_view name) {
    for (Item& i : items_)
      if (i.first == name) return i.second;
    return items_.emplace_back(std::string(name), T{}).second;
  }
  /// Null where there is none.
  const T* find(std::string_view name) const {
    for (const Item& i : items_)
      if (i.first == name) return &i.second;
    return nullptr;
  }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  void erase(std::string_view name) {
    std::erase_if(items_, [&](const Item& i) { return i.first == name; });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Item& i : items_) all.push_back(i.first);
    return all;
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  friend bool operator==(const Ordered&, const Ordered&) = default;

 private:
  std::vector<Item> items_;
};

}  // namespace lathe::exporters
