// Steps of an engine: what they are, and how long one took.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Describes one step of a built engine, for tables and `lathe inspect`.
struct StepInfo {
  /// The measured time of one tactic: a kernel, with its tunables in brackets where it has some.
  struct Timing {
    std::string tactic;       // "conv.avx2", "blocked_conv.winograd4.avx2 [65536]"
    double microseconds = 0;  // time of one run on one thread, without fused operators
  };
  /// Its node's name, ONNX operator, kernel (empty: a copy between devices) and device.
  std::string node, op, kernel, backend;
  std::vector<std::string> origin;    // names of the model's nodes that the step comes from
  std::vector<std::string> refusals;  // "softmax.avx512: only float32"
  std::vector<std::string> fused;     // elementwise operators computed in the same step: "Add", "Relu"
  std::vector<std::string> unfused;  // why adjacent operators are not fused: "Add: its input x is read twice"
  std::vector<int64_t> tunables = {};  // values of the kernel's tunables; empty: it has none
  std::vector<Timing> timings = {};    // measured tactics: the chosen one first, then by time
  /// How the kernel differs in an engine of strict numerics; empty: it does not.
  std::string strict = {};
  /// How much copying the memory plan avoids: "copies nothing" (a Concat whose inputs are computed at their
  /// places in its output), "copies 1 of 3 parts", "writes over x". Empty: none, or not known before a run;
  /// it is known in the main graph of an engine whose input shapes are all fixed.
  std::string memory = {};
};

/// Describes one executed step to the listener of Context::on_step; the names are valid during the call.
struct StepRun {
  std::string_view node, op, kernel;  // `kernel` is empty for a copy between devices
  double seconds = 0;  // wall time, without the steps of bodies, which are reported on their own
};

}  // namespace lathe
