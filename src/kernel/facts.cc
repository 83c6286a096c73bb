#include "kernel/facts.h"

namespace lathe {
namespace {

template <class T>
bool widen(const Tensor& t, std::vector<int64_t>& out) {
  for (T x : t.as<T>()) {
    if constexpr (std::is_same_v<T, uint64_t>)
      if (x > static_cast<uint64_t>(INT64_MAX)) return false;
    out.push_back(static_cast<int64_t>(x));
  }
  return true;
}

}  // namespace

bool read_integers(const Tensor& t, std::vector<int64_t>& out) {
  out.clear();
  if (t.size() > max_tracked_values || (!t.data() && t.size() > 0)) return false;
  switch (t.type()) {
    case DataType::int8:
      return widen<int8_t>(t, out);
    case DataType::int16:
      return widen<int16_t>(t, out);
    case DataType::int32:
      return widen<int32_t>(t, out);
    case DataType::int64:
      return widen<int64_t>(t, out);
    case DataType::uint8:
      return widen<uint8_t>(t, out);
    case DataType::uint16:
      return widen<uint16_t>(t, out);
    case DataType::uint32:
      return widen<uint32_t>(t, out);
    case DataType::uint64:
      return widen<uint64_t>(t, out);
    case DataType::boolean:
      return widen<uint8_t>(t, out);
    default:
      return false;
  }
}

void describe_value(const Value& v, Fact<int64_t>& f, bool readable) {
  f.present = !v.empty();
  f.type = DataType::undefined;
  f.ranked = f.valued = false;
  f.shape.clear();
  f.constant = nullptr;
  if (v.is_sparse()) {
    f.type = v.sparse().values.type();
    f.ranked = true;
    f.shape.assign(v.sparse().shape.begin(), v.sparse().shape.end());
  }
  if (!v.is_tensor() || !v.tensor().defined()) return;
  const Tensor& t = v.tensor();
  f.type = t.type();
  f.ranked = true;
  f.shape.assign(t.shape().begin(), t.shape().end());
  if (!readable) return;
  f.valued = read_integers(t, f.values);
  f.constant = &t;
}

}  // namespace lathe
