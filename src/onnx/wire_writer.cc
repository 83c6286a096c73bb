#include "onnx/wire_writer.h"

#include <cstring>
#include <protozero/buffer_string.hpp>
#include <protozero/varint.hpp>
#include <vector>

#include "onnx/wire_fields.h"
#include "onnx/wire_types.h"

namespace lathe::onnx::wire {
namespace {

uint64_t varint_size(uint64_t v) {
  uint64_t n = 1;
  while (v >= 0x80) v >>= 7, ++n;
  return n;
}
uint64_t tag_of(int number, int type) {
  return static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type);
}

template <class T>
uint64_t as_varint(T v) {
  return static_cast<uint64_t>(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(
      v));  // negatives take ten bytes
}
template <class T>
uint64_t scalar_size(T v) {
  return std::is_floating_point_v<T> ? sizeof(T) : varint_size(as_varint(v));
}
inline std::string_view text_of(const std::string& s) { return s; }
inline std::string_view text_of(const Bytes& b) { return b.view(); }

template <class M>
const M& chosen(const M& m, const StandIn& stand_in) {
  if constexpr (std::is_same_v<M, TensorProto>)
    if (stand_in)
      if (const TensorProto* other = stand_in(m)) return *other;
  return m;
}

/// First pass: the size of every message and packed field, in the order in which the second pass needs them.
class Measure {
 public:
  explicit Measure(const StandIn& stand_in) : stand_in_(stand_in) {}

  template <Message M>
  uint64_t message(const M& original) {
    const M& m = chosen(original, stand_in_);
    const size_t slot = sizes.size();
    sizes.push_back(0);
    uint64_t total = 0;
    visit_fields(m, [&](int number, std::string_view, const auto& member, auto... packed) {
      total += field(number, member, packed...);
    });
    total += m.unknown.size();
    sizes[slot] = total;
    return total;
  }
  std::vector<uint64_t> sizes;

 private:
  template <class T>
  uint64_t one(int number, const T& v) {
    const uint64_t tag = varint_size(tag_of(number, 0));
    if constexpr (std::is_arithmetic_v<T>)
      return tag + scalar_size(v);
    else if constexpr (is_text<T>)
      return tag + varint_size(text_of(v).size()) + text_of(v).size();
    else {
      const uint64_t n = message(v);
      return tag + varint_size(n) + n;
    }
  }
  template <class T>
  uint64_t field(int number, const std::optional<T>& v) {
    return v ? one(number, *v) : 0;
  }
  template <class T>
  uint64_t field(int number, const Boxed<T>& v) {
    return v ? one(number, *v) : 0;
  }
  template <class T>
  uint64_t field(int number, const std::vector<T>& list) {
    uint64_t total = 0;
    for (const T& v : list) total += one(number, v);
    return total;
  }
  template <class T>
  uint64_t field(int number, const std::vector<T>& list, Packed) {
    if (list.empty()) return 0;
    uint64_t n = 0;
    if constexpr (std::is_floating_point_v<T>)
      n = list.size() * sizeof(T);
    else
      for (const T v : list) n += scalar_size(v);
    sizes.push_back(n);
    return varint_size(tag_of(number, delimited)) + varint_size(n) + n;
  }

  const StandIn& stand_in_;
};

class Writer {
 public:
  Writer(std::vector<uint64_t> sizes, const Sink& sink, const StandIn& stand_in)
      : sizes_(std::move(sizes)), sink_(sink), stand_in_(stand_in) {
    buffer_.reserve(max_buffered);
  }

  template <Message M>
  void message(const M& original) {
    const M& m = chosen(original, stand_in_);
    ++next_;  // its own size: the caller has written it
    visit_fields(m, [&](int number, std::string_view, const auto& member, auto... packed) {
      field(number, member, packed...);
    });
    bytes(m.unknown);
  }
  void finish() {
    sink_(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr size_t max_buffered = 1 << 16;

  void put(uint64_t v) { protozero::add_varint_to_buffer(&buffer_, v); }
  void bytes(std::string_view s) {
    if (buffer_.size() + s.size() > max_buffered) finish();
    if (s.size() > max_buffered)
      sink_(s);
    else
      buffer_.append(s);
  }
  template <class T>
  void scalar(T v) {
    if constexpr (std::is_floating_point_v<T>)
      buffer_.append(reinterpret_cast<const char*>(&v), sizeof v);
    else
      put(as_varint(v));
    if (buffer_.size() > max_buffered) finish();
  }
  template <class T>
  void one(int number, const T& v) {
    if constexpr (std::is_arithmetic_v<T>) {
      put(tag_of(number, wire_type_of<T>()));
      scalar(v);
    } else if constexpr (is_text<T>) {
      put(tag_of(number, delimited));
      put(text_of(v).size());
      bytes(text_of(v));
    } else {
      put(tag_of(number, delimited));
      put(sizes_[next_]);
      message(v);
    }
  }
  template <class T>
  void field(int number, const std::optional<T>& v) {
    if (v) one(number, *v);
  }
  template <class T>
  void field(int number, const Boxed<T>& v) {
    if (v) one(number, *v);
  }
  template <class T>
  void field(int number, const std::vector<T>& list) {
    for (const T& v : list) one(number, v);
  }
  template <class T>
  void field(int number, const std::vector<T>& list, Packed) {
    if (list.empty()) return;
    put(tag_of(number, delimited));
    put(sizes_[next_++]);
    if constexpr (std::is_floating_point_v<T>)
      bytes({reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)});
    else
      for (const T v : list) scalar(v);
  }

  std::vector<uint64_t> sizes_;
  size_t next_ = 0;
  const Sink& sink_;
  const StandIn& stand_in_;
  std::string buffer_;
};

}  // namespace

template <class M>
void write(const M& m, const Sink& sink, const StandIn& stand_in) {
  Measure measure(stand_in);
  measure.message(m);
  Writer w(std::move(measure.sizes), sink, stand_in);
  w.message(m);
  w.finish();
}

#define LATHE_MESSAGE(M) template void write(const M&, const Sink&, const StandIn&);
LATHE_WHOLE_MESSAGES(LATHE_MESSAGE)
#undef LATHE_MESSAGE

}  // namespace lathe::onnx::wire
