// A target is a device as the compiler sees it: the passes that make a graph ready for it, the elementwise
// regions that it runs in one step, and the weights that it multiplies as the file has them. src/targets has
// a folder for each; the compiler knows none of them by name.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/lowering_pass.h"
#include "graph/graph.h"
#include "kernel/pointwise.h"
#include "lathe/device.h"
#include "runtime/extensions.h"

namespace lathe {

struct Target {
  std::string name;                      // of its backend: "cpu"
  bool in_host_memory = true;            // do its kernels read and write the memory of the host?
  std::function<DeviceInfo()> describe;  // its element types, instruction sets and memory
  std::vector<LoweringPass> passes;      // its own, by stage and in order
  /// Returns whether a DequantizeLinear of constants stays for its passes to look at. Empty: none does.
  std::function<bool(const Graph& g, const UseIndex& uses, const Node& dequantize)> keeps_integers = {};

  /// The elementwise regions that become one step, or the epilogue of a kernel.
  struct Fusion {
    std::function<bool(DataType type)> converts;  // may a program read and write elements of it?
    size_t max_axes = 0;                          // of a broadcast operand
    /// Returns why a program cannot run there, or nothing where it can. Empty: all can.
    std::function<std::optional<std::string>(const Pointwise& program)> refuse = {};
  };
  std::optional<Fusion> fusion = {};  // nothing: it fuses no operators

  /// Nodes whose kernels can also compute the means of rows of their results, and those that read such means
  /// in place of the image that they average. Empty: none.
  std::function<bool(const Node&n)> makes_row_means = {}, reads_row_means = {};
};

/// All targets of this build. Thread-safe.
std::span<const Target> built_in_targets();
/// Returns the target whose backend has this name: one of this build, or a device of a plug-in. Null if there
/// is none. The extensions must outlive it. Throws build_plugin_failed if a device's pass has the name of
/// another. Thread-safe.
std::shared_ptr<const Target> target_of(std::string_view backend, const Extensions& extensions);

}  // namespace lathe
