// How kernels are declared and what they see. The execution side's counterpart of schema.h.
//
//   static void softmax(const Softmax& op, KernelContext& c) { … c.in(0) … c.out(0) … }
//   void reference_softmax(KernelCatalog& k) { k.reference<Softmax>("Softmax", softmax); }
//
// A fast kernel adds a question, which is answered with a reason:
//
//   static Verdict ask(const Softmax& op, const KernelRequest& r) {
//     if (r.inputs[0].type != DataType::float32) return Verdict::no("only float32");
//     return Verdict::yes();
//   }
//   k.add<Softmax>({.op = "Softmax", .name = "softmax.avx512", .isa = Isa::avx512}, softmax_avx512, ask);
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
#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Instruction sets that kernels are compiled for, worst first.
enum class Isa : uint8_t { generic, avx2, avx512 };
std::string_view name_of(Isa isa);

/// A callable that is borrowed for the length of a call: no allocation, unlike std::function.
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

/// A body of If/Loop/Scan/SequenceMap, ready to run inside a step. Outer values it reads are bound already.
class KernelBody {
 public:
  virtual ~KernelBody() = default;
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  /// The rank that the body expects of an input; -1 where it takes any.
  virtual int64_t input_rank(size_t /*i*/) const { return -1; }
  /// Runs it. `inputs` stay valid until return; results are read with `output(i)` and stay valid to the end
  /// of the next run, so that they can be its inputs as they are (the states of a loop). `owned()` keeps one
  /// for longer.
  virtual void run(std::span<const Value> inputs) = 0;
  virtual const Value& output(size_t i) const = 0;
};

/// Threads to share work with, and the caller's wish to stop.
class Workers {
 public:
  virtual ~Workers() = default;
  /// Calls f(begin, end) over [0, n) in pieces of at least `grain`, on as many threads as there are; returns
  /// when all are done, and passes on the first exception. The split depends on n and grain only where
  /// results could: keep results independent of it.
  virtual void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) = 0;
  /// Calls f(step, begin, end) likewise for each of so many steps: nothing of a step begins before all of the
  /// one before is done. Where threads can stay together between steps, that takes less than a loop for each.
  virtual void parallel_steps(int64_t steps, int64_t n, int64_t grain,
                              FunctionRef<void(int64_t, int64_t, int64_t)> f) {
    for (int64_t step = 0; step < steps; ++step)
      parallel(n, grain, [&](int64_t begin, int64_t end) { f(step, begin, end); });
  }
  virtual int threads() const { return 1; }
  /// Throws cancelled / deadline when asked to stop. Call it at least every few milliseconds of work (each
  /// parallel piece does).
  virtual void poll() = 0;
};

/// What a kernel sees of one execution of its step. Used by one thread; the functions given to parallel() run
/// on many.
class KernelContext : public Workers {
 public:
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  /// False for an optional input left out.
  virtual bool has(size_t i) const = 0;
  virtual const Value& value(size_t i) const = 0;
  /// A tensor input. Its data() is null when `packed(i)` took its place.
  const Tensor& in(size_t i) const { return value(i).tensor(); }
  /// What this kernel's `pack` made of a constant input when the engine was built; null when there is none.
  virtual const Tensor* packed(size_t /*i*/) const { return nullptr; }

  /// False for an output nobody wants.
  virtual bool wants(size_t i) const = 0;
  /// A tensor output whose shape the rule declared: memory is ready.
  virtual Tensor& out(size_t i) = 0;
  /// A tensor output whose shape the kernel found out. (Where the rule declared one too, they must agree.)
  virtual Tensor& out(size_t i, DataType type, const Shape& shape) = 0;
  /// Any other kind of output, or a tensor that already exists (it must own its memory).
  virtual void set(size_t i, Value v) = 0;

  /// What inference said of an output that the kernel cannot know better (of a loop that never ran): the
  /// element type, of a sequence that of its tensors; sizes that only a run decides are -1.
  struct Expected {
    DataType type = DataType::undefined;
    std::optional<Shape> shape;
  };
  virtual Expected expected(size_t /*i*/) const { return {}; }

  /// Scratch memory for the length of this call, 64-byte aligned; at least what the kernel asked for in
  /// `workspace`, or more: grows.
  virtual void* workspace(size_t bytes) = 0;
  /// For temporary vectors of this call, on any of its threads: `std::pmr::vector<double> line(n,
  /// c.scratch())`. What a step needed once is kept, so that the next run allocates nothing; kernels that can
  /// say how much they need before running should use the workspace.
  virtual std::pmr::memory_resource* scratch() { return std::pmr::new_delete_resource(); }

  /// What is to be done with output 0 once it is computed; null: nothing. Kernels that declare `finishes` see
  /// to it part by part; behind others the runtime does it.
  virtual Epilogue* epilogue() { return nullptr; }

  virtual KernelBody& body(size_t i) = 0;
  /// The queue of the kernel's device; null in host memory.
  virtual Queue* queue() { return nullptr; }
  /// Must each item of a batch come out as it would alone, bit by bit?
  virtual bool strict() const { return false; }
  /// Where errors of this step say they happened.
  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy = {}) const {
    throw Error(code, "run", std::move(expected), std::move(got), std::move(remedy));
  }
};

/// Where a kernel's inputs and outputs live. 0 is host memory.
using MemorySpace = uint16_t;
inline constexpr MemorySpace host_memory = 0;

/// Sizes that symbols are thought to have.
using LikelySizes = std::map<std::string, int64_t, std::less<>>;

/// What a kernel is asked about: types and (symbolic) shapes of one node.
struct KernelRequest {
  struct Operand {
    bool present = false;
    DataType type = DataType::undefined;  // undefined: not a tensor
    std::optional<SymShape> shape;
    const Tensor* constant = nullptr;  // the contents, where they are known at build
  };
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  Isa isa = Isa::generic;  // the best that may be used
  const LikelySizes* likely = nullptr;
  bool strict = false;  // no preference may depend on the size of a batch

  /// A size as it is known, or thought to be; nothing where there is neither.
  std::optional<int64_t> likely_size(const Dim& d) const {
    return d.is_constant() || !likely ? d.value() : d.evaluate(*likely);
  }
};

struct Verdict {
  bool accepted = false;
  std::string reason;  // of a refusal: "channels not a multiple of 16"
  static Verdict yes() { return {true, {}}; }
  static Verdict no(std::string reason) { return {false, std::move(reason)}; }
};

/// How a kernel goes about its work, where it can do so in several ways: numbers that mean something to it
/// alone. Empty: as it thinks best. A kernel with its tunables is a tactic.
using Tunables = std::vector<int64_t>;

/// What is known of a step's operands once shapes are numbers.
struct StepFacts {
  std::span<const Fact<int64_t>> inputs, outputs;
};

/// Where parts lie in their whole, each in one piece: bytes from where the whole begins, one after the other.
using PartOffsets = std::vector<size_t>;

/// Which operand the others may lie in. `output`: the inputs in output 0 (Concat); `input`: the outputs in
/// input 0 (Split).
enum class Whole : uint8_t { none, output, input };

/// What a kernel makes of a constant operand when the engine is built.
struct PackedForm {
  DataType type = DataType::undefined;
  Shape shape;
};

/// A kernel as the catalog keeps it. `op` pointers are to the decoded struct of the operator.
struct Kernel {
  std::string op;  // "Softmax"
  std::string domain = {};
  std::string name = {};        // unique: "softmax.avx512", "softmax.ref"; what plans store
  std::string backend = "cpu";  // "reference", "cpu", or one that a plug-in registered
  Isa isa = Isa::generic;
  int priority = 0;  // among those that accept, higher first (unless the tuner measures)
  MemorySpace memory = host_memory;
  bool finishes = false;  // calls KernelContext::epilogue() on output 0 while it is in the cache
  bool narrows = false;   // output 0 may be floats of 16 bits that the epilogue makes (Epilogue::finish_from)
  bool temporaries = false;  // takes memory from KernelContext::scratch(), beside the workspace
  /// The constant input that is read byte by byte or by whole vectors, so that it may lie at any address:
  /// when it is packed, or where it is not, in runs. -1: all are to be aligned.
  int any_alignment = -1;
  /// What it does where KernelContext::strict() says so and would not do else; empty: nothing, since its
  /// results never depend on how many others are in the batch.
  std::string strict = {};
  int alias =
      -1;  // output 0 may be the memory of this input (Reshape, Identity): run copies only if it is not
  /// Output 0 may be the memory of any input of its type and shape: each element is read before the same one
  /// is written, and no other later.
  bool overwrites = false;
  /// Operands may lie where `parts` says: run copies only those that do not.
  Whole whole = Whole::none;

  /// What `op` points to in the functions below; empty: the operator's own struct.
  std::function<std::shared_ptr<const void>(const Attributes&)> decode = {};
  std::function<Verdict(const void* op, const KernelRequest&)> ask = {};
  /// Of what it can run: should it, or is another kernel thought to be faster? Asked when kernels are chosen;
  /// a plan keeps its choice.
  std::function<Verdict(const void* op, const KernelRequest&)> prefer = {};
  /// What it can be told of how to go about its work, besides nothing: the tuner times them all. Answers with
  /// the same bits or not, but within the operator's contract; none may depend on the number of threads.
  std::function<std::vector<Tunables>(const void* op, const KernelRequest&)> tactics = {};
  /// The operator that has been told: what `op` points to in the functions around this one.
  std::function<std::shared_ptr<const void>(const void* op, const Tunables&)> tuned = {};
  /// What becomes of constant input `i`; nothing where the kernel wants it as it is. Follows from the request
  /// alone: plans from files are held against it.
  std::function<std::optional<PackedForm>(const void* op, const KernelRequest&, size_t i)> packed_form = {};
  /// Fills `to`, which has that form. Must give the same bytes every time, however many the workers.
  std::function<void(const void* op, const KernelRequest&, size_t i, Tensor& to, Workers&)> pack = {};
  /// A smaller form that constant input `i` may have as well, where what it holds allows; runs tell by what
  /// they are given. It is tried first: pack_compact says whether it could.
  std::function<std::optional<PackedForm>(const void* op, const KernelRequest&, size_t i)> compact_form = {};
  std::function<bool(const void* op, const KernelRequest&, size_t i, Tensor& to, Workers&)> pack_compact = {};
  /// Bytes of scratch for concrete shapes (by input), so that memory is known before running.
  std::function<size_t(const void* op, std::span<const Shape> inputs, int threads)> workspace = {};
  /// Of a kernel with `temporaries`: bytes that these take at most; nothing where it does not know either. Of
  /// kernels without this, it is bounded by what they read and make.
  std::function<std::optional<size_t>(const void* op, std::span<const Shape> inputs,
                                      std::span<const Shape> outputs)>
      scratch = {};
  /// Of a kernel with a `whole`, in host memory, for elements of whole bytes: by part; nothing where one is
  /// not in one piece, or where only the data tell. Shapes are known, but may be at odds with each other.
  std::function<std::optional<PartOffsets>(const void* op, const StepFacts&)> parts = {};
  /// Of a kernel that finishes: may output 0 be the memory of the tensor of its shape that the epilogue adds
  /// first (Epilogue::added), for inputs of these shapes? Each element is read before the same one is
  /// written, and no other later.
  std::function<bool(const void* op, std::span<const Shape> inputs)> adds_over = {};
  std::function<void(const void* op, KernelContext&)> run = {};
};

/// What the execution side knows of an operator, whatever the kernel.
struct OpCodec {
  std::function<std::shared_ptr<const void>(const Attributes&)> decode;
  std::function<void(const void* op, ShapeContext<int64_t>&)> shape;  // the same rule, on numbers
};

class KernelCatalog {
 public:
  /// The obvious loops: never refuse. Also declares how the operator's attributes are decoded.
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
  template <class Op>
  struct Functions {
    void (*run)(const Op&, KernelContext&);
    Verdict (*ask)(const Op&, const KernelRequest&) = nullptr;
    Verdict (*prefer)(const Op&, const KernelRequest&) = nullptr;
    /// Op needs a member `Tunables tunables`, which is no attribute.
    std::vector<Tunables> (*tactics)(const Op&, const KernelRequest&) = nullptr;
    std::optional<PackedForm> (*packed_form)(const Op&, const KernelRequest&, size_t) = nullptr;
    void (*pack)(const Op&, const KernelRequest&, size_t, Tensor& to, Workers&) = nullptr;
    std::optional<PackedForm> (*compact_form)(const Op&, const KernelRequest&, size_t) = nullptr;
    bool (*pack_compact)(const Op&, const KernelRequest&, size_t, Tensor& to, Workers&) = nullptr;
    size_t (*workspace)(const Op&, std::span<const Shape>, int threads) = nullptr;
    std::optional<PartOffsets> (*parts)(const Op&, const StepFacts&) = nullptr;
    std::optional<size_t> (*scratch)(const Op&, std::span<const Shape>, std::span<const Shape>) = nullptr;
    bool (*adds_over)(const Op&, std::span<const Shape>) = nullptr;
  };
  template <class Op>
  void add(Kernel k, Functions<Op> f) {
    // Each captures one pointer: what fits into a std::function allocates nothing, and there are thousands.
    add_codec(k.op, k.domain, codec<Op>());
    k.run = [run = f.run](const void* o, KernelContext& c) { run(*static_cast<const Op*>(o), c); };
    if (f.ask)
      k.ask = [ask = f.ask](const void* o, const KernelRequest& r) {
        return ask(*static_cast<const Op*>(o), r);
      };
    if (f.prefer)
      k.prefer = [prefer = f.prefer](const void* o, const KernelRequest& r) {
        return prefer(*static_cast<const Op*>(o), r);
      };
    if constexpr (requires(Op & op) { op.tunables = Tunables(); })
      if (f.tactics) {
        k.tactics = [tactics = f.tactics](const void* o, const KernelRequest& r) {
          return tactics(*static_cast<const Op*>(o), r);
        };
        k.tuned = [](const void* o, const Tunables& t) -> std::shared_ptr<const void> {
          auto told = std::make_shared<Op>(*static_cast<const Op*>(o));
          told->tunables = t;
          return told;
        };
      }
    if (f.packed_form)
      k.packed_form = [form = f.packed_form](const void* o, const KernelRequest& r, size_t i) {
        return form(*static_cast<const Op*>(o), r, i);
      };
    if (f.pack)
      k.pack = [pack = f.pack](const void* o, const KernelRequest& r, size_t i, Tensor& to, Workers& w) {
        pack(*static_cast<const Op*>(o), r, i, to, w);
      };
    if (f.compact_form)
      k.compact_form = [form = f.compact_form](const void* o, const KernelRequest& r, size_t i) {
        return form(*static_cast<const Op*>(o), r, i);
      };
    if (f.pack_compact)
      k.pack_compact = [pack = f.pack_compact](const void* o, const KernelRequest& r, size_t i, Tensor& to,
                                               Workers& w) {
        return pack(*static_cast<const Op*>(o), r, i, to, w);
      };
    if (f.workspace)
      k.workspace = [workspace = f.workspace](const void* o, std::span<const Shape> s, int t) {
        return workspace(*static_cast<const Op*>(o), s, t);
      };
    if (f.parts)
      k.parts = [parts = f.parts](const void* o, const StepFacts& s) {
        return parts(*static_cast<const Op*>(o), s);
      };
    if (f.scratch)
      k.scratch = [scratch = f.scratch](const void* o, std::span<const Shape> in,
                                        std::span<const Shape> out) {
        return scratch(*static_cast<const Op*>(o), in, out);
      };
    if (f.adds_over)
      k.adds_over = [adds_over = f.adds_over](const void* o, std::span<const Shape> in) {
        return adds_over(*static_cast<const Op*>(o), in);
      };
    add(std::move(k));
  }
  /// What the operator does to each element, as a program whose operands are its inputs; nothing where it
  /// cannot be said so.
  using Describe = std::function<std::optional<Pointwise>(const void* op, const KernelRequest&)>;
  template <class Op>
  void pointwise(const std::string& op, std::optional<Pointwise> (*f)(const Op&, const KernelRequest&),
                 const std::string& domain = {}) {
    pointwise_[{std::string(canonical_domain(domain)), op}] = [f](const void* o, const KernelRequest& r) {
      return f(*static_cast<const Op*>(o), r);
    };
  }
  /// Null for operators that are none.
  const Describe* pointwise_of(std::string_view domain, std::string_view op) const;

  /// Whatever its kernel, the operator calls the optional component of that name (base/component.h): without
  /// it no engine is built and no plan is loaded.
  void needs(const std::string& op, std::string component, const std::string& domain = {});
  /// Empty: none.
  std::string_view component_of(std::string_view domain, std::string_view op) const;
  /// Throws component_absent where it needs one that is not there.
  void require_component_of(std::string_view domain, std::string_view op) const;

  void add(Kernel k);
  void add_codec(const std::string& op, const std::string& domain, OpCodec c);

  const OpCodec* codec_of(std::string_view domain, std::string_view op) const;
  /// Candidates for an operator, best first: backend as asked, then ISA, then priority; the reference last.
  std::vector<const Kernel*> candidates(std::string_view domain, std::string_view op) const;
  const Kernel* by_name(std::string_view name) const;
  const Kernel* reference_of(std::string_view domain, std::string_view op) const;
  const std::vector<std::unique_ptr<Kernel>>& all() const { return kernels_; }
  /// Everything in src/ops.
  static const KernelCatalog& standard();

 private:
  template <class Op>
  static OpCodec codec() {
    return {[](const Attributes& a) -> std::shared_ptr<const void> {
              return std::make_shared<const Op>(decode<Op>(a));
            },
            [](const void* o, ShapeContext<int64_t>& c) { static_cast<const Op*>(o)->shape(c); }};
  }
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<OpKey, OpCodec, OpKeyLess> codecs_;
  std::map<OpKey, Describe, OpKeyLess> pointwise_;
  std::map<OpKey, std::vector<const Kernel*>, OpKeyLess> by_op_;
  std::map<std::string, const Kernel*, std::less<>> by_name_;
  std::map<OpKey, std::string, OpKeyLess> components_;
};

}  // namespace lathe
