// Declares kernels and what they see of a step: the counterpart of schema.h for execution.
//
//   static void softmax(const Softmax& op, KernelContext& c) { … c.in(0) … c.out(0) … }
//   void reference_softmax(KernelCatalog& k) { k.reference<Softmax>("Softmax", softmax); }
//
// A fast kernel declares what it supports, and gives a reason if it refuses:
//
//   static Support supports(const Softmax& op, const KernelQuery& r) {
//     if (r.inputs[0].type != DataType::float32) return Support::no("only float32");
//     return Support::yes();
//   }
//   k.add<Softmax>({.op = "Softmax", .name = "softmax.avx512", .isa = Isa::avx512},
//                  {.run = softmax_avx512, .supports = supports});
#pragma once

#include <any>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/op_key.h"
#include "kernel/pointwise.h"
#include "lathe/backend.h"
#include "lathe/error.h"
#include "lathe/value.h"
#include "tensor/arithmetic.h"
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Instruction sets that kernels are compiled for, worst first.
enum class Isa : uint8_t { generic, avx2, avx512 };
std::string_view name_of(Isa isa);

/// A reference to a callable for the length of a call. Unlike std::function it never allocates.
template <class F>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)  // NOLINT
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* o, A... a) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(std::forward<A>(a)...);
        }) {}
  R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

/// A body of If/Loop/Scan/SequenceMap, ready to run inside a step. The outer values that it reads are bound
/// already.
class KernelBody {
 public:
  virtual ~KernelBody() = default;
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  /// The rank that the body expects of an input; -1 if it takes any.
  virtual int64_t input_rank(size_t /*i*/) const { return -1; }
  /// Runs the body. `inputs` must stay valid until it returns. Results are read with `output(i)` and stay
  /// valid to the end of the next run, so that they can be its inputs without a copy (the states of a loop).
  /// `owned()` keeps a result for longer.
  virtual void run(std::span<const Value> inputs) = 0;
  virtual const Value& output(size_t i) const = 0;
};

/// The threads that share the work, and the caller's request to stop.
class Workers {
 public:
  virtual ~Workers() = default;
  /// Calls f(begin, end) over [0, n) in pieces of at least `grain`, on as many threads as there are; returns
  /// when all are done, and passes on the first exception. Results must not depend on how the range is split.
  virtual void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) = 0;
  /// Calls f(step, begin, end) likewise for each of `steps` steps: no step begins before the one before it is
  /// done. If threads can stay together between steps, this is faster than a parallel() for each step.
  virtual void parallel_steps(int64_t steps, int64_t n, int64_t grain,
                              FunctionRef<void(int64_t, int64_t, int64_t)> f) {
    for (int64_t step = 0; step < steps; ++step)
      parallel(n, grain, [&](int64_t begin, int64_t end) { f(step, begin, end); });
  }
  virtual int threads() const { return 1; }
  /// Throws cancelled or deadline if the run is to stop. Kernels call it at least every few milliseconds of
  /// work (each piece of parallel work does).
  virtual void poll() = 0;
};

/// The memory of a state that grows in blocks. Each is a tensor of the state's shape, but with `rows` indices
/// along the axis that grows; index i is at index i % rows of block i / rows.
struct StateBlocks {
  void* const* data = nullptr;
  int64_t rows = 0;
};

/// The interface of a kernel to one execution of its step. One thread uses it; the functions passed to
/// parallel() run on many.
class KernelContext : public Workers {
 public:
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  /// False for an optional input that is left out.
  virtual bool has(size_t i) const = 0;
  virtual const Value& value(size_t i) const = 0;
  /// A tensor input. Its data() is null if the kernel reads `packed(i)` instead.
  const Tensor& in(size_t i) const { return value(i).tensor(); }
  /// Of an input that is a state which grows (PlanState): the number of indices along its axis that its
  /// memory has, whatever its shape says. What is at one index of the axes before that one is so many indices
  /// apart from the next. 0: the input is dense.
  virtual int64_t capacity(size_t /*i*/) const { return 0; }
  /// Of such an input whose memory is in blocks: where they are now. Its data() is no address of elements,
  /// but equals that of the output which is appended to it, and capacity() is no distance in memory. To be
  /// asked once all outputs are there. Null: the memory is in one piece.
  virtual const StateBlocks* blocks(size_t /*i*/) const { return nullptr; }
  /// What this kernel's `prepare` made for the step; null if there is none.
  virtual const void* prepared() const { return nullptr; }
  /// Operand `i`, from 1 on, of the program behind a kernel in other memory than the host's.
  virtual const Tensor& epilogue_operand(size_t i) const {
    fail(Code::internal, "an operand of an epilogue", "number " + std::to_string(i));
  }
  /// The tensor that this kernel's `pack` made of a constant input at build time; null if there is none.
  virtual const Tensor* packed(size_t /*i*/) const { return nullptr; }

  /// False for an output that nothing reads.
  virtual bool wants(size_t i) const = 0;
  /// A tensor output whose shape the shape rule declared; its memory is allocated.
  virtual Tensor& out(size_t i) = 0;
  /// A tensor output whose shape the kernel computes. (If the rule declared a shape too, the two must agree.)
  virtual Tensor& out(size_t i, DataType type, const Shape& shape) = 0;
  /// Sets any other kind of output, or a tensor that already exists (it must own its memory).
  virtual void set(size_t i, Value v) = 0;

  /// The inferred type of an output, for cases in which the kernel cannot know it (a loop that never ran):
  /// the element type (of a sequence, that of its tensors), and a shape whose unknown sizes are -1.
  struct Expected {
    DataType type = DataType::undefined;
    std::optional<Shape> shape;
  };
  virtual Expected expected(size_t /*i*/) const { return {}; }

  /// Scratch memory for the length of this call, 64-byte aligned. It has at least the size that the kernel's
  /// `workspace` returned, and grows if `bytes` is larger.
  virtual void* workspace(size_t bytes) = 0;
  /// Allocates temporary vectors of this call, on any of its threads: `std::pmr::vector<double> line(n,
  /// c.scratch())`. Its memory is reused, so that the next run allocates nothing; kernels that know their
  /// sizes before they run should use the workspace.
  virtual std::pmr::memory_resource* scratch() { return std::pmr::new_delete_resource(); }

  /// The epilogue of output 0; null: there is none. Kernels that declare `fuses_epilogue` apply it part by
  /// part; after other kernels the runtime does.
  virtual Epilogue* epilogue() { return nullptr; }

  virtual KernelBody& body(size_t i) = 0;
  /// The queue of the kernel's device; null in host memory.
  virtual Queue* queue() { return nullptr; }
  /// Returns whether each item of a batch must have the same bits as if it were computed alone.
  virtual bool strict() const { return false; }
  /// Throws an error of the stage "run".
  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy = {}) const {
    throw Error(code, "run", std::move(expected), std::move(got), std::move(remedy));
  }
};

/// The memory space of a kernel's inputs and outputs. 0 is host memory.
using MemorySpace = uint16_t;
inline constexpr MemorySpace host_memory = 0;

/// Assumed sizes of symbols.
using LikelySizes = std::map<std::string, int64_t, std::less<>>;

/// The node that a kernel is asked to support: its types and (symbolic) shapes.
struct KernelQuery {
  struct Operand {
    bool present = false;
    DataType type = DataType::undefined;  // undefined: not a tensor
    std::optional<SymShape> shape;
    const Tensor* constant = nullptr;  // the contents, if the builder knows them
    int32_t grows_along = -1;          // of a state that is not dense: its axis (KernelContext::capacity)
    bool in_blocks = false;            // of such a state: KernelContext::blocks
  };
  /// A list of operands. All behind its end are absent: a plan out of a file may have fewer than its operator
  /// takes, and kernels look at operands without asking for their number.
  class Operands {
   public:
    Operands() = default;
    Operands(std::span<const Operand> list) : list_(list) {}
    Operands(const std::vector<Operand>& list) : list_(list) {}
    Operands(const Operand* first, size_t n) : list_(first, n) {}
    const Operand& operator[](size_t i) const {
      static const Operand absent;
      return i < list_.size() ? list_[i] : absent;
    }
    size_t size() const { return list_.size(); }
    bool empty() const { return list_.empty(); }
    auto begin() const { return list_.begin(); }
    auto end() const { return list_.end(); }
    std::span<const Operand> list() const { return list_; }

   private:
    std::span<const Operand> list_;
  };
  Operands inputs;
  Operands outputs;
  Isa isa = Isa::generic;  // the best that may be used
  const LikelySizes* likely = nullptr;
  bool strict = false;  // no preference may depend on the size of a batch
  /// The elementwise region behind the node, which a kernel in other memory than the host's computes too;
  /// null: there is none.
  const Pointwise* epilogue = nullptr;
  Operands epilogue_operands = {};  // of its program, from operand 1 on
  bool refit = false;  // constants may be exchanged: nothing but packing may depend on their contents

  /// A size that is known, or else assumed; nothing if it is neither.
  std::optional<int64_t> likely_size(const Dim& d) const {
    return d.is_constant() || !likely ? d.value() : d.evaluate(*likely);
  }
};

struct Support {
  bool accepted = false;
  std::string reason;  // why it was refused: "channels not a multiple of 16"
  static Support yes() { return {true, {}}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
};

/// Selects one of several ways in which a kernel can compute: numbers that have a meaning for this kernel
/// only. Empty: the kernel chooses. A kernel with its tunables is a tactic.
using Tunables = std::vector<int64_t>;

/// The facts about a step's operands once shapes are numbers.
struct StepFacts {
  std::span<const Fact<int64_t>> inputs, outputs;
};

/// The offsets of parts in their whole, in bytes from its first byte, part by part. Each part is contiguous.
using SubviewOffsets = std::vector<size_t>;

/// The operand that the others may be subviews of. `output`: the inputs are parts of output 0 (Concat);
/// `input`: the outputs are parts of input 0 (Split).
enum class SubviewsOf : uint8_t { none, output, input };

/// The type and shape of a constant operand that is packed at build time.
struct PackedForm {
  DataType type = DataType::undefined;
  Shape shape;
  /// Says how the elements are arranged: steps that want the same constant in forms with the same text here
  /// read one packed array, whatever their kernels. Empty: the array is the step's own.
  std::string arrangement = {};
};

/// The interface of a kernel to the one time that it is made ready for a step of an engine.
class PrepareContext : public Workers {
 public:
  /// The step, with the contents of all constants in host memory.
  virtual const KernelQuery& query() const = 0;
  /// Runs read what is prepared in place of constant input `i`, which need not be in the kernel's memory.
  virtual void replaces(size_t i) = 0;
  /// Memory in the kernel's space, which lives as long as what is prepared. Throws run_out_of_memory.
  virtual void* allocate(size_t bytes) = 0;
  /// A queue of the kernel's device; null in host memory.
  virtual Queue* queue() = 0;
};

/// A kernel of the catalog. `op` pointers refer to the decoded struct of the operator.
struct Kernel {
  std::string op;  // "Softmax"
  std::string domain = {};
  std::string name = {};        // unique: "softmax.avx512", "softmax.ref"; plans store it
  std::string backend = "cpu";  // "reference", "cpu", or one that a plug-in registered
  Isa isa = Isa::generic;
  int priority = 0;  // among kernels that support a node, higher first (unless the tuner measures)
  MemorySpace memory = host_memory;
  bool fuses_epilogue = false;  // calls KernelContext::epilogue() on output 0 while it is in the cache
  bool writes_f16 =
      false;  // output 0 may have 16-bit floats, which the epilogue writes (Epilogue::apply_from)
  bool temporaries = false;  // takes memory from KernelContext::scratch() besides the workspace
  /// The constant input that may be at any address, because it is read byte by byte or in whole vectors: when
  /// it is packed, or in runs if it is not packed. -1: all inputs must be aligned.
  int any_alignment = -1;
  /// Describes what the kernel does differently if KernelContext::strict() is true. Empty: nothing, because
  /// its results never depend on what else is in the batch.
  std::string strict = {};
  int alias =
      -1;  // output 0 may be the memory of this input (Reshape, Identity): run copies only if it is not
  /// Output 0 may be the memory of any input of its type and shape: each element is read before the same one
  /// is written, and not afterwards.
  bool overwrites = false;
  /// The inputs (bit i) that may be states which are not dense: run asks for KernelContext::capacity.
  uint32_t takes_states = 0;
  bool takes_blocks = false;  // such states may be in blocks: run asks for KernelContext::blocks
  /// An output that run writes behind an input where that is a state: of its elements only the new ones.
  struct Appended {
    uint8_t input = 0, output = 0;
  };
  std::vector<Appended> appends = {};
  /// Operands may be subviews at the offsets of `subviews`: run copies only those that are not.
  SubviewsOf subviews_of = SubviewsOf::none;

  /// The folder under src/ops where the kernel is registered: filled in by the catalog; empty for plug-ins.
  std::string_view folder = {};

  /// Makes the struct that `op` points to in the functions below; empty: the operator's own struct.
  std::function<std::shared_ptr<const void>(const Attributes&)> decode = {};
  /// Returns the operator with these tunables, which `op` points to in the other functions.
  std::function<std::shared_ptr<const void>(const void* op, const Tunables&)> tuned = {};
#define LATHE_HOOK(Result, name, ...) std::function<Result(const void* op, __VA_ARGS__)> name = {};
#include "kernel/hooks.def"
};

/// The functions of an operator that all of its kernels share.
struct OpCodec {
  std::function<std::shared_ptr<const void>(const Attributes&)> decode;
  std::function<void(const void* op, ShapeContext<int64_t>&)> shape;  // the shape rule, on numbers
  /// Counts the arithmetic of operators whose operations do not follow from the sizes of their operands;
  /// empty for others.
  std::function<double(const void* op, const OperandShapes<double>&)> operations = {};
};

class KernelCatalog {
 public:
  /// Adds a reference kernel, which supports every node, and the functions that decode the operator's
  /// attributes.
  template <class Op>
  void reference(std::string op, void (*run)(const Op&, KernelContext&), std::string domain = {}) {
    add_codec(op, domain, codec<Op>());
    Kernel k{.op = op,
             .domain = std::move(domain),
             .name = op + ".ref",
             .backend = "reference",
             .temporaries = true};
    k.run = [run](const void* o, KernelContext& c) { run(*static_cast<const Op*>(o), c); };
    add(std::move(k));
  }
  /// A kernel's functions for the struct of its operator; run is there, others may be null.
  template <class Op>
  struct Functions {
#define LATHE_HOOK(Result, name, ...) Result (*name)(const Op& op, __VA_ARGS__) = nullptr;
#include "kernel/hooks.def"
  };
  template <class Op>
  void add(Kernel k, Functions<Op> f) {
    add_codec(k.op, k.domain, codec<Op>());
#define LATHE_HOOK(Result, name, ...) \
  if (f.name) k.name = erased(f.name);
#include "kernel/hooks.def"
    if constexpr (requires(Op & op) { op.tunables = Tunables(); })
      if (f.tactics)
        k.tuned = [](const void* o, const Tunables& t) -> std::shared_ptr<const void> {
          auto copy = std::make_shared<Op>(*static_cast<const Op*>(o));
          copy->tunables = t;
          return copy;
        };
    add(std::move(k));
  }
  /// Returns what the operator does to each element, as a program whose operands are its inputs; nothing if
  /// it is not elementwise.
  using Describe = std::function<std::optional<Pointwise>(const void* op, const KernelQuery&)>;
  template <class Op>
  void pointwise(const std::string& op, std::optional<Pointwise> (*f)(const Op&, const KernelQuery&),
                 const std::string& domain = {}) {
    pointwise_[{std::string(canonical_domain(domain)), op}] = [f](const void* o, const KernelQuery& r) {
      return f(*static_cast<const Op*>(o), r);
    };
  }
  /// Makes the epilogue of a step in host memory from its program, for kernels up to an instruction set.
  /// Throws plan_malformed if the program needs more memory than it has.
  using CompileEpilogue = std::unique_ptr<const CompiledEpilogue> (*)(Isa isa, const Pointwise& program);
  void compiles_epilogues(CompileEpilogue f) { compile_epilogue_ = f; }
  /// Null: steps have no epilogues.
  CompileEpilogue epilogue_compiler() const { return compile_epilogue_; }

  /// Null for operators that have no pointwise program.
  const Describe* pointwise_of(std::string_view domain, std::string_view op) const;

  /// Declares that the operator calls the optional component of that name (base/component.h), whatever its
  /// kernel: without it no engine is built and no plan is loaded.
  void needs(const std::string& op, std::string component, const std::string& domain = {});
  /// Empty: none.
  std::string_view component_of(std::string_view domain, std::string_view op) const;
  /// Throws component_absent if the operator needs a component that is not installed.
  void require_component_of(std::string_view domain, std::string_view op) const;

  /// Says which operators of the default domain `op`, of domain lathe, may run in place of; none: it only
  /// moves what others read or make. Every operator of that domain says so once.
  void replaces(const std::string& op, std::vector<std::string> originals);
  /// … in place of all that pointwise() describes.
  void replaces_described(const std::string& op);
  /// Was it said?
  bool is_internal_form(std::string_view op) const { return replaced_by_.contains(op); }
  /// The operators of domain lathe that may run in place of this one, sorted.
  std::vector<std::string> internal_forms_of(std::string_view domain, std::string_view op) const;

  /// Sets the folder of src/ops in which everything that is added later is registered; empty: in none. The
  /// text must outlive the catalog, as a literal does.
  void begin_folder(std::string_view folder) { folder_ = folder; }
  void add(Kernel k);
  void add_codec(const std::string& op, const std::string& domain, OpCodec c);

  const OpCodec* codec_of(std::string_view domain, std::string_view op) const;
  /// Kernels of an operator, best first: by instruction set, then by priority; the reference last.
  std::vector<const Kernel*> candidates(std::string_view domain, std::string_view op) const;
  const Kernel* by_name(std::string_view name) const;
  const Kernel* reference_of(std::string_view domain, std::string_view op) const;
  const std::vector<std::unique_ptr<Kernel>>& all() const { return kernels_; }
  /// The catalog of all kernels in src/ops.
  static const KernelCatalog& standard();

 private:
  /// The lambda captures one pointer: so std::function does not allocate, and there are thousands of them.
  template <class Op, class Result, class... Arguments>
  static std::function<Result(const void*, Arguments...)> erased(Result (*f)(const Op&, Arguments...)) {
    return [f](const void* op, Arguments... arguments) -> Result {
      return f(*static_cast<const Op*>(op), std::forward<Arguments>(arguments)...);
    };
  }
  template <class Op>
  static OpCodec codec() {
    OpCodec c{.decode = [](const Attributes& a) -> std::shared_ptr<const void> {
                return std::make_shared<const Op>(decode<Op>(a));
              },
              .shape = [](const void* o, ShapeContext<int64_t>& s) { static_cast<const Op*>(o)->shape(s); },
              .operations = {}};
    if constexpr (CountsOperations<Op, double>)
      c.operations = [](const void* o, const OperandShapes<double>& s) {
        return static_cast<const Op*>(o)->operations(s);
      };
    return c;
  }
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<OpKey, OpCodec, OpKeyLess> codecs_;
  std::map<OpKey, Describe, OpKeyLess> pointwise_;
  std::map<OpKey, std::vector<const Kernel*>, OpKeyLess> by_op_;
  std::map<std::string, const Kernel*, std::less<>> by_name_;
  std::map<OpKey, std::string, OpKeyLess> components_;
  std::map<std::string, std::vector<std::string>, std::less<>> replaced_by_;  // internal form: originals
  std::string described_by_;  // the internal form of all that is described; empty: none
  std::string_view folder_;
  CompileEpilogue compile_epilogue_ = nullptr;
};

}  // namespace lathe
