// Visits all tensors of a message, wherever they are: initializers, attributes, sparse values, bodies,
// functions.
#pragma once

#include "onnx/wire_fields.h"

namespace lathe::onnx {

/// Calls f(tensor) for each, in the order of the file. `m` may be const.
template <class M, class F>
void each_tensor(M& m, const F& f) {
  if constexpr (std::is_same_v<std::remove_const_t<M>, TensorProto>) {
    f(m);
  } else if constexpr (wire::Message<M>) {
    wire::visit_fields(m, [&](int, std::string_view, auto& member, auto...) { each_tensor(member, f); });
  } else if constexpr (requires { m.has_value(); }) {
    if (m) each_tensor(*m, f);
  } else if constexpr (requires { m.capacity(); }) {
    if constexpr (wire::Message<typename M::value_type>)
      for (auto& element : m) each_tensor(element, f);
  }
}

}  // namespace lathe::onnx
