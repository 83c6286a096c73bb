// The names of an enumeration and of its members, as the compiler knows them: for enumerations whose members
// are numbered from 0 without gaps, such as those of lathe/layers.h.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace lathe {
namespace detail {

/// Returns the source text of `value`, or of a cast where no member has this value.
template <auto value>
constexpr std::string_view enumerator_text() {
  // gcc: "… [with auto value = lathe::TopKOperation::max; …]", clang: "… [value =
  // lathe::TopKOperation::max]".
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  const size_t begin = text.find("value = ") + 8;
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

template <class E>
constexpr size_t count_members() {
  return []<size_t... i>(std::index_sequence<i...>) {
    size_t n = 0;
    // A value without a name is written as a cast, "(lathe::TopKOperation)2".
    const bool all = ((enumerator_text<static_cast<E>(i)>().front() != '(' && ++n) && ...);
    return all ? size_t{0} : n;
  }
  (std::make_index_sequence<65>());
}

}  // namespace detail

/// Returns the name of an enumeration without its namespace: "TopKOperation".
template <class E>
requires std::is_enum_v<E>
constexpr std::string_view enum_name() {
  const std::string_view text = detail::enumerator_text<E{}>();
  const size_t end = text.rfind("::"), begin = text.rfind("::", end - 1);
  return begin == text.npos ? text.substr(0, end) : text.substr(begin + 2, end - begin - 2);
}

/// Returns the names of the members of an enumeration by their numbers, of which there are at most 64:
/// {"max", "min"}. The texts are static.
template <class E>
requires std::is_enum_v<E>
constexpr auto member_names() {
  constexpr size_t n = detail::count_members<E>();
  static_assert(n > 0, "1 to 64 members, numbered from 0");
  return []<size_t... i>(std::index_sequence<i...>) {
    const auto name = [](std::string_view text) { return text.substr(text.rfind("::") + 2); };
    return std::array<std::string_view, n>{name(detail::enumerator_text<static_cast<E>(i)>())...};
  }
  (std::make_index_sequence<n>());
}

}  // namespace lathe
