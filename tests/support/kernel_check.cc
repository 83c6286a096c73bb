#include "support/kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel/facts.h"
#include "kernel/select.h"
#include "lathe/engine.h"
#include "support/case_model.h"
#include "support/sign_flipper.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace {

class OpContext : public WorkerContext {
 public:
  OpContext(int threads, const std::vector<Value>& inputs, size_t outputs)
      : WorkerContext(threads), inputs_(inputs), outputs_(outputs), packed_(inputs.size()) {}

  size_t inputs() const override { return inputs_.size(); }
  size_t outputs() const override { return outputs_.size(); }
  bool has(size_t i) const override { return i < inputs_.size() && inputs_[i].is_tensor(); }
  const Value& value(size_t i) const override { return inputs_[i]; }
  const Tensor* packed(size_t i) const override { return packed_[i] ? &*packed_[i] : nullptr; }
  bool wants(size_t i) const override { return i < outputs_.size(); }
  Tensor& out(size_t i) override { return outputs_[i].tensor(); }
  Tensor& out(size_t i, DataType type, const Shape& shape) override {
    if (!outputs_[i].is_tensor()) outputs_[i] = Value(Tensor(type, shape));
    return outputs_[i].tensor();
  }
  void* workspace(size_t bytes) override {
    max_workspace = std::max(max_workspace, bytes);
    scratch_ = Fenced((bytes + sizeof(float) - 1) / sizeof(float));
    return scratch_.data();
  }

  /// Like the runtime, replaces the elements by the packed form.
  void pack(size_t i, Tensor t) {
    packed_[i] = std::move(t);
    inputs_[i] = Value(Tensor::view(inputs_[i].tensor().type(), inputs_[i].tensor().shape(), nullptr));
  }
  void set_epilogue(Epilogue* e) { epilogue_ = e; }
  Epilogue* epilogue() override { return epilogue_; }
  void declare(size_t i, DataType type, const Shape& shape) { outputs_[i] = Value(Tensor(type, shape)); }
  std::vector<Value>& results() { return outputs_; }
  bool scratch_intact() const { return scratch_.intact(); }
  size_t max_workspace = 0;

 private:
  std::vector<Value> inputs_, outputs_;
  std::vector<std::optional<Tensor>> packed_;
  Fenced scratch_{0};
  Epilogue* epilogue_ = nullptr;
};

/// Shapes of the outputs by the operator's rule; types as the reference gave them.
void declare_outputs(const OpCase& k, const OpCodec& codec, const void* op, OpContext& c,
                     const std::vector<Value>& like) {
  std::vector<Fact<int64_t>> in(k.inputs.size()), out(k.outputs);
  for (size_t i = 0; i < in.size(); ++i)
    if (k.inputs[i].is_tensor()) describe_value(k.inputs[i], in[i]);
  for (auto& f : out) f.present = true;
  ShapeContext<int64_t> shapes(in, out);
  codec.shape(op, shapes);
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].ranked) c.declare(i, like[i].tensor().type(), Shape(out[i].shape.begin(), out[i].shape.end()));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.type() == DataType::string) return std::ranges::equal(a.as<std::string>(), b.as<std::string>());
  return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// `relative` to the greatest of them, and `absolute`.
template <class T>
void compare_floats(const Tensor& got, const Tensor& want, double relative, double absolute) {
  double most = 0;
  for (T x : want.as<T>())
    if (std::isfinite(x)) most = std::max<double>(most, std::abs(x));
  for (int64_t i = 0; i < want.size(); ++i) {
    const T a = got.as<T>()[static_cast<size_t>(i)], b = want.as<T>()[static_cast<size_t>(i)];
    if (std::isnan(b) || std::isinf(b))
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << a << " for " << b << " at " << i;
    else
      ASSERT_NEAR(a, b, relative * most + absolute) << "at " << i;
  }
}

/// Returns whether kernels compute doubles in another order than the reference, or by functions of their own,
/// which op_cases_test checks with the operator's tolerance. All others have the reference's bits.
bool rounds_doubles_otherwise(const OpCase& k) {
  constexpr std::string_view all[] = {"MatMul",     "Gemm",         "ReduceSum", "ReduceMean",
                                      "ReduceProd", "ReduceLogSum", "Exp",       "Log",
                                      "Tanh",       "Sigmoid",      "Softplus"};
  return std::ranges::find(all, k.op) != std::end(all);
}

void compare(const OpCase& k, const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type(), want.type());
  ASSERT_EQ(got.shape(), want.shape());
  if (want.type() == DataType::float32)
    compare_floats<float>(got, want, 2e-5, 1e-7);
  else if (want.type() == DataType::float64 && rounds_doubles_otherwise(k))
    compare_floats<double>(got, want, 2e-14, 0);
  else
    EXPECT_TRUE(same_bits(got, want));
}

}  // namespace

// Through the engine, which knows the types of the outputs by inference.
std::vector<Value> run_reference(const OpCase& k) {
  OpCase plain = k;
  plain.constant.assign(k.inputs.size(), false);
  onnx::Model m;
  m.proto = testing::model_of(plain);
  BuildOptions options;
  options.backend = "reference";
  options.threads = 1;
  return Engine::build(m, options).create_context().run(testing::inputs_of(plain));
}

/// A case as a support query for kernels; `want`: types and shapes of the results.
class CaseRequest {
 public:
  CaseRequest(const OpCase& k, const std::vector<Value>& want, Isa isa) {
    for (size_t i = 0; i < k.inputs.size(); ++i) {
      const Tensor* t = k.inputs[i].is_tensor() ? &k.inputs[i].tensor() : nullptr;
      inputs_.push_back(t ? operand(*t, k.constant[i]) : KernelQuery::Operand());
    }
    for (const Value& v : want) outputs_.push_back(operand(v.tensor(), false));
    request_ = {inputs_, outputs_, isa};
  }
  const KernelQuery& kernel_query() const { return request_; }

 private:
  static KernelQuery::Operand operand(const Tensor& t, bool constant) {
    return {true, t.type(), SymShape(t.shape().begin(), t.shape().end()), constant ? &t : nullptr};
  }
  std::vector<KernelQuery::Operand> inputs_, outputs_;
  KernelQuery request_;
};

bool all_tensors(const std::vector<Value>& values) {
  return std::ranges::all_of(values, [](const Value& v) { return v.is_tensor(); });
}

std::vector<Tunables> tunables_of(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want) {
  if (!all_tensors(want)) return {};
  const CaseRequest query(k, want, kernel.isa);
  const auto op = decode_for(kernel, *KernelCatalog::standard().codec_of(k.domain, k.op), k.attributes);
  if (kernel.supports && !kernel.supports(op.get(), query.kernel_query()).accepted) return {};
  std::vector<Tunables> all;
  if (kernel.tactics) all = kernel.tactics(op.get(), query.kernel_query());
  all.insert(all.begin(), Tunables());
  return all;
}

bool run_kernel(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want, int threads,
                std::vector<Value>* results, const Tunables& tunables,
                const std::function<Epilogue*(std::span<float>)>& e) {
  if (!all_tensors(want)) return false;
  const OpCodec& codec = *KernelCatalog::standard().codec_of(k.domain, k.op);
  const auto op = decode_for(kernel, codec, k.attributes, tunables), rule = codec.decode(k.attributes);
  const CaseRequest query(k, want, kernel.isa);
  const KernelQuery& request = query.kernel_query();
  if (kernel.supports && !kernel.supports(op.get(), request).accepted) return false;
  std::vector<Shape> shapes;
  for (const Value& v : k.inputs) shapes.push_back(v.is_tensor() ? v.tensor().shape() : Shape{});

  OpContext c(threads, k.inputs, k.outputs);
  if (kernel.packed_form)
    for (size_t i = 0; i < k.inputs.size(); ++i)
      if (request.inputs[i].constant)
        if (const auto form = kernel.packed_form(op.get(), request, i)) {
          Tensor packed(form->type, form->shape);
          const auto compact = kernel.compact_form ? kernel.compact_form(op.get(), request, i) : std::nullopt;
          Tensor smaller = compact ? Tensor(compact->type, compact->shape) : Tensor();
          if (compact && kernel.pack_compact(op.get(), request, i, smaller, c))
            packed = std::move(smaller);
          else
            kernel.pack(op.get(), request, i, packed, c);
          c.pack(i, std::move(packed));
        }
  declare_outputs(k, codec, rule.get(), c, want);
  if (e && c.results()[0].is_tensor()) c.set_epilogue(e(c.out(0).as<float>()));
  kernel.run(op.get(), c);
  EXPECT_EQ(c.max_workspace, kernel.workspace ? kernel.workspace(op.get(), shapes, threads) : 0);
  EXPECT_TRUE(c.scratch_intact());
  *results = c.results();
  return true;
}

bool usable(const Kernel& k) {
  for (Isa isa : usable_isas())
    if (k.isa == isa && k.name.ends_with("." + std::string(name_of(isa)))) return true;
  return false;
}

/// The kernel must call the epilogue once for every element of its output, when the element has its result
/// without epilogue.
void check_fused_epilogue(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want,
                          const Tunables& tunables) {
  for (int threads : {1, 3}) {
    SCOPED_TRACE("finished on threads: " + std::to_string(threads));
    std::optional<SignFlipper> flipper;
    std::vector<Value> got;
    run_kernel(kernel, k, want, threads, &got, tunables,
               [&](std::span<float> y) { return &flipper.emplace(y); });
    if (!flipper) continue;  // the shape is the kernel's to find: the runtime sees to the epilogue
    EXPECT_TRUE(flipper->once());
    std::ranges::copy(flipper->undone(), got[0].tensor().as<float>().begin());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i].tensor(), want[i].tensor())) << i;
  }
}

std::set<std::string> check(const OpCase& k) {
  std::set<std::string> took;
  std::vector<Value> want;
  for (const auto& kernel : KernelCatalog::standard().all()) {
    if (kernel->op != k.op || kernel->domain != k.domain || kernel->backend != "cpu" || !usable(*kernel))
      continue;
    SCOPED_TRACE(k.op + " '" + k.name + "' by " + kernel->name);
    if (want.empty()) want = run_reference(k);
    for (const Tunables& tunables : tunables_of(*kernel, k, want)) {
      SCOPED_TRACE(tactic_text(kernel->name, tunables));
      std::vector<Value> one, three;
      if (!run_kernel(*kernel, k, want, 1, &one, tunables)) continue;
      took.insert(kernel->name);
      for (size_t i = 0; i < want.size(); ++i) compare(k, one[i].tensor(), want[i].tensor());
      run_kernel(*kernel, k, want, 3, &three, tunables);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(same_bits(one[i].tensor(), three[i].tensor()))
            << "the bits depend on the number of threads";
      if (kernel->fuses_epilogue && want[0].tensor().type() == DataType::float32)
        check_fused_epilogue(*kernel, k, one, tunables);
    }
  }
  return took;
}

void must(const OpCase& k) {
  const std::set<std::string> took = check(k);
  for (Isa isa : usable_isas())
    EXPECT_TRUE(
        std::any_of(took.begin(), took.end(),
                    [&](const std::string& n) { return n.ends_with("." + std::string(name_of(isa))); }))
        << k.op << " '" << k.name << "' has no fast kernel for " << name_of(isa);
}

}  // namespace lathe::test
