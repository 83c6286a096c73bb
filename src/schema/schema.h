// How operators are declared: one OpSchema per operator, with every version of the standard in one line each,
// the shape rule, the upgrades between versions and the tolerance. Importer, exporter, checker,
// documentation and tests read this.
//
//   void declare_softmax(SchemaCatalog& c) {
//     c.add("Softmax")
//         .version(1, "(input: T) -> (output: T) {axis: int = 1} [T: float16 float float64]")
//         .version(11, "…")                                             // the meaning did not change
//         .version(13, "(input: T) -> (output: T) {axis: int = -1} [T: @float_13]", softmax_13_from_11,
//                  softmax_11_from_13)
//         .rule<Softmax>()
//         .tolerance({.epsilons = 8});
//   }
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/op_key.h"
#include "graph/graph.h"
#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// One parameter of a signature: "X: T", "bias?: T" (optional), "rest*: T" (variadic, all of one type),
/// "rest~: V" (variadic, each of its own type). `type` is a type variable or a concrete type.
struct Parameter {
  enum class Arity : uint8_t { required, optional, variadic, heterogeneous };
  std::string name;
  std::string type;
  Arity arity = Arity::required;
};
struct AttributeDecl {
  std::string name;
  std::string kind;  // int float string tensor graph type sparse ints floats strings tensors graphs
  bool required = false;
  std::optional<AttributeValue> fallback;
};
/// The types that a type variable allows, as TypeSet members ("float", "seq(int64)", "optional(seq(string))",
/// "map(string,float)").
struct TypeVariable {
  std::string name;
  std::vector<std::string> types;
  bool allows(const ValueType& t) const;
};

/// A parsed signature. The language:  (inputs) -> (outputs) {attributes} [type variables]
///   inputs    X: T, W?: T, rest*: T, rest~: V          a number after * or ~ is the least count: `rest*1`
///   attributes  axis: int = -1, shape: ints (optional, no default), to: int! (required)
///   variables   T: float float16; V: @all           `@name` is a named set, see type_sets() in signature.cc
struct Signature {
  std::vector<Parameter> inputs, outputs;
  std::vector<AttributeDecl> attributes;
  std::vector<TypeVariable> variables;
  size_t min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;  // max: SIZE_MAX when variadic
  const TypeVariable* variable(std::string_view name) const;
  const AttributeDecl* attribute(std::string_view name) const;
  const Parameter& input(size_t i) const { return inputs[i < inputs.size() ? i : inputs.size() - 1]; }
  const Parameter& output(size_t i) const { return outputs[i < outputs.size() ? i : outputs.size() - 1]; }
  static Signature parse(std::string_view text);
};

/// How far a kernel may be from the reference: |got - want| <= epsilons * eps(type) * (per_reduced ? sqrt(K)
/// : 1) * magnitude, where K is the number of terms reduced into one output and the magnitude that of the
/// summed absolute terms (of |want| when elementwise).
struct ToleranceSpec {
  double epsilons = 4;
  bool per_reduced = false;
  bool exact = false;   // integers, movement, comparisons: bit for bit
  bool random = false;  // no two runs agree; only type and shape are compared
};

/// The interface of upgrades and downgrades: what they may do to a node.
class RewriteContext {
 public:
  virtual ~RewriteContext() = default;
  virtual Node& node() = 0;
  virtual const ValueType& type(ValueId v) const = 0;
  ValueType input_type(size_t i) { return type(node().inputs[i]); }
  /// Returns whether `v` is a tensor of indices that a decomposition counts from the front.
  virtual bool is_from_front(ValueId) const { return false; }
  /// Returns the contents of an input that is a constant; null for others.
  virtual const Tensor* constant(ValueId v) const = 0;
  /// A new constant.
  virtual ValueId add_constant(Tensor t, std::string_view name_hint) = 0;

  /// Notes why a downgrade is not possible: "a computed input 'axes' came with it", and what else helps than
  /// a newer opset: "make 'axes' a constant". Returns false.
  bool cannot(std::string why, std::string remedy = {}) {
    why_ = std::move(why);
    remedy_ = std::move(remedy);
    return false;
  }
  const std::string& why() const { return why_; }
  const std::string& remedy() const { return remedy_; }

 private:
  std::string why_, remedy_;
};

/// A node that others may be put before.
class InsertContext : public RewriteContext {
 public:
  /// Inserts a node (newest form) before this one; returns its outputs, typed.
  virtual std::vector<ValueId> insert(std::string_view op, std::vector<ValueId> inputs, Attributes attrs,
                                      size_t outputs = 1) = 0;
};

/// A node that is being imported. Input types are already inferred, in the newest form.
class UpgradeContext : public InsertContext {
 public:
  /// Lets `op` make output `i` of this node from a fresh inner value: node → inner → op → (the old output).
  virtual void append(size_t output, std::string_view op, std::vector<ValueId> extra_inputs,
                      Attributes attrs) = 0;
  /// Output `i` is `v`: the node does not give it any more.
  virtual void give(size_t output, ValueId v) = 0;
  /// The attribute says nothing that anybody heeds: it is left out, with a warning.
  virtual void ignore_attribute(std::string_view name, std::string_view remedy) = 0;
};
using Upgrade = void (*)(UpgradeContext&);

/// Turns a node into one of the version before; cannot(why) if that version cannot express it. The older
/// signature (arity, attributes, types) is checked afterwards.
using Downgrade = bool (*)(RewriteContext&);

/// A node that other nodes with the same meaning are about to replace.
class DecomposeContext : public InsertContext {
 public:
  /// The graph of the node.
  virtual Graph& graph() = 0;
  /// The opset of the nodes that replace it.
  virtual int opset() const = 0;
  /// Notes that `v`, of graph(), holds indices that are counted from the front, which inference cannot see.
  virtual void note_from_front(ValueId v) = 0;
  /// Inserts a node that has bodies, whose parent is graph(); returns its outputs.
  virtual std::vector<ValueId> insert_with_bodies(std::string_view op, std::vector<ValueId> inputs,
                                                  Attributes attrs, std::vector<Body> bodies,
                                                  size_t outputs) = 0;
  /// Returns a context for the nodes of such a body.
  virtual std::unique_ptr<DecomposeContext> inside(Graph& body) = 0;
  /// Inserts the nodes of one of this node's bodies, with these values for its inputs; returns its outputs.
  virtual std::vector<ValueId> insert_body(std::string_view name, std::span<const ValueId> inputs) = 0;
};

/// Decomposes one node into operators of older opsets (newest form): inserts them, and returns the values
/// that replace its outputs, no_id for those that nobody reads. Throws node_cannot_convert, with the reason,
/// if older opsets cannot express it.
using Decomposition = std::vector<ValueId> (*)(DecomposeContext&);

/// Type and shape inference for operators that no signature describes (Cast, If, Loop, …).
class InferContext {
 public:
  virtual ~InferContext() = default;
  virtual const Node& node() const = 0;
  virtual const ValueType& input(size_t i) const = 0;  // kind none where absent
  virtual const Fact<Dim>& fact(size_t i) const = 0;
  virtual void output(size_t i, ValueType t) = 0;
  virtual void output_values(size_t i, std::vector<Dim> values) = 0;
  /// Infers a body with these types for its formal inputs; returns the types of its outputs.
  virtual std::vector<ValueType> infer_body(size_t body, std::span<const ValueType> inputs) = 0;
};
using InferFunction = void (*)(InferContext&);

struct Version {
  int since = 1;
  std::string_view text;
  Upgrade from_previous = nullptr;    // turns a node of the version before into this one
  Downgrade into_previous = nullptr;  // and one of this version into the one before
  bool deprecated = false;
  const Signature& signature() const;  // parsed on first use, thread-safe

 private:
  mutable std::shared_ptr<struct LazySignature> lazy_;
  friend class OpSchema;
};

class OpSchema {
 public:
  OpSchema(std::string domain, std::string name) : domain_(std::move(domain)), name_(std::move(name)) {}

  /// Oldest first. `from_previous` rewrites a node of the previous version, `into_previous` one of this
  /// version. Neither: what both signatures hold means the same. An upgrade alone: there is no way back.
  OpSchema& version(int since, std::string_view signature, Upgrade from_previous = nullptr,
                    Downgrade into_previous = nullptr);
  /// The operator ended at this version: the upgrade turns it into something else. Before, it was in the form
  /// of the version that was the last, in which decompositions may use it.
  OpSchema& deprecated(int since, Upgrade into);
  /// The attributes' struct, its shape rule and its count of arithmetic, if it has one.
  template <class Op>
  OpSchema& rule() {
    if constexpr (CountsOperations<Op, Dim>)
      operations_ = [](const Attributes& a, const OperandShapes<Dim>& s) {
        return decode<Op>(a).operations(s);
      };
    check_ = [](const Attributes& a) { (void)decode<Op>(a); };
    shape_ = [](const Attributes& a, ShapeContext<Dim>& c) { decode<Op>(a).shape(c); };
    return *this;
  }
  OpSchema& partial() {
    partial_ = true;
    return *this;
  }
  /// Replaces type and shape inference altogether.
  OpSchema& infer(InferFunction f) {
    infer_ = f;
    return *this;
  }
  /// Sets the function for the element type of an output whose type no input determines: of Cast, EyeLike,
  /// RandomNormal, … The shape still comes from the rule. To be called once for each such output.
  OpSchema& output_type(DataType (*f)(const Node&, std::span<const ValueType>), size_t output = 0) {
    output_types_.emplace_back(output, f);
    return *this;
  }
  OpSchema& tolerance(ToleranceSpec c) {
    tolerance_ = c;
    return *this;
  }
  /// For files of an opset that does not have the operator, or not all that a node says.
  OpSchema& decompose(Decomposition f) {
    decomposition_ = f;
    return *this;
  }
  /// Two calls with equal inputs may differ (random numbers): neither folded nor merged.
  OpSchema& nondeterministic() {
    deterministic_ = false;
    return *this;
  }

  const std::string& domain() const { return domain_; }
  /// Returns the folder under src/ops where the operator is declared; empty for those of plug-ins.
  std::string_view folder() const { return folder_; }
  const std::string& name() const { return name_; }
  const std::vector<Version>& versions() const { return versions_; }
  const Version& newest() const { return versions_.back(); }
  /// The version in force at an opset; null when the operator did not exist yet.
  const Version* at(int opset) const;
  bool is_partial() const { return partial_; }
  bool deterministic() const { return deterministic_; }
  const ToleranceSpec& tolerance() const { return tolerance_; }
  auto shape_rule() const { return shape_; }
  auto attribute_check() const { return check_; }
  /// How much arithmetic it does where that does not show in the sizes of its operands; null for others.
  auto operations() const { return operations_; }
  InferFunction infer_function() const { return infer_; }
  const auto& output_types() const { return output_types_; }
  Decomposition decomposition() const { return decomposition_; }

 private:
  std::string domain_, name_;
  std::string_view folder_;
  std::vector<Version> versions_;
  void (*check_)(const Attributes&) = nullptr;
  void (*shape_)(const Attributes&, ShapeContext<Dim>&) = nullptr;
  Dim (*operations_)(const Attributes&, const OperandShapes<Dim>&) = nullptr;
  InferFunction infer_ = nullptr;
  std::vector<std::pair<size_t, DataType (*)(const Node&, std::span<const ValueType>)>> output_types_;
  Decomposition decomposition_ = nullptr;
  ToleranceSpec tolerance_;
  bool partial_ = false, deterministic_ = true;
  friend class SchemaCatalog;
};

/// The schemas of all operators. Immutable once built, except that plug-ins may add to their own copy.
class SchemaCatalog {
 public:
  OpSchema& add(std::string name) { return add("", std::move(name)); }
  OpSchema& add(std::string domain, std::string name);
  /// Sets the folder of src/ops in which everything that is added later is declared; empty: in none. The
  /// text must outlive the catalog, as a literal does.
  void begin_folder(std::string_view folder) { folder_ = folder; }
  const OpSchema* find(std::string_view domain,
                       std::string_view name) const;  // "" and "ai.onnx" are the same
  const std::map<OpKey, OpSchema, OpKeyLess>& all() const { return ops_; }
  bool knows_domain(std::string_view domain) const;
  /// The catalog of all operators in src/ops.
  static const SchemaCatalog& standard();

 private:
  std::map<OpKey, OpSchema, OpKeyLess> ops_;
  std::string_view folder_;
};

/// Newest opset of the default domain that this library supports, and the newest IR version.
inline constexpr int newest_opset = 28;
inline constexpr int newest_ir_version = 14;

}  // namespace lathe
