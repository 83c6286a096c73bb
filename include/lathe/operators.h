// Operators and kernels that the library has.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// Describes one operator that the library has.
struct OperatorInfo {
  /// Describes one version of an operator.
  struct VersionInfo {
    int since = 1;            // first opset of this version
    std::string signature;    // "(input: T) -> (output: T) {axis: int = -1} [T: float double]"
    bool deprecated = false;  // by the standard, in this version
    /// Type variables, each with the types that it stands for ("float", "seq(int64)").
    std::vector<std::pair<std::string, std::vector<std::string>>> types = {};
  };
  /// Describes one kernel of an operator.
  struct KernelInfo {
    std::string name, backend, isa;  // unique name, device, and instruction set that it needs
  };
  /// Describes an operator of this library's own that may run in place of one of the standard.
  struct InternalForm {
    std::string name, folder;         // name, and where it is under src/ops
    std::vector<KernelInfo> kernels;  // all kernels, in the order in which builds consider them
  };
  std::string domain, name;                // domain and name; "" is ai.onnx
  std::vector<VersionInfo> versions = {};  // all versions, the oldest first
  /// The kernels, in the order in which builds consider them; the reference is the last.
  std::vector<KernelInfo> kernels = {};
  /// Types of the newest version's first type variable for which a kernel other than the reference takes the
  /// operator in some ordinary form: small dense inputs, optional attributes left out. All other types run on
  /// the reference.
  std::vector<std::string> fast = {};
  std::string component = {};  // name of the optional component that it needs; empty: none
  /// Folder under src/ops that has all of the operator: declaration, kernels, cases, problems, derivative.
  std::string folder = {};
  /// Operators in whose form it may run instead, where the builder finds that to be faster; sorted by name.
  std::vector<InternalForm> internal_forms = {};
  /// True where it may be between xs and y of a Gradient (ai.onnx.preview.training).
  bool differentiable = false;
};

/// Returns the operators whose names match a shell pattern, sorted by domain and name. Thread-safe.
LATHE_API std::vector<OperatorInfo> operators(std::string_view pattern = "*");

}  // namespace lathe
