// Tables of tasks, and of the outputs of models for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lathe/exporters/onnx_config.h"

namespace lathe::exporters {

/// Null where a task has no outputs that all its models share.
const NamedAxes* common_outputs(std::string_view task);

inline constexpr std::string_view with_past = "-with-past";
inline std::string without_past(const std::string& task) {
  return task.ends_with(with_past) ? task.substr(0, task.size() - with_past.size()) : task;
}

/// Returns the task that models of this class are made for: "fill-mask" for "BertForMaskedLM". Empty if
/// unknown.
std::string task_of_architecture(std::string_view class_name);

}  // namespace lathe::exporters
