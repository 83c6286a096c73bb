// The bytes of a TensorProto.
#pragma once

#include <optional>

#include "lathe/onnx.h"
#include "lathe/run_control.h"

namespace lathe::onnx {

/// Returns the bytes that raw_data of this tensor holds or would hold, checked; nothing for strings, which
/// raw_data cannot hold. The bytes are a view if the data is raw or external.
std::optional<Bytes> raw_bytes(const TensorProto& p, const Model& where);
/// Same as to_tensor of the public header; `control` is checked while data is converted or copied. With
/// `any_alignment` large tensors are views of the file's bytes at any address.
Tensor to_tensor(const TensorProto& p, const Model* where, RunControl* control, bool any_alignment = false);
/// Checks the reference of an external tensor against its file, without touching the data.
void check_external(const TensorProto& p, const Model& where);

}  // namespace lathe::onnx
