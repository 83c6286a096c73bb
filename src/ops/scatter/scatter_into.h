// The functions that combine an element with an update, for ScatterElements and ScatterND.
#pragma once

#include <algorithm>

#include "ops/scatter/scatter.h"
#include "tensor/element.h"

namespace lathe {

inline constexpr Types<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>>
    scattered_types;

template <class T>
T scattered(ScatterRule how, T old, T update) {
  if constexpr (std::is_same_v<T, bool>) {
    return how == ScatterRule::add || how == ScatterRule::max ? old || update : old && update;
  } else if constexpr (std::is_integral_v<T>) {  // wraps around
    switch (how) {
      case ScatterRule::add:
        return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(update));
      case ScatterRule::mul:
        return static_cast<T>(static_cast<uint64_t>(old) * static_cast<uint64_t>(update));
      case ScatterRule::min:
        return std::min(old, update);
      default:
        return std::max(old, update);
    }
  } else {
    const auto a = Element<T>::load(old), b = Element<T>::load(update);
    if (how == ScatterRule::add) return Element<T>::store(a + b);
    if (how == ScatterRule::mul) return Element<T>::store(a * b);
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      throw Error(Code::node_bad_type, "run", "an element type that has an order",
                  std::string(name_of(type_of<T>)));
    else if (std::isnan(a) || std::isnan(b))
      return Element<T>::store(a + b);
    else
      return how == ScatterRule::min ? (b < a ? update : old) : (b > a ? update : old);
  }
}

/// Calls f<T>(data, put), where put(to, update) is the reduction on elements of T.
template <class F>
void scatter_into(ScatterRule how, Tensor& out, F&& f) {
  if (how == ScatterRule::none)
    for_size(out.type(), [&]<class T> {
      f.template operator()<T>(out.as<T>(), [](T& to, const T& update) { to = update; });
    });
  else
    for_type(out.type(), scattered_types, [&]<class T> {
      f.template operator()<T>(out.as<T>(),
                               [how](T& to, const T& update) { to = scattered(how, to, update); });
    });
}

}  // namespace lathe
