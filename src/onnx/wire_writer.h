// Writes one message to the wire, in pieces: sizes are computed first, so that no message is assembled in
// memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lathe/onnx.h"

namespace lathe::onnx::wire {

/// Receives the bytes in order. Pieces of large byte fields are passed on without a copy.
using Sink = std::function<void(std::string_view)>;

/// Returns the tensor to write instead of another; null: that one itself. It is called twice for each tensor
/// and must return the same. So data moves in or out of a model without a copy of it.
using StandIn = std::function<const TensorProto*(const TensorProto&)>;

/// Writes fields in the order of the description, unknown ones at the end of their message.
template <class M>
void write(const M& m, const Sink& sink, const StandIn& stand_in = {});

}  // namespace lathe::onnx::wire
