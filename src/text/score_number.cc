#include "text/score_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace lathe::text {
namespace {

constexpr int64_t greatest_power = 308;

double power_of_ten(int64_t n) {
  static const auto all = [] {
    std::array<double, greatest_power + 1> powers{};
    for (size_t i = 0; i < powers.size(); ++i) {
      const std::string text = "1e" + std::to_string(i);
      std::from_chars(text.data(), text.data() + text.size(), powers[i]);
    }
    return powers;
  }();
  return all[static_cast<size_t>(n)];
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

double score_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  uint64_t digits = 0;
  int64_t exponent = 0;
  bool full = false, behind_point = false;
  size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.') {
      // Digits behind the point are tried anew where those before it were too many.
      behind_point = true, full = false;
      continue;
    }
    const auto digit = static_cast<uint64_t>(text[i] - '0');
    full |= digits > (UINT64_MAX - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    exponent += full ? !behind_point : -static_cast<int64_t>(behind_point);
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const bool down = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    int64_t power = 0;
    for (; i < text.size() && is_digit(text[i]); ++i)
      power = std::min<int64_t>(power * 10 + (text[i] - '0'), INT32_MAX);
    exponent += down ? -power : power;
  }
  auto value = static_cast<double>(digits);
  for (; exponent < -greatest_power && value != 0; exponent += greatest_power) value /= 1e308;
  if (value != 0 && exponent < 0) value /= power_of_ten(-exponent);
  if (value != 0 && exponent > 0) value *= power_of_ten(std::min(exponent, greatest_power));
  return negative ? -value : value;
}

}  // namespace lathe::text
