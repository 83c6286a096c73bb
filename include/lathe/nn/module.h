// The parts of networks that are made of modules: parameters, the tree that names them, and the weights that
// are bound to them. After PyTorch's torch.nn.Module.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/export.h"
#include "lathe/network.h"
#include "lathe/tensor.h"

namespace lathe::nn {

class Module;

namespace detail {
struct Slot;
struct Place;
struct Access;
}  // namespace detail

/// The weights of a parameter: `fc.weight.value = lathe::from_file("w.npy")`. The memory is shared, never
/// copied: what a tensor points to must not change any more. As thread-safe as the parameter's module.
class LATHE_API ParameterValue {
 public:
  /// Sets the weights. Throws tensor_bad_type or tensor_bad_shape, which name the parameter where that is
  /// known, for a tensor that is not of the parameter's type and shape, and bad_argument for a parameter that
  /// its module lacks. The parameter is then as it was before.
  ParameterValue& operator=(const Tensor& t);
  /// Sets the weights to those of another parameter. Throws as above, and as tensor() does.
  ParameterValue& operator=(const ParameterValue& other);
  /// Returns the weights. Throws bad_argument while there are none.
  const Tensor& tensor() const;
  /// Converts to tensor().
  operator const Tensor&() const { return tensor(); }
  /// Takes the weights away.
  void reset();

 private:
  friend class Parameter;
  friend struct detail::Access;
  ParameterValue() = default;
  ParameterValue(const ParameterValue&) = default;
  ~ParameterValue() = default;
  std::shared_ptr<detail::Slot> slot_;
};

/// A parameter of a module: an element type, a shape, and, once bound, a tensor. It is a handle: copies are
/// the same parameter, so `lm_head.weight = embed.weight` ties the two, and tied parameters are one constant
/// of a network and stored once in its file. As thread-safe as its module.
class LATHE_API Parameter {
 public:
  /// Makes a parameter that its module lacks, such as a bias that was not asked for. It is in no list.
  Parameter() = default;
  /// Makes a parameter without weights. Throws tensor_bad_shape as checked_count does.
  Parameter(DataType type, Shape shape);
  /// Ties the copy to `other`.
  Parameter(const Parameter& other) : value(other.value) {}
  /// Ties this parameter to `other`.
  Parameter& operator=(const Parameter& other) {
    value.slot_ = other.value.slot_;
    return *this;
  }
  /// Returns false for a parameter that its module lacks.
  explicit operator bool() const { return value.slot_ != nullptr; }
  /// Returns whether both are the very same parameter.
  bool operator==(const Parameter& other) const { return value.slot_ == other.value.slot_; }

  /// Returns the element type. Throws bad_argument for a parameter that its module lacks.
  DataType type() const;
  /// Sets the element type that is expected from now on, which drops weights of another type. Throws as
  /// type() does.
  void set_type(DataType type);
  /// Returns the shape. Throws as type() does.
  const Shape& shape() const;
  /// Returns whether it has weights.
  bool bound() const;
  /// Returns its path in the tree in which it was last bound or emitted,
  /// "encoder.layer.0.output.dense.weight"; for tied parameters the first one. Empty until then. Throws as
  /// type() does.
  const std::string& name() const;

  ParameterValue value;  // the weights
};

/// Receives the members of a module from Module::fields. Derived classes see those that are there.
class LATHE_API Fields {
 public:
  virtual ~Fields() = default;
  /// Reports a parameter under a name, unless the module lacks it.
  void operator()(std::string_view name, Parameter& p) {
    if (p) parameter(name, p);
  }
  /// Reports a module under a name; the name "" adds its members to those of the module around it.
  void operator()(std::string_view name, Module& m) { module(name, m); }
  /// Reports a module that may be missing.
  template <class M>
  void operator()(std::string_view name, std::optional<M>& m) {
    if (m) (*this)(name, *m);
  }
  /// Reports a module that may be null.
  template <class M>
  void operator()(std::string_view name, const std::unique_ptr<M>& m) {
    if (m) (*this)(name, *m);
  }
  /// Reports a shared module that may be null.
  template <class M>
  void operator()(std::string_view name, const std::shared_ptr<M>& m) {
    if (m) (*this)(name, *m);
  }

 protected:
  /// Receives a parameter.
  virtual void parameter(std::string_view name, Parameter& p) = 0;
  /// Receives a module.
  virtual void module(std::string_view name, Module& m) = 0;
};

/// A parameter with its paths in a module.
struct NamedParameter {
  std::string name;                  // first path: "encoder.layer.0.output.dense.weight"
  Parameter parameter;               // a handle of it
  std::vector<std::string> aliases;  // other paths of the same parameter (tied weights)
};

/// Options of Module::bind: how names of a checkpoint become paths of a module.
struct BindOptions {
  /// Prefixes of the checkpoint's names and what replaces them; the first that matches counts. {"bert.", ""}
  /// removes a prefix, {"", "bert."} adds one.
  std::vector<std::pair<std::string, std::string>> rename = {};
  /// A prefix that the module's paths or the checkpoint's names may have and the other side lacks: "bert.".
  std::string base_prefix = {};
  /// Substrings of the module's paths, and what the checkpoint may have in the place of all of them, in this
  /// order: {"encoder.layer.", "layers."}.
  std::vector<std::pair<std::string, std::string>> other_parts = {};
  /// Converts floats of another type than the parameter's, which copies them; otherwise they throw
  /// tensor_bad_type.
  bool convert = false;
  /// Leaves parameters that the checkpoint lacks as they are; otherwise they throw bad_argument.
  bool allow_missing = false;
};

/// The result of Module::bind.
struct BindReport {
  size_t bound = 0;                  // number of parameters that got weights
  std::vector<std::string> missing;  // paths without weights, where BindOptions::allow_missing is set
  /// Names in the checkpoint that no parameter has, or that contradict the name that was used in their place:
  /// two biases for one.
  std::vector<std::string> unexpected;
  std::vector<std::string> converted;  // paths whose weights were converted to another type
  /// Paths that the module tied to others although the checkpoint has other weights for them: they are
  /// parameters of their own now.
  std::vector<std::string> untied;
};

/// Replaces modules while they are emitted, by path: it patches a published model without writing it again.
struct LATHE_API Substitute {
  std::string modules;  // shell pattern of paths: "encoder.layer.*.output"
  /// Emits what takes the place of `original(x)` and returns its output. Other inputs of the call are not
  /// passed.
  std::function<TensorRef(const Module& original, Network& network, const TensorRef& x)> emit;
};

/// A part of a model that has parameters or other modules as members. To write one, derive a class that lists
/// its members in `fields` and has an `operator()` that appends layers. Copies share the parameters (they are
/// tied). Not thread-safe: use it on one thread at a time, together with all that share parameters with it.
class LATHE_API Module {
 public:
  /// Makes a module without a place in a tree.
  Module();
  /// Copies the members only: the copy has no place in a tree and in no emission.
  Module(const Module&);
  /// Leaves the place of this module as it is.
  Module& operator=(const Module&);
  /// Destroys the module; parameters live as long as a handle of them.
  virtual ~Module();

  /// Calls f("name", member) for every Parameter and Module, in order. Dots join names to paths.
  virtual void fields(Fields& f) = 0;

  /// Returns the parameters with their paths, in the order of fields(); tied ones once, under their first
  /// path.
  std::vector<NamedParameter> named_parameters() const;
  /// Returns the parameter of a path or alias. Throws bad_argument, with similar paths.
  Parameter parameter(std::string_view path) const;
  /// Returns this module under the empty path, and all below it.
  std::vector<std::pair<std::string, Module*>> named_modules();
  /// Returns the paths of parameters without weights.
  std::vector<std::string> unbound() const;
  /// Sets the type of all floating-point parameters; bound weights are converted, which copies them. Throws
  /// bad_argument for other types than float32, float16, bfloat16 and float64.
  void to(DataType type);

  /// Gives every parameter the tensor of its path, mapped, not copied. Names of old checkpoints that end in
  /// "gamma" and "beta" are found, too. Parameters whose names the checkpoint ties become tied; tied ones for
  /// which it has separate, different weights are tied no longer. Throws bad_argument, which lists all paths
  /// that the checkpoint lacks, with similar names; tensor_bad_type or tensor_bad_shape, which name the first
  /// tensor that does not fit. Nothing is bound then. PyTorch: Module.load_state_dict.
  BindReport bind(const Checkpoint& checkpoint, const BindOptions& options = {});

 protected:
  /// Returns what a Substitute of the emission emits for this module; nothing where there is none. An
  /// `operator()` that can be replaced begins with it, as all layers of this library do.
  std::optional<TensorRef> substituted(const TensorRef& x) const;

 private:
  friend struct detail::Access;
  std::shared_ptr<const detail::Place> place_;
};

/// Modules of one kind in a row, with the paths "name.0", "name.1", …. PyTorch: ModuleList.
template <class M>
class ModuleList : public Module {
 public:
  /// Makes an empty list.
  ModuleList() = default;
  /// Makes `count` modules with `make(i)`.
  template <class Make>
  ModuleList(int64_t count, const Make& make) {
    for (int64_t i = 0; i < count; ++i) items_.push_back(make(i));
  }
  void fields(Fields& f) override {
    for (size_t i = 0; i < items_.size(); ++i) f(std::to_string(i), items_[i]);
  }
  /// Returns the number of modules.
  size_t size() const { return items_.size(); }
  /// Returns whether there are none.
  bool empty() const { return items_.empty(); }
  /// Returns module `i`, which is not checked.
  M& operator[](size_t i) { return items_[i]; }
  const M& operator[](size_t i) const { return items_[i]; }
  /// Adds a module at the end.
  void push_back(M m) { items_.push_back(std::move(m)); }
  /// Returns an iterator to the first module.
  auto begin() { return items_.begin(); }
  /// Returns an iterator behind the last module.
  auto end() { return items_.end(); }
  /// Returns an iterator to the first module.
  auto begin() const { return items_.begin(); }
  /// Returns an iterator behind the last module.
  auto end() const { return items_.end(); }

 private:
  std::vector<M> items_;
};

/// Makes `root` and the modules below it append to `network`, or a body, while it lives, and name layers and
/// constants by their paths: layer "/encoder/layer.0/output/dense/MatMul", constant
/// "encoder.layer.0.output.dense.weight". Without one, modules append to the network of the tensors that they
/// are called with, under generated names. `root` outlives it, and its tree does not change meanwhile.
/// Emissions nest: the innermost counts.
class LATHE_API Emission {
 public:
  /// Begins the emission; `prefix` goes before all paths ("text."), and of several substitutes that match a
  /// path the first counts. Throws bad_argument, which lists all parameters without weights.
  Emission(const Network& network, Module& root, const std::string& prefix = {},
           std::vector<Substitute> substitutes = {});
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;
  /// Ends the emission; modules append to where they did before it.
  ~Emission();

 private:
  std::vector<std::pair<Module*, std::shared_ptr<const detail::Place>>> before_;
};

}  // namespace lathe::nn
