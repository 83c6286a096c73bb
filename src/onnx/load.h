// Loading for those who can be asked to stop.
#pragma once

#include <filesystem>
#include <string_view>

#include "lathe/onnx.h"
#include "lathe/run_control.h"

namespace lathe::onnx {

/// As Model::load; `control` is asked while the file is read and parsed.
Model load_model(const std::filesystem::path& path, const LoadOptions& options, RunControl* control);

/// As from_text(text); `control` is asked while the text is parsed.
template <class Message>
Message from_text(std::string_view text, RunControl* control);

}  // namespace lathe::onnx
