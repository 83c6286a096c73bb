// The interface of plug-ins. A plug-in is a shared library that defines
//
//   extern "C" int lathe_plugin_abi() { return lathe::plugin_abi; }
//   extern "C" void lathe_plugin(lathe::PluginRegistry& registry) { … }
//
// may register a device (its memory and queues), kernels that run on it, lowering passes that make graphs
// ready for it, and operators of its own. It is loaded by BuildOptions::plugins, before the model is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lathe/device.h"
#include "lathe/dim.h"
#include "lathe/elementwise_program.h"
#include "lathe/export.h"
#include "lathe/tensor.h"

namespace lathe {

/// Version of this header's interface; a plug-in for another one is refused (build_plugin_failed).
inline constexpr int plugin_abi = 2;

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
  /// Returns what the device is, which does not change. The element types decide which nodes its kernels are
  /// asked about; the rest is for people and for messages.
  virtual DeviceFacts facts() const { return {}; }
  /// Returns the memory of the device. An engine whose constants exceed `total` is refused
  /// (run_out_of_memory).
  virtual DeviceMemory memory() const { return {}; }
  /// Returns why elementwise operators cannot become one step with this program, or nothing where they can.
  /// Called often while regions grow; kernels that take programs are asked again about the region as it is.
  virtual std::optional<std::string> refuse_region(const ElementwiseProgram& /*program*/) const {
    return std::nullopt;
  }
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

/// Describes an input or output of a node to the kernel that might run it.
struct OperandView {
  bool present = false;                 // false: it is left out
  DataType type = DataType::undefined;  // undefined: no tensor
  std::optional<SymShape> shape = {};   // with symbols; nothing: the rank is unknown
  bool constant = false;                // the same in every run, unless the engine is refitted
  /// Has the elements of a constant of at most max_constant_value bytes, in host memory, during the call;
  /// null for others, and for those that a refit may exchange.
  const Tensor* value = nullptr;
};
/// Says how many bytes a constant may have to be shown in an OperandView.
inline constexpr size_t max_constant_value = 4096;

/// Describes a node to the kernel that might run it; valid during the call.
struct NodeView {
  /// Name the operator and its domain, where "" is ai.onnx.
  std::string_view op, domain;
  const AttributeView& attributes;  // attributes of the node
  /// Describe the operands that the node has: those that it leaves out at the end are not among them.
  std::span<const OperandView> inputs, outputs;
  /// Says, of the operator Pointwise of the domain lathe, which is an elementwise region, what it computes of
  /// its inputs. Of other nodes it is the region behind the node that a kernel on a device must compute too
  /// (its epilogue); operand 0 is the node's own result. Null: there is none.
  const ElementwiseProgram* program = nullptr;
  std::span<const OperandView> epilogue_operands = {};  // operands of that region, from 1 on
  /// Returns input `i`; one that is left out where the node has fewer.
  const OperandView& input(size_t i) const { return at(inputs, i); }
  /// Returns output `i`; one that is left out where the node has fewer.
  const OperandView& output(size_t i) const { return at(outputs, i); }
  /// Returns operand `i`; one that is left out where there are fewer.
  static const OperandView& at(std::span<const OperandView> operands, size_t i) {
    static const OperandView none;
    return i < operands.size() ? operands[i] : none;
  }
};
/// Returns why a kernel cannot run a node, or nothing where it can.
using KernelRefusal = std::function<std::optional<std::string>(const NodeView& node)>;

/// Holds what a kernel made ready for one step of an engine; a plug-in derives its own. Immutable: contexts
/// on any threads read it at once.
class Prepared {
 public:
  virtual ~Prepared() = default;
};

/// A kernel's work on one step when an engine is made, before any run: packing constants, compiling,
/// uploading. Valid during the call. Only parallel() runs functions on other threads.
class PrepareCall {
 public:
  virtual ~PrepareCall() = default;
  /// Returns the step's node. Small constants are in its operands.
  virtual const NodeView& node() const = 0;
  /// Returns constant input `i` in host memory, of any size. Throws Code::internal where it is not constant.
  virtual const Tensor& constant(size_t i) const = 0;
  /// Says that runs read what was prepared in place of constant input `i`. It is not copied to the device
  /// unless another step wants it, and KernelCall::input(i) may then have a shape and no data.
  virtual void replaces(size_t i) = 0;
  /// Returns memory of the kernel's device, aligned to 64 bytes, that lives as long as what is prepared. It
  /// is counted as weights in memory reports. Throws Code::run_out_of_memory.
  virtual void* allocate(size_t bytes) = 0;
  /// Returns a queue of the device, which is waited for when prepare returns; null for kernels in host
  /// memory.
  virtual Queue* queue() = 0;
  /// Calls f(begin, end) for pieces of [0, n) as KernelCall::parallel() does.
  virtual void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) = 0;
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
  /// Returns what PluginKernel::prepare made for this step; null without that function. It is there as long
  /// as the engine is, for work that is queued too.
  virtual const Prepared* prepared() const = 0;
  /// Returns scratch memory of the kernel's device, aligned to 64 bytes, for work that is queued by this
  /// call: what PluginKernel::scratch says for these shapes, or `bytes` if that is more. Later steps of the
  /// same queue write there too. Null for 0 bytes.
  virtual void* scratch(size_t bytes = 0) = 0;
  /// Returns NodeView::program of this step; null: there is none. It is there as long as the engine is.
  virtual const ElementwiseProgram* program() const = 0;
  /// Returns operand `i`, from 1 on, of the program behind the node, in the memory of the device.
  virtual const Tensor& epilogue_operand(size_t i) const = 0;
  /// Returns the device's queue of this context; null for kernels in host memory.
  virtual Queue* queue() = 0;
  /// Calls f(begin, end) for pieces of [0, n), of `grain` elements or more, on the engine's threads, and
  /// returns when all are done. Only for kernels in host memory; results must not depend on how [0, n) is
  /// cut.
  virtual void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) = 0;
  /// Throws Code::cancelled or Code::deadline when the run must end; to be called every few milliseconds.
  virtual void poll() = 0;
};

/// Describes a kernel that a plug-in adds. The functions are called from any threads at once.
struct PluginKernel {
  /// Name the operator of the nodes: "Relu", ""; the domain "" is ai.onnx. Elementwise regions are nodes of
  /// the operator "Pointwise" of the domain "lathe".
  std::string op = {}, domain = {};
  std::string name = {};     // unique name, which plans store: "npu.relu"
  std::string backend = {};  // a registered device; "cpu" or empty: host memory
  /// Returns why the kernel cannot run a node, or nothing where it can. Empty: it can run all.
  KernelRefusal refuse = {};
  /// Returns why another kernel is thought to run a node faster, what it costs to copy operands included, or
  /// nothing where this one should. The reason is kept with the step. Empty: it runs all that it can.
  KernelRefusal decline = {};
  /// Computes the elementwise region behind the node too (NodeView::program). Only for kernels on a device,
  /// and for output 0 of float32.
  bool takes_epilogue = false;
  /// Makes the kernel ready for one step of an engine, when that is built, loaded or refitted. Empty: there
  /// is nothing to prepare.
  std::function<std::shared_ptr<const Prepared>(PrepareCall&)> prepare = {};
  /// Returns the bytes of scratch memory on the device for inputs of these shapes (empty for one that is left
  /// out), which is planned before a run. Empty: none.
  std::function<size_t(const AttributeView& attributes, std::span<const Shape> inputs)> scratch = {};
  std::function<void(KernelCall&)> run = {};  // computes the outputs
};

/// Shows a graph to lowering passes. Nodes and values are numbers, valid until the pass returns. It is the
/// graph behind all passes of the optimizer, in the newest operators of ONNX and those of plug-ins: some of
/// its operators are composed (Gemm, Attention, Gelu, LayerNormalization, …) though the model has their
/// parts.
class GraphView {
 public:
  virtual ~GraphView() = default;
  /// Returns the operator of a node: "Conv".
  virtual std::string_view op(uint32_t node) const = 0;
  /// Returns the domain of a node's operator; "" is ai.onnx.
  virtual std::string_view domain(uint32_t node) const = 0;
  /// Returns the name of a node in the model.
  virtual std::string_view name(uint32_t node) const = 0;
  /// Returns a copy of its attributes.
  virtual std::shared_ptr<const AttributeView> attributes(uint32_t node) const = 0;
  /// Returns the values that a node reads; nothing for one that is left out.
  virtual std::vector<std::optional<uint32_t>> inputs(uint32_t node) const = 0;
  /// Returns the values that a node makes; nothing for one that is left out.
  virtual std::vector<std::optional<uint32_t>> outputs(uint32_t node) const = 0;
  /// Returns what is known of a value. The elements of constants of any size are there, unless a refit may
  /// exchange them.
  virtual OperandView value(uint32_t value) const = 0;
  /// Returns the node that makes a value; nothing for inputs, constants and values of a graph around this
  /// one.
  virtual std::optional<uint32_t> producer(uint32_t value) const = 0;
  /// Returns the nodes that read a value, each as often as it does.
  virtual std::vector<uint32_t> readers(uint32_t value) const = 0;
  /// Returns whether a value is an output of the graph, or is kept for a tap.
  virtual bool is_output(uint32_t value) const = 0;
};

/// Holds the value of an attribute of a new node.
using PluginAttribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>,
                                     std::vector<float>, std::vector<std::string>>;

/// Takes what a pass proposes for one node. It is applied whole, or not at all.
class PatchBuilder {
 public:
  virtual ~PatchBuilder() = default;
  /// Adds a constant; returns its value.
  virtual uint32_t add_constant(std::string name, Tensor elements) = 0;
  /// Adds a node with so many outputs, of an operator of ONNX or of a plug-in; returns the values that it
  /// makes. Inputs may be values of the graph or of this patch; nothing leaves one out. Types and shapes are
  /// inferred.
  virtual std::vector<uint32_t> add_node(std::string op, std::string domain,
                                         std::vector<std::optional<uint32_t>> inputs, size_t outputs,
                                         std::vector<std::pair<std::string, PluginAttribute>> attributes) = 0;
  /// Removes a node whose outputs are all replaced, or read by removed nodes alone. Nodes that nothing reads
  /// in the end are removed without it.
  virtual void remove(uint32_t node) = 0;
  /// Lets all readers of `from` read `to` instead, which must have its type and shape.
  virtual void replace(uint32_t from, uint32_t to) = 0;
};

/// Describes a lowering pass for a device, which runs in builds whose first backend that is. It changes
/// plans, never models that are saved.
struct PluginPass {
  std::string name = {};  // unique, of lower-case words: "npu-fused-attention"; --passes=-NAME leaves it out
  std::string description = {};  // one sentence, for people
  std::string backend = {};      // a registered device
  /// Looks at one node of a graph, bodies included, and proposes a patch; returns whether it did. Every node
  /// that something reads is looked at until the pass has nothing to propose; one that goes on for ever fails
  /// the build. It must keep the values that readers see: `lathe verify` names the pass that does not.
  std::function<bool(const GraphView& graph, uint32_t node, PatchBuilder& patch)> rewrite = {};
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
  /// Registers a lowering pass. Throws where its name is empty or taken, or its device is not there.
  virtual void add(PluginPass pass) = 0;
  /// Registers an operator. Throws where it exists, or later in the build where its signature cannot be read.
  virtual void add(PluginOperator op) = 0;
};

}  // namespace lathe
