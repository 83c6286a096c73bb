// What a plug-in brings: a shared library that defines
//
//   extern "C" int lathe_plugin_abi() { return lathe::plugin_abi; }
//   extern "C" void lathe_plugin(lathe::PluginRegistry& registry) { … }
//
// may register a device (its memory and queues), kernels that run on it, and operators of its own. It is
// loaded by BuildOptions::plugins, before the model is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/dim.h"
#include "lathe/export.h"
#include "lathe/tensor.h"

namespace lathe {

/// Changes whenever something in this header does.
inline constexpr int plugin_abi = 1;

/// Work of one context on one device, in order. Used by one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Returns when everything given to the queue is done. Throws Error when some of it failed; the queue is
  /// empty then too.
  virtual void wait() = 0;
};

/// A device: memory of its own and queues. Thread-safe, but for the queue it is handed.
class Backend {
 public:
  virtual ~Backend() = default;
  /// What BuildOptions::backend says: "npu".
  virtual std::string_view name() const = 0;
  /// At least 64-byte aligned addresses in the device's memory, which the host need not be able to read;
  /// null: no memory left.
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* p, size_t bytes) noexcept = 0;
  virtual std::unique_ptr<Queue> create_queue() = 0;
  /// Host to device: on return `from` may be overwritten, but `to` is filled only in the order of the queue.
  virtual void copy_in(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Device to host: `to` is filled after queue.wait().
  virtual void copy_out(Queue& queue, void* to, const void* from, size_t bytes) = 0;
};

/// Attributes of a node by name; `fallback` where the node has none of that name and kind.
class AttributeView {
 public:
  virtual ~AttributeView() = default;
  virtual int64_t integer(std::string_view name, int64_t fallback) const = 0;
  virtual double number(std::string_view name, double fallback) const = 0;
  virtual std::string text(std::string_view name, std::string fallback) const = 0;
  virtual std::vector<int64_t> integers(std::string_view name) const = 0;
  virtual std::vector<float> numbers(std::string_view name) const = 0;
  virtual std::optional<Tensor> tensor(std::string_view name) const = 0;
};

/// One execution of a plug-in's kernel.
class KernelCall {
 public:
  virtual ~KernelCall() = default;
  virtual const AttributeView& attributes() const = 0;
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  virtual bool has(size_t i) const = 0;
  virtual bool wants(size_t i) const = 0;
  /// data() is an address in the memory of the kernel's device.
  virtual const Tensor& input(size_t i) const = 0;
  /// An output whose shape is known from the shape function; memory is ready, on the device.
  virtual Tensor& output(size_t i) = 0;
  /// An output whose shape the kernel found out.
  virtual Tensor& output(size_t i, DataType type, const Shape& shape) = 0;
  /// The device's queue of this context; null for kernels in host memory.
  virtual Queue* queue() = 0;
  /// Host kernels: calls f(begin, end) over pieces of [0, n) on the engine's threads; results must not depend
  /// on the pieces.
  virtual void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) = 0;
  /// Throws when the run was cancelled or is out of time: call it every few milliseconds.
  virtual void poll() = 0;
};

/// What a kernel is asked about before it is chosen.
struct OperandView {
  bool present = false;
  DataType type = DataType::undefined;  // undefined: not a tensor
  std::optional<SymShape> shape;
};
using KernelQuestion = std::function<std::optional<std::string>(const AttributeView& attributes,
                                                                std::span<const OperandView> inputs,
                                                                std::span<const OperandView> outputs)>;

struct PluginKernel {
  std::string op = {}, domain = {};  // "Relu", "" for ai.onnx
  std::string name = {};             // unique: "npu.relu"; what plans store
  std::string backend = {};          // a registered device; "cpu" or empty: host memory
  /// Answers with the reason of a refusal, or nothing: it can run this. Empty: it can run all.
  KernelQuestion refuse = {};
  std::function<void(KernelCall&)> run = {};
};

struct PluginOperator {
  std::string domain = {}, name = {};
  int since = 1;
  /// Inputs, outputs, attributes and types, in the language of the library's own operators:
  /// "(x: T) -> (y: T) {alpha: float = 0.5} [T: float double]".
  std::string signature = {};
  /// Shapes of the outputs for shapes of the inputs (empty for one left out); nothing: the kernel finds it
  /// out.
  std::function<std::vector<std::optional<Shape>>(const AttributeView&, std::span<const Shape> inputs)>
      shape = {};
  /// Runs in host memory for all types; devices may have faster ones.
  std::function<void(KernelCall&)> run = {};
};

/// Given to a plug-in while it is loaded. What is registered lives as long as an engine uses it, and the
/// library stays loaded. Throws Error (build_plugin_failed) on names taken twice or signatures that do not
/// parse.
class PluginRegistry {
 public:
  virtual ~PluginRegistry() = default;
  virtual void add(std::shared_ptr<Backend> backend) = 0;
  virtual void add(PluginKernel kernel) = 0;
  virtual void add(PluginOperator op) = 0;
};

}  // namespace lathe
