// Tasks, and what a model for a task gives: tables.
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

/// Do models of this class do this task: "BertForMaskedLM" is made for "fill-mask"? Empty: nobody knows.
std::string task_of_architecture(std::string_view class_name);

}  // namespace lathe::exporters
