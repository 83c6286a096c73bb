#include "tensor/contents.h"

#include "tensor/element.h"

namespace lathe {
namespace {

template <class T>
bool widen(const Tensor& t, std::vector<int64_t>& out) {
  for (T x : t.as<T>()) {
    if constexpr (std::is_same_v<T, uint64_t>)
      if (x > static_cast<uint64_t>(INT64_MAX)) return false;
    if constexpr (std::is_floating_point_v<T>)
      if (!(std::fabs(x) <= static_cast<T>(exact_integers(t.type()))) || x != std::trunc(x)) return false;
    out.push_back(static_cast<int64_t>(x));
  }
  return true;
}

}  // namespace

bool read_integers(const Tensor& t, std::vector<int64_t>& out) {
  out.clear();
  const int64_t most = exact_integers(t.type()) > 0 ? max_tracked_floats : max_tracked_values;
  if (!is_tracked(t.type()) || t.size() > most || (!t.data() && t.size() > 0)) return false;
  switch (t.type()) {
    case DataType::float32:
      return widen<float>(t, out);
    case DataType::float64:
      return widen<double>(t, out);
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
    default:  // packed
      for (int64_t i = 0; i < t.size(); ++i) out.push_back(load_int(t, i));
      return true;
  }
}

}  // namespace lathe
