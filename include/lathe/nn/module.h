// What networks are made of when they are made of modules: parameters, the tree that names them, and weights
// bound to them.
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

/// The weights that a parameter holds: `fc.weight.value = lathe::from_file("w.npy")`. Memory is shared, never
/// copied: what a tensor points to must not change any more.
class LATHE_API ParameterValue {
 public:
  /// Throws tensor_bad_type or tensor_bad_shape, naming the parameter where it is known by now, where the
  /// tensor is not of the parameter's type and shape; bad_argument of a parameter that its module lacks. The
  /// parameter is as it was before then.
  ParameterValue& operator=(const Tensor& t);
  ParameterValue& operator=(const ParameterValue& other);
  /// The tensor; throws bad_argument while there is none.
  const Tensor& tensor() const;
  operator const Tensor&() const { return tensor(); }
  /// Takes the weights away again.
  void reset();

 private:
  friend class Parameter;
  friend struct detail::Access;
  ParameterValue() = default;
  ParameterValue(const ParameterValue&) = default;
  ~ParameterValue() = default;
  std::shared_ptr<detail::Slot> slot_;
};

/// Weights that a module wants: an element type, a shape, and, once bound, a tensor. A handle: copies are the
/// same parameter, so `lm_head.weight = embed.weight` ties the two, and what is tied is one constant of a
/// network and stored once in its file. As thread-safe as its module.
class LATHE_API Parameter {
 public:
  /// One that its module lacks: a bias that was not asked for. It is in no list.
  Parameter() = default;
  Parameter(DataType type, Shape shape);
  Parameter(const Parameter& other) : value(other.value) {}
  Parameter& operator=(const Parameter& other) {
    value.slot_ = other.value.slot_;
    return *this;
  }
  explicit operator bool() const { return value.slot_ != nullptr; }
  /// The very same parameter?
  bool operator==(const Parameter& other) const { return value.slot_ == other.value.slot_; }

  DataType type() const;
  /// The element type that is expected from now on, which takes away weights of another type.
  void set_type(DataType type);
  const Shape& shape() const;
  bool bound() const;
  /// Its path in the tree that it was last bound or emitted in: "encoder.layer.0.output.dense.weight". Of
  /// tied parameters the first. Empty until then.
  const std::string& name() const;

  ParameterValue value;
};

/// Lists the members of a module, for Module::fields.
class LATHE_API Fields {
 public:
  virtual ~Fields() = default;
  void operator()(std::string_view name, Parameter& p) {
    if (p) parameter(name, p);
  }
  void operator()(std::string_view name, Module& m) { module(name, m); }
  template <class M>
  void operator()(std::string_view name, std::optional<M>& m) {
    if (m) (*this)(name, *m);
  }
  template <class M>
  void operator()(std::string_view name, const std::unique_ptr<M>& m) {
    if (m) (*this)(name, *m);
  }
  template <class M>
  void operator()(std::string_view name, const std::shared_ptr<M>& m) {
    if (m) (*this)(name, *m);
  }

 protected:
  virtual void parameter(std::string_view name, Parameter& p) = 0;
  virtual void module(std::string_view name, Module& m) = 0;
};

struct NamedParameter {
  std::string name;
  Parameter parameter;
  std::vector<std::string> aliases;  // other paths of the same parameter
};

/// How names of a checkpoint become paths of a module.
struct BindOptions {
  /// Starts of the checkpoint's names and what stands there in the module; the first that fits. {"bert.", ""}
  /// takes a prefix away, {"", "bert."} gives one.
  std::vector<std::pair<std::string, std::string>> rename = {};
  /// A prefix that the module's paths or the checkpoint's names may have and the other side lack: "bert.".
  std::string base_prefix = {};
  /// Parts of the module's paths, and what the checkpoint may have in the place of all of them, in this
  /// order: {"encoder.layer.", "layers."}.
  std::vector<std::pair<std::string, std::string>> other_parts = {};
  /// Floats of another type than the parameter's are converted, which copies them. Otherwise they are an
  /// error.
  bool convert = false;
  /// Parameters that the checkpoint lacks stay as they are.
  bool allow_missing = false;
};

struct BindReport {
  size_t bound = 0;                     // parameters that got their weights
  std::vector<std::string> missing;     // paths, with BindOptions::allow_missing
  /// Names in the checkpoint that nothing asked for, or that say something else than the name that was used
  /// in their place: two biases for one.
  std::vector<std::string> unexpected;
  std::vector<std::string> converted;   // paths
  /// Paths that the module tied to others and that the checkpoint has other weights for: they are parameters
  /// of their own now.
  std::vector<std::string> untied;
};

/// Puts something else in a module's place while it is emitted, by name: patching a published model without
/// writing it anew.
struct LATHE_API Substitute {
  std::string modules;  // a shell pattern of paths: "encoder.layer.*.output"
  /// What stands for `original(x)`. Other inputs of the call are not told.
  std::function<TensorRef(const Module& original, Network& network, const TensorRef& x)> emit;
};

/// A part of a model that has parameters or other modules as members. One is written by deriving a class that
/// lists its members in `fields` and has an `operator()` that appends layers. Copies share the parameters
/// (they are tied). For one thread at a time, together with all that share parameters with it.
class LATHE_API Module {
 public:
  Module();
  /// Where a module stands does not go with its contents.
  Module(const Module&);
  Module& operator=(const Module&);
  virtual ~Module();

  /// Calls f("name", member) for every Parameter and Module, in order. Names are joined by dots to paths.
  virtual void fields(Fields& f) = 0;

  /// With their paths, in the order of fields(); tied ones once, under their first path.
  std::vector<NamedParameter> named_parameters() const;
  /// The parameter of that path or alias. Throws bad_argument, with paths that are near.
  Parameter parameter(std::string_view path) const;
  /// This module under the empty path, and all below it.
  std::vector<std::pair<std::string, Module*>> named_modules();
  /// Paths of parameters without weights.
  std::vector<std::string> unbound() const;
  /// All parameters of floats are of this type from now on; what is bound is converted, which copies it.
  /// Throws bad_argument for what is no type of floats that can be converted to.
  void to(DataType type);

  /// Every parameter gets the tensor of its path: mapped, not copied. Names of old checkpoints that end in
  /// "gamma" and "beta" are found too. Parameters whose names the checkpoint says are tied become tied; tied
  /// ones that it has weights of their own for, which differ, are tied no longer.
  /// Throws bad_argument that lists all paths the checkpoint lacks, with names that are near;
  /// tensor_bad_type, tensor_bad_shape that names the first that does not fit. Nothing is bound then.
  BindReport bind(const Checkpoint& checkpoint, const BindOptions& options = {});

 protected:
  /// What a Substitute of the emission gives for this module; nothing where there is none. An `operator()`
  /// that can be substituted begins with it, as all layers of this library do.
  std::optional<TensorRef> substituted(const TensorRef& x) const;

 private:
  friend struct detail::Access;
  std::shared_ptr<const detail::Place> place_;
};

/// Modules of one kind in a row: their paths are "name.0", "name.1", ….
template <class M>
class ModuleList : public Module {
 public:
  ModuleList() = default;
  /// `count` modules that `make(i)` makes.
  template <class Make>
  ModuleList(int64_t count, const Make& make) {
    for (int64_t i = 0; i < count; ++i) items_.push_back(make(i));
  }
  void fields(Fields& f) override {
    for (size_t i = 0; i < items_.size(); ++i) f(std::to_string(i), items_[i]);
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  M& operator[](size_t i) { return items_[i]; }
  const M& operator[](size_t i) const { return items_[i]; }
  void push_back(M m) { items_.push_back(std::move(m)); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<M> items_;
};

/// While it lives, `root` and the modules below it append to `network`, a body too, and name layers and
/// constants by their paths: layer "/encoder/layer.0/output/dense/MatMul", constant
/// "encoder.layer.0.output.dense.weight". Without one, modules append to the network of what they are called
/// with, under made-up names. `root` outlives it, and its tree does not change meanwhile. Emissions nest: the
/// innermost counts.
class LATHE_API Emission {
 public:
  /// Throws bad_argument that lists all parameters without weights. `prefix`: goes before all paths
  /// ("text."). Of several substitutes that fit a path, the first.
  Emission(const Network& network, Module& root, const std::string& prefix = {},
           std::vector<Substitute> substitutes = {});
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;
  ~Emission();

 private:
  std::vector<std::pair<Module*, std::shared_ptr<const detail::Place>>> before_;
};

}  // namespace lathe::nn
