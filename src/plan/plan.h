// The plan, which the builder passes to the runtime. It is plain data; plan_file.h maps it to and from the
// .lathe format.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "lathe/dim.h"
#include "lathe/value.h"
#include "tensor/arithmetic.h"
#include "tensor/attributes.h"

namespace lathe {

/// How a value's kind and type are described to the runtime, without the graph's words.
struct PlanType {
  enum class Kind : uint8_t { tensor, sparse, sequence, map, optional, none };
  Kind kind = Kind::tensor;
  DataType elem =
      DataType::undefined;  // of a sequence or an optional: that of the tensors in it; of a map: the keys
  bool is_tensor() const { return kind == Kind::tensor; }
  /// The element type of the value itself, for shape rules.
  DataType own_elem() const {
    return kind == Kind::tensor || kind == Kind::sparse ? elem : DataType::undefined;
  }
  /// Tensors: each dimension an expression over the plan's symbols; nothing: only the run decides.
  std::optional<SymShape> shape;
  std::string text;  // as people write it: "seq(float)"
};

enum class ValueRole : uint8_t { input, constant, computed, captured };

struct PlanValue {
  std::string name;  // of the value in the file
  PlanType type;
  ValueRole role = ValueRole::computed;
  int32_t weight = -1;  // constant: index into Plan::weights; input: its default, or -1
  /// 0 is the host; k is the memory of Plan::backends[k - 1].
  MemorySpace memory = host_memory;
  /// The memory of this value is that of another one (Reshape of it): -1 when it has its own.
  int32_t alias_of = -1;
  /// It is the old or the new value of this one of Plan::states, in the memory of that; -1: of none.
  int32_t state = -1;
};

/// A value that lives from one run to the next, in memory of the caller (lathe/state.h): an output of the
/// main graph becomes an input of the next run where it is.
struct PlanState {
  /// How a run makes the new value. `append`: a step writes behind the old one along `axis`. `write`: a step
  /// writes some of its elements (TensorScatter), and makes it longer where there is an axis. `replace`: a
  /// step writes all of them. `copy`: it is made elsewhere, since the old one is still read, and copied when
  /// the run ends.
  enum class Update : uint8_t { append, write, replace, copy };
  uint32_t input = 0, output = 0;  // which of the main graph's
  Update update = Update::copy;
  int32_t axis = -1;     // the one that grows; -1: none does
  int64_t capacity = 0;  // the greatest length along it
  int64_t block = 0;     // the indices along the axis that a block of its memory has; 0: it is in one piece
};

struct PlanBody {
  std::string name;                                     // "then_branch"
  uint32_t graph = 0;                                   // index into Plan::graphs
  std::vector<std::pair<uint32_t, uint32_t>> captures;  // (value here, value in the body)
};

/// A pointwise program that is applied to each element of a step's first output.
struct PlanEpilogue {
  Pointwise program;              // operand 0 is the output as its kernel computed it
  std::vector<int32_t> operands;  // values: the program's operands from 1
};

/// A tactic that was timed when the plan was built.
struct PlanTiming {
  std::string tactic;  // kernel and tunables: "blocked_conv.winograd4.avx2 [65536]"
  double microseconds = 0;
};

struct PlanStep {
  std::string op, domain, kernel;   // kernel: its name in the catalog; empty: a copy between memory spaces
  std::string node;                 // provenance: name of the node in the file
  std::vector<std::string> origin;  // all original nodes it stands for
  Attributes attributes;
  Tunables tunables;                     // what the kernel was told; empty: nothing
  std::vector<int32_t> inputs, outputs;  // values; -1 absent
  std::vector<int32_t> packed;           // per input: weight index of its packed form, or -1 (empty: none)
  std::vector<PlanBody> bodies;
  std::optional<PlanEpilogue> epilogue;
  std::vector<std::string> refusals;  // why other kernels were not taken: "softmax.avx512: only float32"
  std::vector<std::string> fused;     // the operators in `epilogue`, or in a program that stands alone
  std::vector<std::string>
      unfused;  // why what could have been one step with this one is not: "x: read twice"
  Arithmetic arithmetic = Arithmetic::none;  // of the operator: how profiles count it
  uint16_t fused_arithmetic = 0;             // operations that `fused` does with each element
  std::vector<PlanTiming> timings;           // the tactic that was taken first; empty: nothing was measured
};

/// A graph in order of execution.
struct PlanGraph {
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps;
  std::vector<uint32_t> inputs, outputs;
};

/// How the bytes of a stored array are made: an entry of the weight program.
struct WeightRecipe {
  enum class Kind : uint8_t { source, fold, pack };
  Kind kind = Kind::source;
  std::string
      source;  // source: name of the initializer in the model; empty: of a constant of the build's own
  static constexpr uint32_t absent = UINT32_MAX;
  std::vector<uint32_t>
      from;  // fold, pack: the weights it was made of, earlier ones; absent: an input left out
  std::string op, domain, kernel;  // fold: the operator; pack: the kernel that asked
  Attributes attributes;
  std::vector<DataType> outputs;  // fold: the types of all outputs of the operator; undefined: not wanted
  uint32_t output = 0;            // fold: which output; pack: which input
};

struct Weight {
  std::string name;
  WeightRecipe recipe;
  Value value;  // tensors are views of the model's or the plan's mapping, or owned
  /// False: its elements are not there, and `value` holds zeros. Only recipes name it. Either the plan was
  /// saved without them, or they were folded, and can be folded again when they are wanted.
  bool stored = true;
  uint64_t checksum = 0;  // of a plan from a file: what the elements there should give (checksum.h)
};

/// The shapes that the inputs may have in one profile.
struct PlanProfile {
  std::string name;
  struct Input {
    uint32_t input = 0;  // which of the main graph's
    Shape min, opt, max;
  };
  std::vector<Input> inputs;
};
inline constexpr size_t max_profiles = 64;

/// An initializer that may not be exchanged: shapes follow from its contents, or the build consumed it.
struct BuiltInWeight {
  std::string name;
  DataType type = DataType::undefined;
  Shape shape;
  uint64_t checksum = 0;  // of its elements (checksum.h); of strings 0
};

/// What the kernels of a plan are for.
struct PlanTarget {
  std::string device = "cpu";  // the backend whose kernels come first
  Isa isa = Isa::generic;      // of kernels in host memory
  bool operator==(const PlanTarget&) const = default;
};

struct Plan {
  std::vector<PlanGraph> graphs;  // 0 is the main graph, the others are bodies
  std::deque<Weight> weights;     // kernels look at earlier ones while later ones are added
  /// Symbols of the input shapes in order of first appearance: where to read each.
  struct Symbol {
    std::string name;
    uint32_t input = 0, axis = 0;
  };
  std::vector<Symbol> symbols;
  PlanTarget target;
  Isa built_for = Isa::generic;         // more than target.isa where it was opened on a lesser machine
  bool portable = true;                 // is what packed arrays were made of saved beside them?
  bool refit = false;                   // are the sources of all arrays?
  std::vector<BuiltInWeight> built_in;  // with refit
  bool strict = false;                  // Numerics::strict
  LikelySizes likely;                   // of symbols: what kernels were chosen by
  std::vector<std::string> backends;    // those that must be there to run it
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Names and contents of files that belong to the model: "tokenizer.json".
  std::vector<std::pair<std::string, std::string>> files;
  /// Values that can be tapped, under their names in the file; those of bodies too.
  struct Tap {
    std::string name;
    uint32_t graph = 0, value = 0;
    friend bool operator==(const Tap&, const Tap&) = default;
  };
  std::vector<Tap> taps;
  std::vector<PlanProfile> profiles;  // none: any shapes that the inputs declare
  std::vector<PlanState> states;
  std::string producer, description;

  /// Returns the axis along which a value of the main graph grows in place; -1 if it is dense.
  int32_t grows_along(const PlanValue& v) const {
    return v.state < 0 ? -1 : states[static_cast<size_t>(v.state)].axis;
  }
  /// Returns whether the memory of a value is blocks of a state.
  bool in_blocks(const PlanValue& v) const {
    return v.state >= 0 && states[static_cast<size_t>(v.state)].block > 0;
  }
};

}  // namespace lathe
