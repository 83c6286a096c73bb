#include "ops/cast/cast.h"

#include <array>
#include <charconv>
#include <string_view>

#include "kernel/lean_reference.h"
#include "ops/elementwise/lanes.h"
#include "ops/movement.h"

namespace lathe {
namespace {

[[noreturn]] void not_numeric(const KernelContext& c, const std::string& text) {
  c.fail(Code::run_bad_value, "strings that are numbers", "'" + text.substr(0, 64) + "'",
         "check the data that is cast");
}

/// Reads the number at the start of a string, past white space and a plus sign; what follows does not matter.
template <class T>
bool parse_number(const std::string& text, T& value) {
  std::string_view s = text;
  s.remove_prefix(std::min(s.find_first_not_of(" \t\n\v\f\r"), s.size()));
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return std::from_chars(s.data(), s.data() + s.size(), value).ec == std::errc();
}

void parse_strings(KernelContext& c, const Tensor& in, Tensor& out) {
  const std::string* from = in.as<std::string>().data();
  parallel_blocks(c, in.size(), [&](int64_t first, int64_t n) {
    std::array<double, lane_block> reals;
    std::array<int64_t, lane_block> integers;
    for (int64_t i = 0; i < n; ++i) {
      const std::string& text = from[first + i];
      const auto at = static_cast<size_t>(i);
      if (is_float(out.type())) {
        if (!parse_number(text, reals[at])) not_numeric(c, text);
      } else if (uint64_t natural; !parse_number(text, integers[at])) {
        if (!parse_number(text, natural)) not_numeric(c, text);
        integers[at] = static_cast<int64_t>(natural);
      }
    }
    if (is_float(out.type()))
      store_lanes(out, first, n, reals.data());
    else
      store_lanes(out, first, n, integers.data());
  });
}

/// Eight significant digits, without trailing zeros.
std::string real_text(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::general, 8).ptr;
  return std::string(text.data(), end);
}

void print_strings(KernelContext& c, const Tensor& in, Tensor& out) {
  std::string* to = out.as<std::string>().data();
  auto print = [&]<class L>(auto text) {
    parallel_blocks(c, in.size(), [&](int64_t first, int64_t n) {
      std::array<L, lane_block> block;
      load_lanes(in, first, n, block.data());
      for (int64_t i = 0; i < n; ++i) to[first + i] = text(block[static_cast<size_t>(i)]);
    });
  };
  if (is_float(in.type()))
    print.template operator()<double>(real_text);
  else if (is_signed_integer(in.type()))
    print.template operator()<int64_t>([](int64_t x) { return std::to_string(x); });
  else
    print.template operator()<uint64_t>([](uint64_t x) { return std::to_string(x); });
}

Round8 round8(const std::string& mode) {
  return mode == "down" ? Round8::down : mode == "nearest" ? Round8::nearest : Round8::up;
}

/// Floats whose range is a matter of attributes.
template <class T, class F>
void store_float8(KernelContext& c, const Tensor& in, Tensor& out, F narrow) {
  T* to = out.as<T>().data();
  parallel_blocks(c, in.size(), [&](int64_t first, int64_t n) {
    std::array<double, lane_block> block;
    load_lanes(in, first, n, block.data());
    for (int64_t i = 0; i < n; ++i) to[first + i] = narrow(static_cast<float>(block[static_cast<size_t>(i)]));
  });
}

template <class L>
void convert_numbers(KernelContext& c, const Tensor& in, Tensor& out) {
  parallel_blocks(c, in.size(), [&](int64_t first, int64_t n) {
    std::array<L, lane_block> block;
    load_lanes(in, first, n, block.data());
    store_lanes(out, first, n, block.data());
  });
}

/// Rounds float32 for models of 16 bits, without the detour over double, which would change nothing.
void round_to_bfloat16(KernelContext& c, const Tensor& in, Tensor& out) {
  const float* const from = in.as<float>().data();
  BFloat16* const to = out.as<BFloat16>().data();
  parallel_blocks(c, in.size(), [&](int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; ++i) to[i] = to_bfloat16(from[i]);
  });
}

void convert(const Rounding& how, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  const bool keep = how.saturate;
  if (in.type() == DataType::string && out.type() == DataType::string) return copy_elements(in, out, c);
  if (in.type() == DataType::string) return parse_strings(c, in, out);
  if (out.type() == DataType::string) return print_strings(c, in, out);
  switch (out.type()) {
    case DataType::float8e4m3fn:
      return store_float8<Float8E4M3FN>(c, in, out, [=](float x) { return to_float8e4m3fn(x, keep); });
    case DataType::float8e4m3fnuz:
      return store_float8<Float8E4M3FNUZ>(c, in, out, [=](float x) { return to_float8e4m3fnuz(x, keep); });
    case DataType::float8e5m2:
      return store_float8<Float8E5M2>(c, in, out, [=](float x) { return to_float8e5m2(x, keep); });
    case DataType::float8e5m2fnuz:
      return store_float8<Float8E5M2FNUZ>(c, in, out, [=](float x) { return to_float8e5m2fnuz(x, keep); });
    case DataType::float8e8m0:
      return store_float8<Float8E8M0>(
          c, in, out, [=, r = round8(how.round_mode)](float x) { return to_float8e8m0(x, keep, r); });
    default:
      break;
  }
  if (in.type() == DataType::float32 && out.type() == DataType::bfloat16)
    round_to_bfloat16(c, in, out);
  else if (is_float(in.type()))
    convert_numbers<double>(c, in, out);
  else if (is_signed_integer(in.type()))
    convert_numbers<int64_t>(c, in, out);
  else
    convert_numbers<uint64_t>(c, in, out);
}

void cast(const Cast& op, KernelContext& c) { convert(op, c); }
void cast_like(const CastLike& op, KernelContext& c) { convert(op, c); }

void bit_cast_elements(const BitCast&, KernelContext& c) {
  const Tensor& in = c.in(0);
  Tensor& out = c.out(0);
  if (in.bytes() != out.bytes())
    c.fail(Code::run_bad_value, "types of one width", describe(in) + " and " + describe(out));
  c.parallel(static_cast<int64_t>(in.bytes()), 65536, [&](int64_t begin, int64_t end) {
    c.poll();
    std::copy(static_cast<const std::byte*>(in.data()) + begin,
              static_cast<const std::byte*>(in.data()) + end, static_cast<std::byte*>(out.data()) + begin);
  });
}

}  // namespace

void reference_cast(KernelCatalog& k) {
  lean_reference<Cast>(k, "Cast", cast);
  lean_reference<CastLike>(k, "CastLike", cast_like);
  lean_reference<BitCast>(k, "BitCast", bit_cast_elements);
}

}  // namespace lathe
