// Every fast kernel of every instruction set against the reference kernel of its operator: over the
// operators' own cases and over shapes chosen for the paths inside the kernels. Workspace is exactly what was
// announced, and what lies around outputs and workspace stays as it was.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <set>

#include "kernel/facts.h"
#include "kernel/select.h"
#include "lathe/engine.h"
#include "ops/cases.h"
#include "support/case_model.h"
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
    most_workspace = std::max(most_workspace, bytes);
    scratch_ = Fenced((bytes + sizeof(float) - 1) / sizeof(float));
    return scratch_.data();
  }

  /// As the runtime does it: the packed form takes the place of the elements.
  void pack(size_t i, Tensor t) {
    packed_[i] = std::move(t);
    inputs_[i] = Value(Tensor::view(inputs_[i].tensor().type(), inputs_[i].tensor().shape(), nullptr));
  }
  void declare(size_t i, DataType type, const Shape& shape) { outputs_[i] = Value(Tensor(type, shape)); }
  std::vector<Value>& results() { return outputs_; }
  bool scratch_intact() const { return scratch_.intact(); }
  size_t most_workspace = 0;

 private:
  std::vector<Value> inputs_, outputs_;
  std::vector<std::optional<Tensor>> packed_;
  Fenced scratch_{0};
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

/// Through the engine, which knows the types of the outputs by inference.
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

void compare(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type(), want.type());
  ASSERT_EQ(got.shape(), want.shape());
  if (want.type() != DataType::float32) {
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
    return;
  }
  double most = 0;
  for (float x : want.as<float>())
    if (std::isfinite(x)) most = std::max<double>(most, std::abs(x));
  for (int64_t i = 0; i < want.size(); ++i) {
    const float a = got.as<float>()[static_cast<size_t>(i)], b = want.as<float>()[static_cast<size_t>(i)];
    if (std::isnan(b) || std::isinf(b))
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << a << " for " << b << " at " << i;
    else
      ASSERT_NEAR(a, b, 2e-5 * most + 1e-7) << "at " << i;
  }
}

/// Runs one kernel on a case; false when it refused.
bool run_kernel(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want, int threads,
                std::vector<Value>* results) {
  const OpCodec& codec = *KernelCatalog::standard().codec_of(k.domain, k.op);
  const auto op = decode_for(kernel, codec, k.attributes), rule = codec.decode(k.attributes);
  std::vector<KernelRequest::Operand> inputs, outputs;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < k.inputs.size(); ++i) {
    KernelRequest::Operand o;
    if (k.inputs[i].is_tensor()) {
      const Tensor& t = k.inputs[i].tensor();
      o = {true, t.type(), SymShape(t.shape().begin(), t.shape().end()), k.constant[i] ? &t : nullptr};
    }
    inputs.push_back(o);
    shapes.push_back(o.present ? k.inputs[i].tensor().shape() : Shape{});
  }
  for (const Value& v : want) {
    if (!v.is_tensor()) return false;
    outputs.push_back(
        {true, v.tensor().type(), SymShape(v.tensor().shape().begin(), v.tensor().shape().end()), nullptr});
  }
  const KernelRequest request{inputs, outputs, kernel.isa};
  if (kernel.ask && !kernel.ask(op.get(), request).accepted) return false;

  OpContext c(threads, k.inputs, k.outputs);
  if (kernel.pack)
    for (size_t i = 0; i < k.inputs.size(); ++i)
      if (inputs[i].constant)
        if (auto packed = kernel.pack(op.get(), request, i)) c.pack(i, std::move(*packed));
  declare_outputs(k, codec, rule.get(), c, want);
  kernel.run(op.get(), c);
  EXPECT_EQ(c.most_workspace, kernel.workspace ? kernel.workspace(op.get(), shapes, threads) : 0);
  EXPECT_TRUE(c.scratch_intact());
  *results = c.results();
  return true;
}

bool usable(const Kernel& k) {
  for (Isa isa : usable_isas())
    if (k.isa == isa && k.name.ends_with("." + std::string(name_of(isa)))) return true;
  return false;
}

/// Names of the kernels that took the case.
std::set<std::string> check(const OpCase& k) {
  std::set<std::string> took;
  std::vector<Value> want;
  for (const auto& kernel : KernelCatalog::standard().all()) {
    if (kernel->op != k.op || kernel->domain != k.domain || kernel->backend != "cpu" || !usable(*kernel))
      continue;
    SCOPED_TRACE(k.op + " '" + k.name + "' by " + kernel->name);
    if (want.empty()) want = run_reference(k);
    std::vector<Value> one, three;
    if (!run_kernel(*kernel, k, want, 1, &one)) continue;
    took.insert(kernel->name);
    for (size_t i = 0; i < want.size(); ++i) compare(one[i].tensor(), want[i].tensor());
    run_kernel(*kernel, k, want, 3, &three);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(std::memcmp(one[i].tensor().data(), three[i].tensor().data(), one[i].tensor().bytes()), 0)
          << "the bits depend on the number of threads";
  }
  return took;
}

/// A case that some kernel of every instruction set must take.
void must(const OpCase& k) {
  const std::set<std::string> took = check(k);
  for (Isa isa : usable_isas())
    EXPECT_TRUE(
        std::any_of(took.begin(), took.end(),
                    [&](const std::string& n) { return n.ends_with("." + std::string(name_of(isa))); }))
        << k.op << " '" << k.name << "' has no fast kernel for " << name_of(isa);
}

OpCase& add(CaseTable& t, std::string op, std::string name) { return t.add(std::move(op), std::move(name)); }

constexpr auto f32 = DataType::float32;

TEST(CpuRooms, CasesOfTheOperators) {
  CaseTable table;
  collect_all_cases(table);
  for (const OpCase& k : table.all()) {
    if (k.opset != 0 || !KernelCatalog::standard().reference_of(k.domain, k.op)) continue;
    bool tensors = true;
    for (const Value& v : k.inputs) tensors = tensors && (v.is_tensor() || v.empty());
    if (!tensors || k.inputs.empty()) continue;
    check(k);
    OpCase fixed = k;
    fixed.constant.assign(k.inputs.size(), true);
    check(fixed);
  }
}

TEST(CpuRooms, Products) {
  CaseTable t;
  for (bool constant : {false, true}) {
    const std::pair<Shape, Shape> shapes[] = {{{7, 20}, {20, 33}},
                                              {{20}, {20, 5}},
                                              {{4, 20}, {20}},
                                              {{20}, {20}},
                                              {{2, 3, 5, 8}, {8, 9}},
                                              {{2, 1, 5, 8}, {3, 8, 9}},
                                              {{5, 8}, {4, 8, 9}},
                                              {{6, 1, 8}, {6, 8, 40}},
                                              {{3, 0, 4}, {4, 5}},
                                              {{2, 3, 0}, {0, 4}},
                                              {{2, 2, 2, 3}, {2, 1, 3, 1}}};
    for (auto& [a, b] : shapes) {
      OpCase& k = add(t, "MatMul", describe(a) + describe(b)).random(f32, a).random(f32, b);
      k.constant[1] = constant;
    }
    for (int64_t ta : {0, 1})
      for (int64_t tb : {0, 1})
        for (Shape bias : {Shape{}, Shape{1}, Shape{9}, Shape{6, 1}, Shape{1, 9}, Shape{6, 9}}) {
          OpCase& k = add(t, "Gemm", describe(bias))
                          .random(f32, ta ? Shape{17, 6} : Shape{6, 17})
                          .random(f32, tb ? Shape{9, 17} : Shape{17, 9});
          k.constant[1] = constant;
          k.random(f32, bias)
              .attribute("transA", ta)
              .attribute("transB", tb)
              .attribute("alpha", 0.5f)
              .attribute("beta", 2.0f);
        }
    OpCase& plain = add(t, "Gemm", "no C").random(f32, {3, 4}).random(f32, {4, 5});
    plain.constant[1] = constant;
  }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuRooms, Convolutions) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  auto conv = [&](Shape x, Shape w) -> OpCase& {
    return add(t, "Conv", describe(x) + describe(w)).random(f32, x).random(f32, w).as_constant();
  };
  conv({2, 3, 10, 11}, {5, 3, 3, 3}).random(f32, {5}).attribute("pads", Ints{1, 1, 1, 1});
  conv({1, 4, 9, 9}, {6, 2, 3, 3}).attribute("group", int64_t{2}).attribute("strides", Ints{2, 2});
  conv({1, 6, 9, 9}, {6, 1, 3, 3})
      .attribute("group", int64_t{6})
      .attribute("auto_pad", std::string("SAME_UPPER"));
  conv({1, 6, 9, 10}, {6, 1, 5, 5})
      .attribute("group", int64_t{6})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .attribute("strides", Ints{2, 2});
  conv({1, 3, 9, 10}, {4, 3, 4, 4})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .attribute("strides", Ints{3, 3});
  conv({1, 3, 30}, {7, 3, 5}).attribute("dilations", Ints{2}).attribute("pads", Ints{3, 0});
  conv({1, 2, 5, 6, 7}, {3, 2, 3, 1, 2}).attribute("pads", Ints{1, 0, 0, 1, 0, 1});
  conv({1, 3, 4, 5, 6}, {3, 1, 1, 3, 3})
      .attribute("group", int64_t{3})
      .attribute("pads", Ints{0, 1, 1, 2, 1, 1});
  conv({0, 3, 4, 4}, {2, 3, 1, 1});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuRooms, TransposedConvolutions) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  auto conv = [&](Shape x, Shape w) -> OpCase& {
    return add(t, "ConvTranspose", describe(x) + describe(w)).random(f32, x).random(f32, w);
  };
  conv({2, 3, 5, 6}, {3, 4, 2, 2}).random(f32, {4}).attribute("strides", Ints{2, 2});
  conv({1, 4, 5, 6}, {4, 2, 3, 3})
      .attribute("group", int64_t{2})
      .attribute("strides", Ints{2, 3})
      .attribute("pads", Ints{1, 0, 2, 1})
      .attribute("output_padding", Ints{1, 1});
  conv({1, 6, 7, 9}, {6, 1, 3, 5}).attribute("group", int64_t{6}).attribute("dilations", Ints{2, 1});
  conv({1, 3, 5, 4}, {3, 2, 4, 4})
      .attribute("auto_pad", std::string("SAME_UPPER"))
      .attribute("strides", Ints{2, 2});
  conv({1, 3, 20}, {3, 5, 4}).attribute("strides", Ints{3}).attribute("pads", Ints{3, 2});
  conv({2, 2, 3, 4, 5}, {2, 3, 2, 1, 3}).attribute("strides", Ints{1, 2, 2});
  conv({0, 2, 3, 4}, {2, 3, 2, 2});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuRooms, EinsumsOfMatrices) {
  CaseTable t;
  auto einsum = [&](const char* equation, Shape a, Shape b) {
    add(t, "Einsum", equation).random(f32, a).random(f32, b).attribute("equation", std::string(equation));
  };
  einsum("b h i d, b h j d -> b h i j", {2, 3, 7, 5}, {2, 3, 9, 5});
  einsum("bhij,bhjd->bhid", {2, 3, 7, 9}, {2, 3, 9, 17});
  einsum("kim,kn->imn", {6, 3, 4}, {6, 5});
  einsum("ik,jk", {3, 40}, {5, 40});
  einsum("i,j->ij", {30}, {4});
  einsum("ij,ij->", {3, 4}, {3, 4});
  einsum("bik,bkj->bij", {0, 3, 4}, {0, 4, 2});
  for (const OpCase& k : t.all()) must(k);
  CaseTable others;
  std::swap(t, others);
  einsum("bij,bjk->ikb", {2, 3, 4}, {2, 4, 5});
  einsum("ii,ij->j", {3, 3}, {3, 4});
  einsum("ij,jk->ik", {3, 1}, {4, 5});
  einsum("...ij,...jk->...ik", {2, 3, 4}, {2, 4, 5});
  for (const OpCase& k : t.all()) EXPECT_TRUE(check(k).empty()) << k.name;
}

TEST(CpuRooms, Pools) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  for (std::string op : {"MaxPool", "AveragePool"}) {
    auto pool = [&](Shape x, Ints kernel) -> OpCase& {
      return add(t, op, describe(x)).random(f32, x).attribute("kernel_shape", kernel);
    };
    pool({2, 3, 12, 13}, {2, 2}).attribute("strides", Ints{2, 2});
    pool({1, 2, 7, 30}, {3, 3})
        .attribute("strides", Ints{2, 2})
        .attribute("pads", Ints{1, 1, 1, 1})
        .attribute("ceil_mode", int64_t{1});
    pool({1, 2, 8, 8}, {3, 3})
        .attribute("auto_pad", std::string("SAME_UPPER"))
        .attribute("strides", Ints{2, 2});
    pool({1, 2, 40}, {5}).attribute("strides", Ints{3}).attribute("pads", Ints{2, 2});
    pool({1, 2, 9, 9}, {2, 3}).attribute("dilations", Ints{2, 3});
    if (op == "AveragePool")
      pool({1, 2, 7, 7}, {3, 3})
          .attribute("pads", Ints{1, 1, 1, 1})
          .attribute("count_include_pad", int64_t{1})
          .attribute("ceil_mode", int64_t{1})
          .attribute("strides", Ints{2, 2});
  }
  add(t, "GlobalAveragePool", "7x7").random(f32, {2, 5, 7, 7});
  add(t, "GlobalMaxPool", "7x7").random(f32, {2, 5, 7, 7});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuRooms, Recurrent) {
  CaseTable t;
  for (std::string op : {"LSTM", "GRU"})
    for (std::string direction : {"forward", "reverse", "bidirectional"})
      for (int64_t linear : {0, 1}) {
        if (op == "LSTM" && linear) continue;
        const int64_t d = direction == "bidirectional" ? 2 : 1, gates = op == "LSTM" ? 4 : 3;
        for (auto [seq, batch, input, hidden] :
             {std::array<int64_t, 4>{5, 3, 7, 19}, {4, 1, 16, 32}, {1, 15, 3, 5}, {6, 2, 40, 130}}) {
          OpCase& k = add(t, op, direction + std::to_string(hidden) + (linear ? " linear" : ""));
          k.random(f32, {seq, batch, input}).random(f32, {d, gates * hidden, input}).as_constant();
          k.random(f32, {d, gates * hidden, hidden}).as_constant().random(f32, {d, 2 * gates * hidden});
          if (batch == 3)
            k.input<int32_t>({3}, {5, 0, 2});
          else
            k.absent();
          if (batch > 1) k.random(f32, {d, batch, hidden});
          if (batch > 1 && op == "LSTM") k.random(f32, {d, batch, hidden});
          if (batch == 2) k.attribute("clip", 0.5f);
          if (batch == 15 || batch == 3) {
            std::vector<std::string> names;
            for (int64_t i = 0; i < d; ++i)
              for (const char* f : {"HardSigmoid", "Tanh", "Tanh"})
                if (names.size() < static_cast<size_t>(d) * (op == "LSTM" ? 3 : 2)) names.push_back(f);
            if (op == "GRU" && d == 2) names = {"HardSigmoid", "Tanh", "HardSigmoid", "Tanh"};
            k.attribute("activations", names);
            if (batch == 3)
              k.attribute("activation_alpha", std::vector<float>(static_cast<size_t>(d), 0.3f))
                  .attribute("activation_beta", std::vector<float>(static_cast<size_t>(d), 0.4f));
          }
          k.attribute("hidden_size", hidden)
              .attribute("direction", direction)
              .outputs_wanted(op == "LSTM" ? 3 : 2);
          if (op == "GRU") k.attribute("linear_before_reset", linear);
        }
      }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuRooms, AlongAnAxis) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  for (std::string op : {"Softmax", "LogSoftmax"})
    for (int64_t axis : {-1, 0, 1}) {
      add(t, op, "axis " + std::to_string(axis)).random(f32, {5, 7, 35}, -4, 4).attribute("axis", axis);
      add(t, op, "short, axis " + std::to_string(axis))
          .random(f32, {3, 2, 1}, -90, 90)
          .attribute("axis", axis);
    }
  for (std::string op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"})
    for (Ints axes : {Ints{}, Ints{0}, Ints{-1}, Ints{1}, Ints{2, 1}, Ints{0, 1}}) {
      OpCase& k = add(t, op, describe(Shape(axes.begin(), axes.end()))).random(f32, {4, 9, 37});
      if (!axes.empty()) k.input<int64_t>({static_cast<int64_t>(axes.size())}, axes).as_constant();
    }
  add(t, "ReduceSum", "one long row").random(f32, {600000}).attribute("keepdims", int64_t{0});
  for (int64_t axis : {-1, 1}) {
    const Shape row = axis == 1 ? Shape{6, 21} : Shape{21};
    add(t, "LayerNormalization", "axis " + std::to_string(axis))
        .random(f32, {3, 6, 21})
        .random(f32, row)
        .random(f32, row)
        .attribute("axis", axis)
        .outputs_wanted(3);
    add(t, "RMSNormalization", "axis " + std::to_string(axis))
        .random(f32, {3, 6, 21})
        .random(f32, row)
        .attribute("axis", axis);
  }
  add(t, "InstanceNormalization", "5x6").random(f32, {2, 3, 5, 6}).random(f32, {3}).random(f32, {3});
  add(t, "BatchNormalization", "5x6")
      .random(f32, {2, 3, 5, 6})
      .random(f32, {3})
      .random(f32, {3})
      .random(f32, {3})
      .random(f32, {3}, 0.5, 2);
  for (const OpCase& k : t.all()) must(k);
}

/// Sums of thousands of terms whose rounding errors would add up, in one order or another.
TEST(CpuRooms, LongSumsKeepTheirDigits) {
  constexpr int64_t n = 5000;
  for (const Shape& shape : {Shape{n, 3}, Shape{n, 40}, Shape{1, n}, Shape{2, n}})
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1"}) {
      const int64_t axis = shape[0] == n ? 0 : 1;
      CaseTable t;
      OpCase& k = add(t, op, describe(shape)).random(f32, shape, 1, 2);
      k.input<int64_t>({1}, {axis}).as_constant();
      const Tensor want = run_reference(k)[0].tensor();
      for (const auto& kernel : KernelCatalog::standard().all()) {
        if (kernel->op != op || kernel->backend != "cpu" || !usable(*kernel)) continue;
        std::vector<Value> got;
        ASSERT_TRUE(run_kernel(*kernel, k, {Value(want)}, 1, &got));
        for (size_t i = 0; i < static_cast<size_t>(want.size()); ++i) {
          const double w = want.as<float>()[i];
          EXPECT_NEAR(got[0].tensor().as<float>()[i], w, 4 * 0x1p-24 * w) << kernel->name << describe(shape);
        }
      }
    }
}

TEST(CpuRooms, MovesOfElements) {
  CaseTable t;
  using Ints = std::vector<int64_t>;
  const auto numbers = [](OpCase& k, const Ints& list) {
    k.input<int64_t>({static_cast<int64_t>(list.size())}, list);
  };
  for (DataType type : {f32, DataType::int8, DataType::float16, DataType::int64}) {
    for (int64_t axis : {0, 1, -1}) {
      Shape part{3, 4, 5};
      OpCase& joined = add(t, "Concat", "axis").random(type, part).attribute("axis", axis);
      part[static_cast<size_t>(axis < 0 ? 2 : axis)] = 0;
      joined.random(type, part);
      part[static_cast<size_t>(axis < 0 ? 2 : axis)] = 70;
      joined.random(type, part);
      add(t, "Split", "even")
          .random(type, {6, 8, 10})
          .attribute("axis", axis)
          .attribute("num_outputs", int64_t{2})
          .outputs_wanted(2);
      OpCase& gathered = add(t, "Gather", "some").random(type, {4, 5, 7}).attribute("axis", axis);
      gathered.input<int64_t>({2, 3}, {3, -1, 0, 2, -4, 1});
    }
    for (const auto& [starts, ends, steps] :
         std::vector<std::array<Ints, 3>>{{{{0, 1, 2}, {5, 4, 9}, {1, 1, 1}}},
                                          {{{-1, 0, 1}, {-99, 99, 99}, {-2, 3, 2}}},
                                          {{{0, 2, 0}, {99, 2, 99}, {1, 1, 1}}}}) {
      OpCase& k = add(t, "Slice", "three axes").random(type, {6, 5, 300});
      numbers(k, starts);
      numbers(k, ends);
      numbers(k, {0, 1, 2});
      numbers(k, steps);
    }
    for (const Shape& shape : {Shape{1, 5, 1}, Shape{3, 1, 200}, Shape{}, Shape{3, 5, 200}})
      numbers(add(t, "Expand", describe(shape)).random(type, shape), {2, 3, 5, 200});
    numbers(add(t, "Tile", "all").random(type, {2, 3, 40}), {3, 1, 2});
    numbers(add(t, "Tile", "none").random(type, {2, 3, 4}), {3, 0, 2});
    for (std::string mode : {"constant", "edge", "reflect", "wrap"})
      for (const Ints& pads : {Ints{0, 1, 2, 0, 3, 1}, Ints{1, -1, 7, 0, 2, -3}, Ints{0, 0, 0, 0, 0, 0},
                               Ints{-1, -2, -1, -1, 0, -1}}) {
        OpCase& k = add(t, "Pad", mode).random(type, {4, 5, 6}).attribute("mode", mode);
        numbers(k, pads);
        if (mode == "constant" && type != f32) k.random(type, {});
      }
    for (std::string mode : {"DCR", "CRD"})
      for (const char* op : {"DepthToSpace", "SpaceToDepth"})
        add(t, op, mode)
            .random(type, {2, 18, 6, 9})
            .attribute("blocksize", int64_t{3})
            .attribute("mode", mode);
  }
  for (const OpCase& k : t.all())
    EXPECT_EQ(check(k).size(), k.op == "Pad" && k.name == "wrap" ? 0u : 1u) << k.op << k.name;
}

TEST(CpuRooms, Resizes) {
  using Floats = std::vector<float>;
  CaseTable t;
  for (std::string mode : {"nearest", "linear"})
    for (std::string coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})
      for (const Floats& scales :
           {Floats{1, 1, 2, 2}, Floats{1, 1, 0.6f, 1.7f}, Floats{1, 2, 1, 1}, Floats{1, 1, 3, 1}}) {
        OpCase& k = add(t, "Resize", mode + " " + coordinates).random(f32, {2, 3, 7, 9}).absent();
        k.input<float>({4}, scales).as_constant();
        k.attribute("mode", mode).attribute("coordinate_transformation_mode", coordinates);
        if (mode == "nearest" && scales[2] == 2) k.attribute("nearest_mode", std::string("floor"));
      }
  add(t, "Resize", "bytes")
      .random(DataType::uint8, {1, 2, 5, 6}, 0, 255)
      .absent()
      .input<float>({4}, {1, 1, 1.5f, 2});
  add(t, "Resize", "sizes").random(f32, {1, 2, 5, 6}).absent().absent().input<int64_t>({4}, {1, 2, 11, 3});
  add(t, "Resize", "volume")
      .random(f32, {1, 2, 3, 4, 5})
      .absent()
      .input<float>({5}, {1, 1, 2, 2, 2})
      .attribute("mode", std::string("linear"));
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), 1u) << k.name;
}

// Longer than single precision can count.
TEST(CpuRooms, ResizeLeavesLongAxesAsTheyAre) {
  constexpr int64_t n = (int64_t{1} << 24) + 5;
  Tensor x(DataType::uint8, {n, 1});
  const auto from = x.as<uint8_t>();
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i % 251);
  OpCase k;
  k.op = "Resize";
  k.input(Value(x)).absent().input<float>({2}, {1, 2}).as_constant();
  const std::vector<Value> y = run_reference(k);
  ASSERT_EQ(y[0].tensor().shape(), (Shape{n, 2}));
  const auto to = y[0].tensor().as<uint8_t>();
  bool same = true;
  for (size_t i = 0; i < from.size(); ++i) same &= to[2 * i] == from[i] && to[2 * i + 1] == from[i];
  EXPECT_TRUE(same);
  EXPECT_EQ(check(k).size(), 1u);
}

TEST(CpuRooms, NarrowTypes) {
  CaseTable t;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> special{0.5f,   1.5f,  -2.5f, 127.5f, 1e9f, -1e9f, 3e18f,
                                   -9e18f, 1e30f, inf,   -inf,   nan,  -0.0f, 254.9f};
  for (int64_t to : {1, 2, 3, 6, 7, 9}) {
    add(t, "Cast", "special").input<float>({14}, special).attribute("to", to);
    for (DataType from :
         {DataType::int32, DataType::int64, DataType::int8, DataType::uint8, DataType::boolean})
      add(t, "Cast", "from " + std::string(name_of(from)))
          .random(from, {3, 70}, -300, 300)
          .attribute("to", to);
  }
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), 1u) << k.name;
  CaseTable q;
  for (DataType type : {DataType::int8, DataType::uint8}) {
    const auto zeros = [&](OpCase& k, Shape shape) {
      k.random(type, std::move(shape), type == DataType::int8 ? -100 : 0, 100);
    };
    OpCase& one =
        add(q, "QuantizeLinear", "one scale").random(f32, {3, 300}, -2, 2).input<float>({}, {0.013f});
    zeros(one, {});
    OpCase& odd = add(q, "QuantizeLinear", "special").input<float>({14}, special).input<float>({}, {1});
    zeros(odd, {});
    for (int64_t axis : {0, 1, -1}) {
      const int64_t n = axis == 0 ? 2 : axis == 1 ? 5 : 37;
      OpCase& many = add(q, "QuantizeLinear", "axis")
                         .random(f32, {2, 5, 37}, -2, 2)
                         .random(f32, {n}, 0.01, 0.1)
                         .attribute("axis", axis);
      zeros(many, {n});
      OpCase& back = add(q, "DequantizeLinear", "axis")
                         .random(type, {2, 5, 37}, 0, 100)
                         .random(f32, {n}, 0.01, 0.1)
                         .attribute("axis", axis);
      zeros(back, {n});
    }
  }
  add(q, "DequantizeLinear", "int32")
      .input<int32_t>({4}, {INT32_MAX, INT32_MIN, 5, -7})
      .random(f32, {1})
      .input<int32_t>({1}, {0});
  for (const OpCase& k : q.all()) EXPECT_FALSE(check(k).empty()) << k.name;
}

TEST(CpuRooms, Transposes) {
  CaseTable t;
  using Ints = std::vector<int64_t>;
  auto transpose = [&](DataType type, Shape shape, Ints perm) {
    add(t, "Transpose", describe(shape) + describe(Shape(perm.begin(), perm.end())))
        .random(type, shape)
        .attribute("perm", perm);
  };
  for (DataType type : {f32, DataType::int8, DataType::float16, DataType::int64}) {
    transpose(type, {70, 45}, {1, 0});
    transpose(type, {2, 5, 3, 8}, {0, 2, 1, 3});
    transpose(type, {2, 5, 3, 40}, {0, 2, 3, 1});
    transpose(type, {3, 4, 5, 6}, {3, 1, 0, 2});
    transpose(type, {3, 1, 5, 6}, {2, 0, 1, 3});
    transpose(type, {3, 0, 5}, {2, 0, 1});
    transpose(type, {4, 5, 6}, {0, 1, 2});
  }
  std::vector<std::complex<double>> wide(6 * 35);
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = {static_cast<double>(i), 0.5};
  add(t, "Transpose", "sixteen bytes").input<std::complex<double>>({6, 35}, wide);
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), 1u) << k.name;
}

TEST(CpuRooms, Elementwise) {
  CaseTable t;
  for (std::string op :
       {"Abs",  "Neg",  "Reciprocal",      "Exp",   "Erf",      "Floor",       "Ceil",    "Round",
        "Tanh", "Relu", "HardSwish",       "Mish",  "Softplus", "Softsign",    "Sigmoid", "LeakyRelu",
        "Elu",  "Celu", "ThresholdedRelu", "Swish", "Selu",     "HardSigmoid", "Gelu"})
    add(t, op, "17").random(f32, {3, 17}, -6, 6);
  for (std::string op : {"Sqrt", "Log"}) add(t, op, "17").random(f32, {3, 17}, 0, 6);
  add(t, "Gelu", "tanh").random(f32, {35}, -6, 6).attribute("approximate", std::string("tanh"));
  add(t, "Clip", "both").random(f32, {35}, -6, 6).random(f32, {}, -1, 0).random(f32, {}, 0, 1);
  add(t, "Clip", "high").random(f32, {35}, -6, 6).absent().random(f32, {}, 0, 1);
  add(t, "PRelu", "channels").random(f32, {2, 3, 4}).random(f32, {3, 1});
  for (std::string op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum"})
    add(t, op, "broadcast").random(f32, {2, 3, 1, 9}, 1, 2).random(f32, {3, 5, 1}, 1, 2);
  for (std::string op : {"Add", "Sub", "Mul"})
    add(t, op, "integers").input<int64_t>({2, 1}, {3, -4}).input<int64_t>({3}, {7, 0, INT64_MAX});
  for (float e : {2.0f, 3.0f, 1.0f, -1.0f, 0.5f, 1.7f})
    add(t, "Pow", std::to_string(e)).random(f32, {19}, 0.5, 3).input<float>({}, {e}).as_constant();
  add(t, "Pow", "broadcast").random(f32, {5, 19}, 0.5, 3).random(f32, {5, 1}, -3, 3);
  add(t, "Pow", "signs")
      .input<float>({6}, {-2, -2, 0, 0, -0.0f, 2})
      .input<float>({6}, {3, 0.5f, 0, -1, 3, -1e3f});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuRooms, IntegersAndTruths) {
  CaseTable t;
  const std::vector<int64_t> wide{3, -4, 0, INT64_MAX, INT64_MIN, -1};
  const std::vector<bool> truths{true, false, false, true, true, false};
  for (std::string op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    add(t, op, "int64").input<int64_t>({6}, wide).input<int64_t>({6, 1}, wide);
    add(t, op, "int32").input<int32_t>({3}, {1, 2, 3}).input<int32_t>({}, {2});
    add(t, op, "NaN").input<float>({3}, {1, NAN, -0.0f}).input<float>({3}, {1, NAN, 0});
  }
  for (std::string op : {"And", "Or", "Xor"})
    add(t, op, "both").input<bool>({6}, truths).input<bool>({6, 1}, truths);
  add(t, "Not", "six").input<bool>({6}, truths);
  for (std::string op : {"Neg", "Abs"}) {
    add(t, op, "int64").input<int64_t>({6}, wide);
    add(t, op, "int32").input<int32_t>({3}, {INT32_MIN, 5, -5});
  }
  add(t, "Div", "int64").input<int64_t>({6}, wide).input<int64_t>({4, 1}, {-1, 7, -3, INT64_MIN});
  add(t, "ScatterND", "rows").random(f32, {4, 5, 6}).input<int64_t>({2, 1}, {3, -4}).random(f32, {2, 5, 6});
  add(t, "ScatterND", "elements")
      .random(DataType::int8, {4, 5})
      .input<int64_t>({3, 2}, {0, 1, 3, -1, 0, 1})
      .random(DataType::int8, {3});
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), 1u) << k.op << k.name;
}

}  // namespace
}  // namespace lathe::test
