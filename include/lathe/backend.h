// The interface of plug-ins. A plug-in is a shared library that defines
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

/// Version of this header's interface; a plug-in for another one is refused (build_plugin_failed).
inline constexpr int plugin_abi = 1;

/// Executes the work of one context on one device, in order. Not thread-safe: one thread uses it at a time. A
/// plug-in derives its own.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Returns when everything given to the queue is done. Throws Error when some of it failed; the queue is
  /// then empty, too.
  virtual void wait() = 0;
};

/// A device with its own memory and queues; a plug-in derives it. Thread-safe, except for the queue that is
/// passed to a call.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Returns the name by which BuildOptions::backend selects the device: "npu".
  virtual std::string_view name() const = 0;
  /// Returns `bytes` of the device's memory, aligned to at least 64 bytes, which the host need not be able to
  /// read; null where none is left (the run throws run_out_of_memory).
  virtual void* allocate(size_t bytes) = 0;
  /// Frees what allocate(bytes) returned.
  virtual void deallocate(void* p, size_t bytes) noexcept = 0;
  /// Makes a queue for one context.
  virtual std::unique_ptr<Queue> create_queue() = 0;
  /// Copies from host to device: `from` may be overwritten on return, while `to` is written in the order of
  /// the queue.
  virtual void copy_in(Queue& queue, void* to, const void* from, size_t bytes) = 0;
  /// Copies from device to host: `to` is written when queue.wait() has returned.
  virtual void copy_out(Queue& queue, void* to, const void* from, size_t bytes) = 0;
};

/// Reads the attributes of a node by name. Immutable; thread-safe.
class AttributeView {
 public:
  virtual ~AttributeView() = default;
  /// Returns an INT attribute, or `fallback` where the node has none of that name and type.
  virtual int64_t integer(std::string_view name, int64_t fallback) const = 0;
  /// Returns a FLOAT attribute, or `fallback` where the node has none of that name and type.
  virtual double number(std::string_view name, double fallback) const = 0;
  /// Returns a STRING attribute, or `fallback` where the node has none of that name and type.
  virtual std::string text(std::string_view name, std::string fallback) const = 0;
  /// Returns an INTS attribute; it is empty where the node has none of that name and type.
  virtual std::vector<int64_t> integers(std::string_view name) const = 0;
  /// Returns a FLOATS attribute; it is empty where the node has none of that name and type.
  virtual std::vector<float> numbers(std::string_view name) const = 0;
  /// Returns a TENSOR attribute, or nothing where the node has none of that name and type.
  virtual std::optional<Tensor> tensor(std::string_view name) const = 0;
};

/// One execution of a plug-in's kernel, valid during the call. Only parallel() runs functions on other
/// threads, which must not call its members. What the kernel throws ends the run: Error as it is, other
/// exceptions as Code::internal.
class KernelCall {
 public:
  virtual ~KernelCall() = default;
  /// Returns the attributes of the node.
  virtual const AttributeView& attributes() const = 0;
  /// Returns the number of inputs, left out ones included.
  virtual size_t inputs() const = 0;
  /// Returns the number of outputs, unwanted ones included.
  virtual size_t outputs() const = 0;
  /// Returns whether input `i` is there.
  virtual bool has(size_t i) const = 0;
  /// Returns whether output `i` is wanted; an unwanted one need not be computed.
  virtual bool wants(size_t i) const = 0;
  /// Returns an input; data() is an address in the memory of the kernel's device.
  virtual const Tensor& input(size_t i) const = 0;
  /// Returns an output whose shape the shape function found; its memory on the device is ready.
  virtual Tensor& output(size_t i) = 0;
  /// Returns an output of the type and shape that the kernel found, with its memory on the device.
  virtual Tensor& output(size_t i, DataType type, const Shape& shape) = 0;
  /// Returns the device's queue of this context; null for kernels in host memory.
  virtual Queue* queue() = 0;
  /// Calls f(begin, end) for pieces of [0, n), of `grain` elements or more, on the engine's threads, and
  /// returns when all are done. Only for kernels in host memory; results must not depend on how [0, n) is
  /// cut.
  virtual void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) = 0;
  /// Throws Code::cancelled or Code::deadline when the run must end; to be called every few milliseconds.
  virtual void poll() = 0;
};

/// Describes an input or output of a node to the kernel that might run it.
struct OperandView {
  bool present = false;                 // false: it is left out
  DataType type = DataType::undefined;  // undefined: no tensor
  std::optional<SymShape> shape;        // with symbols; nothing: the rank is unknown
};
/// Returns why a kernel cannot run a node, or nothing where it can.
using KernelRefusal = std::function<std::optional<std::string>(const AttributeView& attributes,
                                                               std::span<const OperandView> inputs,
                                                               std::span<const OperandView> outputs)>;

/// A kernel that a plug-in adds.
struct PluginKernel {
  std::string op = {}, domain = {};  // operator of the nodes: "Relu", ""; the domain "" is ai.onnx
  std::string name = {};             // unique name, which plans store: "npu.relu"
  std::string backend = {};          // a registered device; "cpu" or empty: host memory
  /// Returns why the kernel cannot run a node, or nothing where it can. Empty: it can run all.
  KernelRefusal refuse = {};
  std::function<void(KernelCall&)> run = {};  // computes the outputs
};

/// An operator that a plug-in adds, with a kernel in host memory.
struct PluginOperator {
  std::string domain = {}, name = {};  // unlike those that exist
  int since = 1;                       // opset of the domain from which on it is there
  /// Declares inputs, outputs, attributes and types in the notation of the library's own operators: "(x: T)
  /// -> (y: T) {alpha: float = 0.5} [T: float double]".
  std::string signature = {};
  /// Returns the outputs' shapes for the inputs' shapes (empty for an input that is left out), or nothing for
  /// an output whose shape the kernel finds.
  std::function<std::vector<std::optional<Shape>>(const AttributeView&, std::span<const Shape> inputs)>
      shape = {};
  /// Computes the outputs in host memory for all types of the signature; devices may have faster kernels.
  std::function<void(KernelCall&)> run = {};
};

/// Takes what a plug-in adds while it is loaded. What is registered lives as long as an engine uses it, and
/// the library stays loaded. Throws Code::build_plugin_failed. Not thread-safe.
class PluginRegistry {
 public:
  virtual ~PluginRegistry() = default;
  /// Registers a device. Throws where its name is empty, "cpu", "reference" or taken.
  virtual void add(std::shared_ptr<Backend> backend) = 0;
  /// Registers a kernel. Throws where its name is empty or taken, or its operator or device is not there.
  virtual void add(PluginKernel kernel) = 0;
  /// Registers an operator. Throws where it exists, or later in the build where its signature cannot be read.
  virtual void add(PluginOperator op) = 0;
};

}  // namespace lathe
