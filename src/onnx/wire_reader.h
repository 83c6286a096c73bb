// Reads one message from the wire into its struct.
#pragma once

#include <memory>
#include <string_view>

#include "lathe/onnx.h"
#include "lathe/run_control.h"

namespace lathe::onnx::wire {

/// `bytes` must outlive the message if `owner` keeps it alive (large byte fields become views); without an
/// owner they are copied. `control` is checked now and then.
template <class M>
M read(std::string_view bytes, const LoadOptions& options, std::shared_ptr<const void> owner,
       RunControl* control = nullptr);

}  // namespace lathe::onnx::wire
