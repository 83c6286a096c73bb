#include "onnx/wire_reader.h"

#include <cstring>
#include <protozero/varint.hpp>

#include "lathe/error.h"
#include "onnx/wire_fields.h"

namespace lathe::onnx::wire {
namespace {

enum WireType { varint = 0, fixed64 = 1, delimited = 2, group_start = 3, group_end = 4, fixed32 = 5 };

/// What a C++ member is on the wire.
template <class T>
inline constexpr bool is_text = std::is_same_v<T, std::string> || std::is_same_v<T, Bytes>;
template <class T>
inline constexpr bool is_scalar = std::is_arithmetic_v<T>;
template <class T>
struct Unwrapped {
  using Type = void;
};
template <class T>
struct Unwrapped<std::vector<T>> {
  using Type = T;
};

class Reader {
 public:
  Reader(std::string_view all, const LoadOptions& options, std::shared_ptr<const void> owner)
      : start_(all.data()), options_(options), owner_(std::move(owner)) {}

  template <Message M>
  void message(std::string_view bytes, M& m, int depth) {
    if (depth > options_.max_depth)
      fail(bytes.data(), Code::wire_too_deep,
           "messages nested at most " + std::to_string(options_.max_depth) + " deep", "deeper ones",
           "raise LoadOptions::max_depth if the file is trusted");
    const char* p = bytes.data();
    const char* const end = p + bytes.size();
    while (p < end) {
      const char* const field = p;
      const uint64_t tag = varint_at(p, end);
      const uint64_t number = tag >> 3;
      const auto type = static_cast<int>(tag & 7);
      if (number == 0 || number > 0x1fffffff)
        fail(field, Code::wire_malformed, "a field number in 1…2^29-1", std::to_string(number));
      bool known = false;
      visit_fields(m, [&](int n, auto& member, auto...) {
        if (static_cast<uint64_t>(n) == number && !known) known = take(member, type, p, end, depth);
      });
      if (known) continue;
      skip(type, number, p, end, depth);
      m.unknown.append(field, static_cast<size_t>(p - field));
    }
  }

 private:
  [[noreturn]] void fail(const char* at, Code code, std::string expected, std::string got,
                         std::string remedy = {}) const {
    Diagnostic d;
    d.code = code;
    d.stage = "parse";
    d.node = "byte " + std::to_string(at - start_);
    d.expected = std::move(expected);
    d.got = std::move(got);
    d.remedy =
        remedy.empty() ? "the file is damaged or not an ONNX model: fetch it again" : std::move(remedy);
    throw Error(std::move(d));
  }

  uint64_t varint_at(const char*& p, const char* end) const {
    const char* const at = p;
    try {
      return protozero::decode_varint(&p, end);
    } catch (const std::exception&) {  // protozero's own types: cut short, or more than ten bytes
      fail(at, Code::wire_malformed, "a varint of at most ten bytes", "one cut short or overlong");
    }
  }

  std::string_view delimited_at(const char*& p, const char* end) const {
    const char* const at = p;
    const uint64_t length = varint_at(p, end);
    if (length > static_cast<uint64_t>(end - p))
      fail(at, Code::wire_malformed,
           "a length within the message (" + std::to_string(end - p) + " bytes left)",
           std::to_string(length));
    const std::string_view view(p, length);
    p += length;
    return view;
  }

  void skip(int type, uint64_t number, const char*& p, const char* end, int depth) const {
    auto advance = [&](size_t n) {
      if (static_cast<size_t>(end - p) < n)
        fail(p, Code::wire_malformed, std::to_string(n) + " more bytes", std::to_string(end - p));
      p += n;
    };
    switch (type) {
      case varint:
        varint_at(p, end);
        return;
      case fixed64:
        advance(8);
        return;
      case fixed32:
        advance(4);
        return;
      case delimited:
        delimited_at(p, end);
        return;
      case group_start:
        if (depth >= options_.max_depth)
          fail(p, Code::wire_too_deep,
               "groups nested at most " + std::to_string(options_.max_depth) + " deep", "deeper ones");
        for (;;) {
          if (p >= end) fail(p, Code::wire_malformed, "the end of a group", "the end of the message");
          const uint64_t tag = varint_at(p, end);
          if ((tag & 7) == group_end) {
            if (tag >> 3 != number)
              fail(p, Code::wire_malformed, "the end of group " + std::to_string(number),
                   "that of " + std::to_string(tag >> 3));
            return;
          }
          skip(static_cast<int>(tag & 7), tag >> 3, p, end, depth + 1);
        }
      default:
        fail(p, Code::wire_malformed, "a wire type in 0…5, groups in pairs", std::to_string(type));
    }
  }

  /// One scalar; its wire type has been checked.
  template <class T>
  T scalar_at(const char*& p, const char* end) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (static_cast<size_t>(end - p) < sizeof(T))
        fail(p, Code::wire_malformed, std::to_string(sizeof(T)) + " more bytes", std::to_string(end - p));
      T v;
      std::memcpy(&v, p, sizeof(T));
      p += sizeof(T);
      return v;
    } else {
      return static_cast<T>(varint_at(p, end));
    }
  }
  template <class T>
  static constexpr int wire_type_of() {
    if constexpr (std::is_same_v<T, float>)
      return fixed32;
    else if constexpr (std::is_same_v<T, double>)
      return fixed64;
    else if constexpr (is_scalar<T>)
      return varint;
    else
      return delimited;
  }

  void text(std::string_view from, std::string& to) const { to.assign(from); }
  void text(std::string_view from, Bytes& to) const {
    // Small ones are copied: a view would pin the page, and its counter costs as much as the copy.
    to = owner_ && from.size() > 64 ? Bytes(from, owner_) : Bytes(std::string(from));
  }

  template <class T>
  void packed(std::string_view bytes, std::vector<T>& to) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (bytes.size() % sizeof(T))
        fail(bytes.data(), Code::wire_malformed, "a packed field of whole elements",
             std::to_string(bytes.size()) + " bytes");
      const size_t old = to.size(), n = bytes.size() / sizeof(T);
      to.resize(old + n);
      if (n) std::memcpy(to.data() + old, bytes.data(), bytes.size());
    } else {
      const char* p = bytes.data();
      const char* const end = p + bytes.size();
      size_t count = 0;
      for (const char c : bytes) count += static_cast<unsigned char>(c) < 0x80;
      to.reserve(to.size() + count);
      while (p < end) to.push_back(static_cast<T>(varint_at(p, end)));
    }
  }

  // take(): reads the field into the member; false when the wire type is not the member's, which makes it an
  // unknown field.
  template <class T>
  bool take(std::optional<T>& member, int type, const char*& p, const char* end, int depth) {
    if (type != wire_type_of<T>()) return false;
    if constexpr (is_scalar<T>) {
      member = scalar_at<T>(p, end);
    } else if constexpr (is_text<T>) {
      text(delimited_at(p, end), member.emplace());
    } else {
      if (!member) member.emplace();  // a message that occurs twice is merged
      message(delimited_at(p, end), *member, depth + 1);
    }
    return true;
  }
  template <class T>
  bool take(std::shared_ptr<T>& member, int type, const char*& p, const char* end, int depth) {
    if (type != delimited) return false;
    if (!member) member = std::make_shared<T>();
    message(delimited_at(p, end), *member, depth + 1);
    return true;
  }
  template <class T>
  bool take(std::vector<T>& member, int type, const char*& p, const char* end, int depth) {
    if constexpr (is_scalar<T>) {
      if (type == delimited)
        packed(delimited_at(p, end), member);
      else if (type == wire_type_of<T>())
        member.push_back(scalar_at<T>(p, end));
      else
        return false;
    } else {
      if (type != delimited) return false;
      const std::string_view bytes = delimited_at(p, end);
      if constexpr (is_text<T>)
        text(bytes, member.emplace_back());
      else
        message(bytes, member.emplace_back(), depth + 1);
    }
    return true;
  }

  const char* start_;
  const LoadOptions& options_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

template <class M>
M read(std::string_view bytes, const LoadOptions& options, std::shared_ptr<const void> owner) {
  if (bytes.size() > options.max_bytes)
    throw Error(Code::wire_too_large, "parse", "at most " + std::to_string(options.max_bytes) + " bytes",
                std::to_string(bytes.size()), "raise LoadOptions::max_bytes if the file is trusted");
  M m;
  Reader(bytes, options, std::move(owner)).message(bytes, m, 0);
  return m;
}

template ModelProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template GraphProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template NodeProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template TensorProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template SparseTensorProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template AttributeProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template FunctionProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template ValueInfoProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template TypeProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template SequenceProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template MapProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);
template OptionalProto read(std::string_view, const LoadOptions&, std::shared_ptr<const void>);

}  // namespace lathe::onnx::wire
