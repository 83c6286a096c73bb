// Names and their values in the order in which they were added: inputs and outputs of a model.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::exporters {

/// A map that keeps its order, for a few hundred names at most: lookups are linear. As thread-safe as
/// std::vector.
template <class T>
class Ordered {
 public:
  using Item = std::pair<std::string, T>;  // one entry: name and value
  /// Makes an empty map.
  Ordered() = default;
  /// Makes a map of the items; the last one of a name counts.
  Ordered(std::initializer_list<Item> items) {
    for (const Item& i : items) (*this)[i.first] = i.second;
  }
  /// Returns the value of a name, which is added at the end where it is missing.
  T& operator[](std::string_view name) {
    for (Item& i : items_)
      if (i.first == name) return i.second;
    return items_.emplace_back(std::string(name), T{}).second;
  }
  /// Returns the value of a name, or null where there is none.
  const T* find(std::string_view name) const {
    for (const Item& i : items_)
      if (i.first == name) return &i.second;
    return nullptr;
  }
  /// Returns whether there is that name.
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Removes a name where it is there.
  void erase(std::string_view name) {
    std::erase_if(items_, [&](const Item& i) { return i.first == name; });
  }
  /// Returns all names in order.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Item& i : items_) all.push_back(i.first);
    return all;
  }
  /// Returns the number of entries.
  size_t size() const { return items_.size(); }
  /// Returns whether there are none.
  bool empty() const { return items_.empty(); }
  /// Returns an iterator to the first entry.
  auto begin() { return items_.begin(); }
  /// Returns an iterator behind the last entry.
  auto end() { return items_.end(); }
  /// Returns an iterator to the first entry.
  auto begin() const { return items_.begin(); }
  /// Returns an iterator behind the last entry.
  auto end() const { return items_.end(); }
  friend bool operator==(const Ordered&, const Ordered&) = default;

 private:
  std::vector<Item> items_;
};

}  // namespace lathe::exporters
