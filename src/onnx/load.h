// Loading that can be stopped.
#pragma once

#include <filesystem>
#include <string_view>

#include "lathe/onnx.h"
#include "lathe/run_control.h"

namespace lathe::onnx {

/// Same as Model::load; `control` is checked while the file is read and parsed.
Model load_model(const std::filesystem::path& path, const LoadOptions& options, RunControl* control);

/// Same as from_text(text); `control` is checked while the text is parsed.
template <class Message>
Message from_text(std::string_view text, RunControl* control);

}  // namespace lathe::onnx
