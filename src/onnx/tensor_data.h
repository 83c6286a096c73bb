// The bytes of a TensorProto, for those who move them around.
#pragma once

#include <optional>

#include "lathe/onnx.h"
#include "lathe/run_control.h"

namespace lathe::onnx {

/// What raw_data of this tensor holds or would hold, checked; nothing for strings, which cannot lie there. A
/// view where the data is raw or external.
std::optional<Bytes> raw_bytes(const TensorProto& p, const Model& where);
/// As to_tensor of the public header; `control` is asked while data is converted or copied. With
/// `any_alignment` large tensors are views of the file's bytes wherever they lie.
Tensor to_tensor(const TensorProto& p, const Model* where, RunControl* control, bool any_alignment = false);
/// Checks the reference of an external tensor against its file, without touching the data.
void check_external(const TensorProto& p, const Model& where);

}  // namespace lathe::onnx
