// Memory that a run takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

/// Breaks down the bytes that one run of a fresh context holds (Engine::memory). TensorRT:
/// ICudaEngine::getDeviceMemorySizeV2.
struct MemoryInfo {
  uint64_t weights = 0;      // stored arrays of the engine, mapped or packed; all contexts share them
  uint64_t activations = 0;  // memory plan of one context at these shapes
  uint64_t workspace = 0;    // scratch memory of kernels
  uint64_t outputs = 0;      // outputs that the caller did not bind: kept by the context or returned
  /// An upper bound of values whose sizes only the data decide, and of the reference kernels' scratch memory.
  uint64_t data_dependent = 0;
  /// Names the values that are not counted since nothing bounds them before the run: values of any size that
  /// the data decide, strings, sequences, and values in bodies whose input shapes are unknown.
  std::vector<std::string> uncounted;
  /// Heap memory for a context's records of its values, its steps and these shapes. Neither limits nor
  /// memory_peak() nor total() count it.
  uint64_t records = 0;
  /// The elements of states (BuildOptions::states) after the run, which the caller owns: neither limits nor
  /// total() count them. Of address space they take more, for their capacity.
  uint64_t states = 0;
  /// Returns the sum of the counted bytes; `records` are not in it.
  uint64_t total() const { return weights + activations + workspace + outputs + data_dependent; }
};

}  // namespace lathe
