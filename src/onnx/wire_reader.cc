#include "onnx/wire_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <protozero/varint.hpp>

#include "base/utf8.h"
#include "lathe/error.h"
#include "onnx/memory_budget.h"
#include "onnx/wire_fields.h"
#include "onnx/wire_types.h"

namespace lathe::onnx::wire {
namespace {

template <class T>
struct ListElement {
  static constexpr size_t size = 0;
};
template <class T>
struct ListElement<std::vector<T>> {
  static constexpr size_t size = sizeof(T);
};

/// Reserves room for more elements, at least twice the capacity: a file may have a list in a million pieces.
template <class T>
void reserve_more(std::vector<T>& list, size_t more) {
  if (list.capacity() - list.size() < more)
    list.reserve(std::max(list.size() + more, list.empty() ? more : 2 * list.capacity()));
}

class Reader {
 public:
  Reader(std::string_view all, const LoadOptions& options, std::shared_ptr<const void> owner,
         RunControl* control)
      : control_(control),
        start_(all.data()),
        max_depth_(static_cast<size_t>(std::max(options.max_depth, 0))),
        owner_(std::move(owner)),
        budget_(all.size()) {}

  template <Message M>
  void message(std::string_view bytes, M& m) {
    const char* p = bytes.data();
    const char* const end = p + bytes.size();
    reserve_lists(m, p, end);
    while (p < end) {
      step_ = {};
      const char* const field = p;
      const Tag tag = tag_at(p, end);
      did(64);
      bool known = false;
      visit_fields(m, [&](int n, std::string_view name, auto& member, auto...) {
        if (static_cast<uint64_t>(n) != tag.number) return;
        known = true;
        step_ = {name};
        take(member, tag.type, field, p, end);
        if (is_alternative(m, n)) clear_alternatives(m, n);
      });
      if (known) continue;
      skip(tag, p, end, path_.size());
      m.unknown.append(field, static_cast<size_t>(p - field));
    }
  }

 private:
  template <Message M>
  static void clear_alternatives(M& m, int chosen) {
    visit_fields(m, [&](int n, std::string_view, auto& member, auto...) {
      if constexpr (requires { member.reset(); })
        if (n != chosen && is_alternative(m, n)) member.reset();
    });
  }

  static constexpr size_t no_index = SIZE_MAX;
  struct Tag {
    uint64_t number;
    int type;
  };
  /// The current position, for error messages: "graph", "node[3]".
  struct Step {
    std::string_view field;
    size_t index = no_index;
  };

  [[noreturn]] void fail(const char* at, Code code, std::string expected, std::string got,
                         std::string remedy = "the file is damaged or no ONNX model: fetch it again") const {
    Diagnostic d;
    d.code = code;
    d.stage = "parse";
    for (const Step& s : path_) {
      d.node += s.field;
      if (s.index != no_index) d.node += "[" + std::to_string(s.index) + "]";
      d.node += ".";
    }
    d.node += step_.field;
    if (d.node.ends_with('.')) d.node.pop_back();
    d.node += (d.node.empty() ? "byte " : " at byte ") + std::to_string(at - start_);
    d.expected = std::move(expected);
    d.got = std::move(got);
    d.remedy = std::move(remedy);
    throw Error(std::move(d));
  }
  /// Checks `control` after so many fields or bytes of lists.
  void did(size_t work) {
    if ((since_check_ += work) < 65536) return;
    since_check_ = 0;
    if (control_) control_->check();
  }
  void charge(const char* at, uint64_t bytes) {
    if (!budget_.take(bytes))
      fail(at, Code::wire_too_large,
           "messages that take at most " + std::to_string(budget_.all()) + " bytes of memory", "more",
           "files made of millions of empty messages are refused");
  }

  uint64_t varint_at(const char*& p, const char* end) const {
    const char* const at = p;
    try {
      return protozero::decode_varint(&p, end);
    } catch (const std::exception&) {  // protozero's own types
      fail(at, Code::wire_malformed, "a varint of at most ten bytes", "one cut short or overlong");
    }
  }
  Tag tag_at(const char*& p, const char* end) const {
    const char* const at = p;
    const uint64_t tag = varint_at(p, end);
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
      fail(at, Code::wire_malformed, "a field number in 1…536870911", std::to_string(tag >> 3));
    return {tag >> 3, static_cast<int>(tag & 7)};
  }
  // This replaces protozero's reader, which truncates lengths to 32 bits: weights of more than 4 GB exist.
  std::string_view delimited_at(const char*& p, const char* end) const {
    const char* const at = p;
    const uint64_t length = varint_at(p, end);
    const auto left = static_cast<uint64_t>(end - p);
    if (length > left)
      fail(at, Code::wire_malformed,
           "a length of at most the " + std::to_string(left) + " bytes that are left",
           std::to_string(length));
    const std::string_view view(p, length);
    p += length;
    return view;
  }
  void advance(const char*& p, const char* end, size_t n) const {
    if (static_cast<size_t>(end - p) < n)
      fail(p, Code::wire_malformed, std::to_string(n) + " more bytes", std::to_string(end - p));
    p += n;
  }

  void skip(Tag tag, const char*& p, const char* end, size_t depth) const {
    switch (tag.type) {
      case varint:
        varint_at(p, end);
        return;
      case fixed64:
        return advance(p, end, 8);
      case fixed32:
        return advance(p, end, 4);
      case delimited:
        delimited_at(p, end);
        return;
      case group_start:
        check_depth(p, depth);
        for (;;) {
          if (p >= end) fail(p, Code::wire_malformed, "the end of a group", "the end of the message");
          const char* const at = p;
          const Tag inner = tag_at(p, end);
          if (inner.type != group_end) {
            skip(inner, p, end, depth + 1);
            continue;
          }
          if (inner.number == tag.number) return;
          fail(at, Code::wire_malformed, "the end of group " + std::to_string(tag.number),
               "that of " + std::to_string(inner.number));
        }
      default:
        fail(p, Code::wire_malformed, "a wire type in 0…5, groups in pairs", std::to_string(tag.type));
    }
  }
  void check_depth(const char* at, size_t depth) const {
    if (depth >= max_depth_)
      fail(at, Code::wire_too_deep,
           "messages and groups nested at most " + std::to_string(max_depth_) + " deep", "deeper ones",
           "raise LoadOptions::max_depth if the file is trusted");
  }

  /// Counts the elements first: messages are large, and growing a list moves them all.
  template <class M>
  void reserve_lists(M& m, const char* p, const char* end) {
    const char* const start = p;
    std::array<size_t, 32> counts{};
    while (p < end) {
      const Tag tag = tag_at(p, end);
      did(16);
      if (tag.number < counts.size()) ++counts[tag.number];
      skip(tag, p, end, path_.size());
    }
    visit_fields(m, [&](int n, std::string_view, auto& member, auto...) {
      using T = std::remove_reference_t<decltype(member)>;
      if constexpr (ListElement<T>::size > 0)
        // A packed list may be in a single field: packed() reserves room for that.
        if (const size_t count = counts[static_cast<size_t>(n)]; count > 1 || ListElement<T>::size > 8) {
          charge(start, count * ListElement<T>::size);
          reserve_more(member, count);
        }
    });
  }

  template <class T>
  T scalar_at(const char*& p, const char* end) const {
    if constexpr (std::is_floating_point_v<T>) {
      const char* const from = p;
      advance(p, end, sizeof(T));
      T v;
      std::memcpy(&v, from, sizeof(T));
      return v;
    } else {
      return static_cast<T>(varint_at(p, end));
    }
  }
  void text(std::string_view from, std::string& to) const {
    if (!is_utf8(from))
      fail(from.data(), Code::wire_bad_utf8, "text in UTF-8", "other bytes",
           "write names and texts in UTF-8");
    to.assign(from);
  }
  void text(std::string_view from, Bytes& to) const {
    to = owner_ ? Bytes(from, owner_) : Bytes(std::string(from));
  }
  template <class T>
  void packed(std::string_view bytes, std::vector<T>& to) {
    if constexpr (std::is_floating_point_v<T>) {
      if (bytes.size() % sizeof(T))
        fail(bytes.data(), Code::wire_malformed,
             "a packed list of whole elements of " + std::to_string(sizeof(T)) + " bytes",
             std::to_string(bytes.size()) + " bytes");
      const size_t old = to.size(), n = bytes.size() / sizeof(T);
      reserve_more(to, n);
      for (size_t i = 0; i < n;) {
        const size_t piece = std::min<size_t>(n - i, 65536);
        to.resize(old + i + piece);
        std::memcpy(to.data() + old + i, bytes.data() + i * sizeof(T), piece * sizeof(T));
        i += piece;
        did(piece);
      }
    } else {
      size_t count = 0;
      for (size_t i = 0; i < bytes.size(); i += 65536) {
        for (const char c : bytes.substr(i, 65536)) count += static_cast<unsigned char>(c) < 0x80;
        did(16384);
      }
      reserve_more(to, count);
      const char* p = bytes.data();
      const char* const end = p + bytes.size();
      while (p < end) {
        to.push_back(static_cast<T>(varint_at(p, end)));
        did(1);
      }
    }
  }
  template <class T>
  void nested(std::string_view bytes, T& to) {
    check_depth(bytes.data(), path_.size());
    path_.push_back(std::exchange(step_, {}));
    message(bytes, to);
    path_.pop_back();
  }

  void check_type(int type, int wanted, const char* field) const {
    if (type != wanted)
      fail(field, Code::wire_malformed, "wire type " + std::to_string(wanted), std::to_string(type));
  }
  template <class T>
  void take(std::optional<T>& member, int type, const char* field, const char*& p, const char* end) {
    check_type(type, wire_type_of<T>(), field);
    if constexpr (std::is_arithmetic_v<T>) {
      member = scalar_at<T>(p, end);
    } else if constexpr (is_text<T>) {
      text(delimited_at(p, end), member.emplace());
    } else {
      if (!member) member.emplace();  // a message that occurs twice is merged
      nested(delimited_at(p, end), *member);
    }
  }
  template <class T>
  void take(Boxed<T>& member, int type, const char* field, const char*& p, const char* end) {
    check_type(type, delimited, field);
    if (!member) {
      charge(field, sizeof(T));
      member.emplace();
    }
    nested(delimited_at(p, end), *member);
  }
  template <class T>
  void take(std::vector<T>& member, int type, const char* field, const char*& p, const char* end) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (type == delimited) return packed(delimited_at(p, end), member);
      check_type(type, wire_type_of<T>(), field);
      member.push_back(scalar_at<T>(p, end));
    } else {
      check_type(type, delimited, field);
      step_.index = member.size();
      const std::string_view bytes = delimited_at(p, end);
      if constexpr (is_text<T>)
        text(bytes, member.emplace_back());
      else
        nested(bytes, member.emplace_back());
    }
  }

  RunControl* control_;
  size_t since_check_ = 0;
  const char* start_;
  size_t max_depth_;
  std::shared_ptr<const void> owner_;
  MemoryBudget budget_;
  std::vector<Step> path_;
  Step step_;
};

}  // namespace

template <class M>
M read(std::string_view bytes, const LoadOptions& options, std::shared_ptr<const void> owner,
       RunControl* control) {
  if (bytes.size() > options.max_bytes)
    throw Error(Code::wire_too_large, "parse", "at most " + std::to_string(options.max_bytes) + " bytes",
                std::to_string(bytes.size()), "raise LoadOptions::max_bytes if the file is trusted");
  M m;
  Reader(bytes, options, std::move(owner), control).message(bytes, m);
  return m;
}

#define LATHE_MESSAGE(M) \
  template M read(std::string_view, const LoadOptions&, std::shared_ptr<const void>, RunControl*);
LATHE_WHOLE_MESSAGES(LATHE_MESSAGE)
#undef LATHE_MESSAGE

}  // namespace lathe::onnx::wire
