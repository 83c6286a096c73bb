// Writes one message to the wire, in pieces: sizes are worked out first, so that nothing is built up in
// memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lathe/onnx.h"

namespace lathe::onnx::wire {

/// Where the bytes go, in order. Pieces of large byte fields are handed on without a copy.
using Sink = std::function<void(std::string_view)>;

/// The tensor to write instead of another; null: that one itself. Asked twice for each, with the same answer.
/// So data moves in or out of a model without a copy of it.
using StandIn = std::function<const TensorProto*(const TensorProto&)>;

/// Fields in the order of the description, unknown ones at the end of their message.
template <class M>
void write(const M& m, const Sink& sink, const StandIn& stand_in = {});

}  // namespace lathe::onnx::wire
