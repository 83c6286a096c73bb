// Tests `verify` with healthy toolchains, and with ones that have a planted fault: it names the faulty part,
// and the model that it cuts out fails again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compiler/lowering_passes.h"
#include "kernel/select.h"
#include "lathe/lathe.h"
#include "runtime/engine_impl.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "verify/build_variants.h"
#include "verify/synthetic_inputs.h"
#include "verify/tolerance.h"
#include "verify/verify_model.h"

namespace lathe {

void register_all_references(KernelCatalog& all);
void register_all_cpu_kernels(KernelCatalog& all);

namespace LATHE_TEST_FILE {

using Fault = VerifyReport::Fault;
using testing::code_of;

onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto =
      onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 24]> g " + std::string(text));
  for (auto& n : m.proto.graph->node) n.name = "make_" + n.output[0];
  return m;
}

/// x·w + b, a Gelu decomposed, an Identity and a LayerNormalization in its.
onnx::Model layers() {
  return model_of(
      "(float[n,4] x) => (float[n,4] y) <float[4,4] w = {1,2,3,4,-1,2,0.5,1,3,0.25,1,-2,0.125,1,2,-3}, "
      "float[4] "
      "b = {1,2,3,4}, float r = {1.4142135}, float one = {1}, float h = {0.5}, int64[1] a = {-1}, float e = "
      "{0.001}, float two = {2}>"
      "{ i = Identity(x) p = MatMul(i, w) s = Add(p, b) d = Div(s, r) f = Erf(d) q = Add(f, one) m = Mul(s, "
      "q) "
      "g = Mul(m, h) t = Tanh(g) u = Add(t, x) v = Mul(u, two) y = Softsign(v) }");
}

/// The steps that an engine of the reproduction has, and whether it is wrong again.
struct Again {
  std::vector<std::string> ops;
  bool wrong = false;
};
Again again(const Fault& f, const Toolchain& chain) {
  const testing::TempDirectory dir;
  save_reproduction(f, dir.path());
  const onnx::Model model = onnx::Model::load(dir.path() / "reproduce.onnx");
  EXPECT_TRUE(check(model).empty());
  const BuildVariants variants({}, chain.extensions ? chain.extensions : Extensions::none(), chain.passes,
                               chain.lowering);
  const auto graph = variants.import(model);
  Again a;
  for (NodeId id : graph->order()) a.ops.push_back(graph->node(id).op);
  NamedValues inputs;
  for (size_t i = 0; i < f.inputs.size(); ++i)
    inputs[f.inputs[i].first] = load_value(dir.path() / ("input_" + std::to_string(i) + ".npy"));
  try {
    const NamedValues got =
        variants.engine(variants.optimized(*graph, f.level), f.level).create_context().run(inputs);
    for (size_t i = 0; i < f.expected.size(); ++i) {
      const Value want = load_value(dir.path() / ("expected_" + std::to_string(i) + ".npy"));
      a.wrong |=
          !compare(got.at(f.expected[i].first), want, std::min(f.atol, 1e-5), std::min(f.rtol, 1e-3)).equal;
    }
  } catch (const Error&) {
    a.wrong = true;
  }
  return a;
}

/// All kernels there are, and more.
std::shared_ptr<const Extensions> kernels_with(Kernel more) {
  // Kept for the whole program, as the library's own are.
  auto* all = new KernelCatalog;
  register_all_references(*all);
  register_all_cpu_kernels(*all);
  more.isa = choose_isa("");
  more.priority = 1000;
  all->add(std::move(more));
  return Extensions::of(*all);
}

/// A Tanh that is off by a tenth where there are at least `from` elements.
Kernel bad_tanh(int64_t from = 0) {
  Kernel k{.op = "Tanh", .name = "tanh.bad"};
  k.run = [from](const void*, KernelContext& c) {
    for (size_t i = 0; i < static_cast<size_t>(c.in(0).size()); ++i)
      c.out(0).as<float>()[i] = std::tanh(c.in(0).as<float>()[i]) + (c.in(0).size() >= from ? 0.1f : 0.0f);
  };
  return k;
}

/// A MatMul that declares to run an epilogue, but does not.
Kernel forgetful_matmul() {
  Kernel k{.op = "MatMul", .name = "matmul.forgetful", .fuses_epilogue = true};
  k.supports = [](const void*, const KernelQuery& r) {
    return r.inputs[0].shape && r.inputs[0].shape->size() == 2 ? Support::yes() : Support::no("rank");
  };
  k.run = [](const void*, KernelContext& c) {
    const Tensor &a = c.in(0), &b = c.in(1);
    const int64_t rows = a.dim(0), inner = a.dim(1), columns = b.dim(1);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += a.as<float>()[static_cast<size_t>(i * inner + k)] *
                 b.as<float>()[static_cast<size_t>(k * columns + j)];
        c.out(0).as<float>()[static_cast<size_t>(i * columns + j)] = sum;
      }
  };
  return k;
}

TEST(Verify, AHealthyModelHasNoFault) {
  const VerifyReport r = verify(layers());
  EXPECT_FALSE(r.fault);
  EXPECT_TRUE(r.untried.empty()) << r.untried[0];
  EXPECT_EQ(r.trials.size(), 4u * 4 * 8);  // levels, shapes, kinds of values
  for (const auto& t : r.trials) {
    EXPECT_FALSE(t.amplified) << t.shapes << ' ' << t.values;
    EXPECT_LT(t.difference, 1e-4);
  }
}

// Softmax gives NaN where Attention gives 0; masks are added there and selected here, which infinite scores
// show.
TEST(Verify, QueriesThatSeeNoKeyAreNoFault) {
  for (const std::string masked :
       {"w = Where(m, s, low)", "b = Where(m, zero, low) w = Add(s, b)", "w = Where(m, s, least)"}) {
    onnx::Model model;
    model.proto = onnx::from_text<onnx::ModelProto>(
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, "
        "bool[1,1,3,3] m) => (float[1,2,3,4] y) <float low = {-inf}, float least = {-3.4028235e38}, float "
        "zero = {0}> "
        "{ t = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, t) " +
        masked + " p = Softmax<axis=-1>(w) y = MatMul(p, v) }");
    const auto optimized = optimize(model, {}).model.proto.graph->node;
    ASSERT_EQ(optimized.back().op_type, "Attention");
    for (uint64_t seed = 0; seed < 3; ++seed) {
      VerifyOptions o;
      o.seed = seed;
      const VerifyReport r = verify(model, o);
      EXPECT_FALSE(r.fault) << masked << ": " << r.fault->pass;
    }
  }
}

TEST(Verify, ABrokenPassIsNamed) {
  PassList list = all_passes();
  list.push_back({.name = "swap-operands",
                  .description = "takes the wrong side of a residual",
                  .level = OptimizationLevel::extended,
                  .anchors = {"Add"},
                  .propose = [](const View& view, NodeId id) -> std::optional<Patch> {
                    const Node& n = view.node(id);
                    if (!view.made_by(n.inputs[0], "Tanh")) return std::nullopt;
                    Patch p("a residual is a difference");
                    p.replace_uses(n.outputs[0], p.add("Sub", n.inputs));
                    p.remove(id);
                    return p;
                  }});
  const Toolchain chain{.passes = &list};
  const VerifyReport r = verify_model(layers(), {}, chain);
  ASSERT_TRUE(r.fault);
  const Fault& f = *r.fault;
  EXPECT_EQ(f.kind, Fault::Kind::pass);
  EXPECT_EQ(f.pass, "swap-operands");
  EXPECT_EQ(f.reason, "a residual is a difference");
  EXPECT_EQ(f.level, OptimizationLevel::extended);
  EXPECT_EQ(f.nodes, std::vector<std::string>{"make_u"});
  EXPECT_EQ(f.diagnostic.node, "make_u");
  EXPECT_EQ(f.diagnostic.op, "Add");
  EXPECT_NE(f.diagnostic.remedy.find("--passes=-swap-operands"), std::string::npos);
  EXPECT_TRUE(f.confirmed);
  const Again a = again(f, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, (std::vector<std::string>{"Tanh", "Add"})) << "the pattern, and nothing else";
}

TEST(Verify, SeesNaNOfOneOperandAlone) {
  PassList list = all_passes();
  list.push_back({.name = "choose-by-products",
                  .description = "forgets that what is not chosen may be NaN",
                  .level = OptimizationLevel::basic,
                  .anchors = {"Where"},
                  .propose = [](const View& view, NodeId id) -> std::optional<Patch> {
                    const Node& n = view.node(id);
                    if (view.made_by(n.inputs[0], "Not")) return std::nullopt;
                    const auto number = [](Patch& p, ValueId condition) {
                      Attributes to;
                      to.set("to", static_cast<int64_t>(DataType::float32));
                      return p.add("Cast", {condition}, to);
                    };
                    Patch p("one of two products is zero");
                    const ValueId first = p.add("Mul", {number(p, n.inputs[0]), n.inputs[1]}),
                                  no = number(p, p.add("Not", {n.inputs[0]})),
                                  second = p.add("Mul", {no, n.inputs[2]});
                    p.replace_uses(n.outputs[0], p.add("Add", {first, second}));
                    p.remove(id);
                    return p;
                  }});
  const Toolchain chain{.passes = &list};
  const VerifyReport r = verify_model(
      model_of("(bool[40] c, float[40] a, float[40] b) => (float[40] y) { y = Where(c, a, b) }"), {}, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->pass, "choose-by-products");
  EXPECT_EQ(r.fault->values, "non-finite");
}

TEST(Verify, ABrokenPassInABodyIsNamed) {
  PassList list = all_passes();
  list.push_back({.name = "drop-neg",
                  .description = "forgets a sign",
                  .level = OptimizationLevel::basic,
                  .anchors = {"Neg"},
                  .propose = [](const View& view, NodeId id) -> std::optional<Patch> {
                    const Node& n = view.node(id);
                    Patch p("no sign");
                    p.replace_uses(n.outputs[0], p.add("Abs", n.inputs));
                    p.remove(id);
                    return p;
                  }});
  const Toolchain chain{.passes = &list};
  const VerifyReport r = verify_model(
      model_of(
          "(float[3] x, bool c) => (float[3] y) { k = Exp(x) z = If(c) <then_branch = t () => (float[3] a)"
          "{ i = Abs(k) a = Neg(i) }, else_branch = e () => (float[3] b) { b = Neg(k) }> y = Sin(z) }"),
      {}, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->pass, "drop-neg");
  EXPECT_TRUE(r.fault->confirmed);
  const Again a = again(*r.fault, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, std::vector<std::string>{"If"});
}

TEST(Verify, ABrokenLoweringPassIsNamed) {
  std::vector<LoweringPass> list = lowering_passes();
  // Behind the optimizer, in the graph of the plan alone.
  list.insert(list.begin() + 2, {.name = "wrong-sign",
                                 .description = "forgets the sign of a tangent",
                                 .target = "cpu",
                                 .run = [](LoweringContext&, Graph& g) {
                                   bool any = false;
                                   for (NodeId id : g.order()) {
                                     Node& n = g.node(id);
                                     if (n.op != "Tanh") continue;
                                     n.op = "Sin";
                                     any = true;
                                   }
                                   return any;
                                 }});
  const Toolchain chain{.lowering = &list};
  const VerifyReport r = verify_model(layers(), {}, chain);
  ASSERT_TRUE(r.fault);
  const Fault& f = *r.fault;
  EXPECT_EQ(f.pass, "wrong-sign") << f.diagnostic.message();
  EXPECT_EQ(f.level, OptimizationLevel::all);
  EXPECT_EQ(f.diagnostic.op, "Tanh");
  EXPECT_EQ(f.diagnostic.remedy, "--passes=-wrong-sign leaves it out; please report it");
  EXPECT_TRUE(f.confirmed);
  EXPECT_TRUE(again(f, chain).wrong);
  EXPECT_FALSE(verify_model(layers(), {}).fault);
}

TEST(Verify, ABrokenKernelIsNamed) {
  const Toolchain chain{.extensions = kernels_with(bad_tanh())};
  const VerifyReport r = verify_model(layers(), {}, chain);
  ASSERT_TRUE(r.fault);
  const Fault& f = *r.fault;
  EXPECT_EQ(f.kind, Fault::Kind::kernel);
  EXPECT_EQ(f.kernel, "tanh.bad");
  EXPECT_EQ(f.nodes, std::vector<std::string>{"make_t"});
  EXPECT_EQ(f.level, OptimizationLevel::none);
  EXPECT_EQ(f.diagnostic.code, Code::internal);
  EXPECT_EQ(f.diagnostic.stage, "verify");
  EXPECT_EQ(f.diagnostic.op, "Tanh");
  EXPECT_FALSE(f.diagnostic.expected.empty());
  EXPECT_TRUE(f.confirmed);
  const Again a = again(f, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, std::vector<std::string>{"Tanh"});
}

/// x·w, where the last of eight features is large and counts for the first column alone.
onnx::Model one_large_feature(std::vector<Value>& recorded) {
  onnx::Model m = model_of("(float[n,8] x) => (float[n,200] y) <float[8,200] w = {}> { y = MatMul (x, w) }");
  Tensor w(DataType::float32, {8, 200}), x(DataType::float32, {30, 8});
  for (int64_t i = 0; i < w.size(); ++i)
    w.as<float>()[static_cast<size_t>(i)] = i == 1400  ? 1.0f
                                            : i > 1400 ? 0.0f
                                                       : static_cast<float>(i % 13) / 16;
  for (int64_t i = 0; i < x.size(); ++i)
    x.as<float>()[static_cast<size_t>(i)] = i % 8 == 7 ? 1e4f : static_cast<float>(i % 5) / 4;
  for (auto& t : m.proto.graph->initializer)
    if (t.name == "w") t.raw_data = std::string(reinterpret_cast<const char*>(w.data()), w.bytes());
  recorded = {Value(x)};
  return m;
}

/// Beside the largest result the tolerance hides it, but the error bound of kernels that multiply sums does
/// not.
/// Keys and values of a decoder, of which the keys are read by a sum too.
onnx::Model decoder() {
  return model_of(
      "(float[n,2,s,4] q, float[n,2,s,4] k, float[n,2,p,4] past_k, float[n,2,p,4] past_v) => "
      "(float[n,2,s,4] y, float[n,2,t,4] present_k, float[n,2,t,4] present_v, float[n,2,u,4] z) {\n"
      "present_k = Concat<axis = 2>(past_k, k)\npresent_v = Concat<axis = 2>(past_v, k)\n"
      "x = Transpose<perm = [0, 1, 3, 2]>(present_k)\ns = MatMul(q, x)\nw = Softmax(s)\ny = MatMul(w, "
      "present_v)\n"
      "z = Abs(present_k)\n}");
}

TEST(Verify, EnginesWithStatesAreComparedToo) {
  VerifyOptions o;
  o.build.states = {{"past_*", "present_*"}};
  const VerifyReport r = verify(decoder(), o);
  EXPECT_FALSE(r.fault);
  EXPECT_GT(r.trials.size(), 50u);
  o.build.states = {{"past_*", "nothing_*"}};
  EXPECT_EQ(code_of([&] { verify(decoder(), o); }), Code::build_bad_state);
}

TEST(Verify, AStateThatIsAppendedWronglyIsNamed) {
  Kernel bad{.op = "Append", .domain = "lathe", .name = "append.bad", .takes_states = 1, .appends = {{0, 0}}};
  bad.run = [](const void*, KernelContext& c) {
    const Tensor& added = c.in(1);
    if (added.size() > 0)
      std::memset(c.out(0).data(), 0, sizeof(float));  // the first element of the old ones
  };
  VerifyOptions o;
  o.build.states = {{"past_k", "present_k"}};
  const VerifyReport r = verify_model(decoder(), o, {.extensions = kernels_with(std::move(bad))});
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->kernel, "append.bad");
}

TEST(Verify, AKernelThatLosesSmallNumbersBesideLargeOnesIsNamed) {
  std::vector<Value> recorded;
  const onnx::Model model = one_large_feature(recorded);
  Kernel rough = forgetful_matmul();
  rough.name = "matmul.strassen.rough", rough.fuses_epilogue = false;
  rough.run = [plain = rough.run](const void* op, KernelContext& c) {
    plain(op, c);
    for (float& y : c.out(0).as<float>()) y += 0.125f;
  };
  const Toolchain chain{.extensions = kernels_with(std::move(rough))};
  VerifyOptions options;
  options.recorded = {{{"x", recorded[0]}}};
  const VerifyReport r = verify_model(model, options, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->kind, Fault::Kind::kernel);
  EXPECT_EQ(r.fault->kernel, "matmul.strassen.rough");
  EXPECT_EQ(r.fault->values, "recorded");
  EXPECT_EQ(r.fault->nodes, std::vector<std::string>{"make_y"});
  EXPECT_TRUE(r.fault->confirmed);
  EXPECT_TRUE(again(*r.fault, chain).wrong);
  EXPECT_FALSE(verify_model(model, options, {}).fault);
}

/// Winograd's convolution, and a product of halves, of one extreme pixel and of a large feature.
TEST(Verify, FastAlgorithmsKeepTheirBounds) {
  const onnx::Model image = model_of(
      "(float[1,16,24,24] x) => (float[1,16,24,24] y) <float[16,16,3,3] w = {}> "
      "{ y = Conv <kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\"> (x, w) }");
  const onnx::Model matrix =
      model_of("(float[64,512] x) => (float[64,512] y) <float[512,512] w = {}> { y = MatMul (x, w) }");
  for (onnx::Model m : {image, matrix}) {
    const bool is_image = m.proto.graph->node[0].op_type == "Conv";
    auto& weights = m.proto.graph->initializer[0];
    Tensor w = random_tensor(DataType::float32, Shape(weights.dims.begin(), weights.dims.end()), 1);
    Tensor x = random_tensor(DataType::float32, is_image ? Shape{1, 16, 24, 24} : Shape{64, 512}, 2);
    if (is_image)
      x.as<float>()[24 * 10 + 10] = -1e10f;
    else
      for (size_t i = 0; i < 64; ++i) x.as<float>()[i * 512 + 7] = 1.7e9f;
    for (size_t j = 0; j < 512 && !is_image; ++j) w.as<float>()[7 * 512 + j] = 0;
    weights.raw_data = std::string(reinterpret_cast<const char*>(w.data()), w.bytes());
    VerifyOptions options;
    options.levels = {OptimizationLevel::all};
    options.recorded = {{{"x", Value(x)}}};
    const VerifyReport r = verify_model(m, options, {});
    EXPECT_FALSE(r.fault) << (r.fault ? r.fault->diagnostic.got : "");
    for (const auto& t : r.trials) EXPECT_FALSE(t.amplified) << t.values;
  }
}

TEST(Verify, AKernelThatIsWrongForSomeSizesIsFound) {
  const Toolchain chain{.extensions = kernels_with(bad_tanh(60))};
  const VerifyReport r = verify_model(layers(), {}, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->kernel, "tanh.bad");
  EXPECT_EQ(r.fault->shapes, "n=17");
  EXPECT_TRUE(again(*r.fault, chain).wrong);
}

TEST(Verify, AKernelInABodyIsNamed) {
  const Toolchain chain{.extensions = kernels_with(bad_tanh())};
  onnx::Model m = model_of(
      "(float[3] x, bool c) => (float[3] y) { k = Exp(x) y = If(c) <then_branch = t () => (float[3] a)"
      "{ i = Neg(k) j = Tanh(i) a = Exp(j) }, else_branch = e () => (float[3] b) { l = Tanh(k) b = Exp(l) }> "
      "}");
  const VerifyReport r = verify_model(m, {}, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->kind, Fault::Kind::kernel);
  EXPECT_EQ(r.fault->diagnostic.op, "Tanh") << r.fault->diagnostic.message();
  const Again a = again(*r.fault, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, std::vector<std::string>{"If"});
}

TEST(Verify, AKernelThatThrowsIsNamed) {
  Kernel k{.op = "Erf", .name = "erf.throws"};
  k.run = [](const void*, KernelContext& c) { c.fail(Code::run_bad_value, "luck", "none"); };
  const Toolchain chain{.extensions = kernels_with(std::move(k))};
  const VerifyReport r = verify_model(layers(), {}, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->nodes, std::vector<std::string>{"make_f"});
  const Again a = again(*r.fault, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, std::vector<std::string>{"Erf"});
}

TEST(Verify, ABrokenFusionIsNamed) {
  const Toolchain chain{.extensions = kernels_with(forgetful_matmul())};
  const VerifyReport r =
      verify_model(model_of("(float[n,4] x, float[4,6] w, float[n,6] c) => (float[n,6] y)"
                            "{ k = Neg(x) p = MatMul(k, w) a = Add(p, c) t = Tanh(a) y = Softmax(t) }"),
                   {}, chain);
  ASSERT_TRUE(r.fault);
  const Fault& f = *r.fault;
  EXPECT_EQ(f.kind, Fault::Kind::fusion) << f.diagnostic.message();
  EXPECT_EQ(f.kernel, "matmul.forgetful");
  EXPECT_EQ(f.nodes, (std::vector<std::string>{"make_p", "make_a", "make_t"}));
  EXPECT_EQ(f.level, OptimizationLevel::all);
  const Again a = again(f, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, (std::vector<std::string>{"MatMul", "Add", "Tanh"}));
}

TEST(Verify, AKernelThatOnlyTheBuilderAsksForIsNamed) {
  if (choose_isa("") == Isa::generic) GTEST_SKIP() << "no channel blocks on this machine";
  Kernel k{.op = "BlockedConv", .domain = "lathe", .name = "blocked_conv.bad"};
  k.run = [](const void*, KernelContext& c) { std::ranges::fill(c.out(0).as<float>(), 0.5f); };
  const Toolchain chain{.extensions = kernels_with(std::move(k))};
  onnx::Model m = model_of(
      "(float[n,3,6,6] x) => (float[n,16,2,2] y) { c = Conv(x, w) r = Relu(c) d = Conv(r, v) y = Relu(d) }");
  const auto weights = [&](const std::string& name, const Shape& shape, uint64_t seed) {
    m.proto.graph->initializer.push_back(
        onnx::from_tensor(random_tensor(DataType::float32, shape, seed), name));
  };
  weights("w", {16, 3, 3, 3}, 1);
  weights("v", {16, 16, 3, 3}, 2);
  const VerifyReport r = verify_model(m, {}, chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->kind, Fault::Kind::kernel) << r.fault->diagnostic.message();
  EXPECT_EQ(r.fault->kernel, "blocked_conv.bad");
  EXPECT_EQ(r.fault->pass, "blocked-layout");
  EXPECT_EQ(r.fault->nodes, std::vector<std::string>{"make_c"});
  EXPECT_EQ(r.fault->level, OptimizationLevel::all);
  const Again a = again(*r.fault, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, std::vector<std::string>{"Conv"});
}

// If all values are kept, the pair is not fused, and every step is right.
TEST(Verify, ALoweringPassOfSeveralOperatorsIsNamed) {
  if (choose_isa("") == Isa::generic) GTEST_SKIP() << "no channel blocks on this machine";
  Kernel k{.op = "BlockedConvDepthwise", .domain = "lathe", .name = "blocked_conv_depthwise.bad"};
  k.run = [](const void*, KernelContext& c) { std::ranges::fill(c.out(0).as<float>(), 0.5f); };
  const Toolchain chain{.extensions = kernels_with(std::move(k))};
  onnx::Model m = model_of(
      "(float[1,16,64,64] x) => (float[1,96,64,64] y)"
      "{ n = Neg(x) c = Conv(n, w) r = Relu(c) y = Conv<group = 96, pads = [1, 1, 1, 1]>(r, v) }");
  const auto weights = [&](const std::string& name, const Shape& shape, uint64_t seed) {
    m.proto.graph->initializer.push_back(
        onnx::from_tensor(random_tensor(DataType::float32, shape, seed), name));
  };
  weights("w", {96, 16, 1, 1}, 1);
  weights("v", {96, 1, 3, 3}, 2);
  const VerifyReport r = verify_model(m, {}, chain);
  ASSERT_TRUE(r.fault);
  const Fault& f = *r.fault;
  EXPECT_EQ(f.kind, Fault::Kind::pass) << f.diagnostic.message();
  EXPECT_EQ(f.pass, "conv-depthwise-fusion");
  EXPECT_EQ(f.kernel, "blocked_conv_depthwise.bad");
  EXPECT_EQ(f.nodes, (std::vector<std::string>{"make_c", "make_r", "make_y"}));
  EXPECT_EQ(f.diagnostic.remedy, "--passes=-conv-depthwise-fusion leaves it out; please report it");
  EXPECT_TRUE(f.confirmed);
  const Again a = again(f, chain);
  EXPECT_TRUE(a.wrong);
  EXPECT_EQ(a.ops, (std::vector<std::string>{"Conv", "Relu", "Conv"}));
  EXPECT_FALSE(verify_model(m, {.build = {.passes = {"-conv-depthwise-fusion"}}}, chain).fault);
}

TEST(Verify, OverwrittenMemoryIsNamed) {
  // Writes over what others still read.
  Kernel k{.op = "Neg", .name = "neg.overwrites", .alias = 0};
  k.run = [](const void*, KernelContext& c) {
    for (size_t i = 0; i < static_cast<size_t>(c.in(0).size()); ++i)
      c.out(0).as<float>()[i] = -c.in(0).as<float>()[i];
  };
  const Toolchain chain{.extensions = kernels_with(std::move(k))};
  const VerifyReport r = verify_model(
      model_of("(float[300] x) => (float[300] y) { k = Exp(x) n = Neg(k) c = Sin(k) y = Sub(c, n) }"), {},
      chain);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->kind, Fault::Kind::memory);
  EXPECT_EQ(r.fault->nodes, std::vector<std::string>{"make_c"});
  EXPECT_TRUE(r.fault->confirmed);
  EXPECT_TRUE(again(*r.fault, chain).wrong);
}

TEST(Verify, AmplifiedRoundingIsNoFault) {
  const VerifyReport r = verify(model_of(
      "(float[300] x) => (float[300] y) <float k = {10000000}> { e = Exp(x) m = Mul(e, k) y = Sin(m) }"));
  EXPECT_FALSE(r.fault) << r.fault->diagnostic.message();
  EXPECT_TRUE(std::ranges::any_of(r.trials, &VerifyReport::Trial::amplified));
}

TEST(Verify, TermsThatCancelAreNoFault) {
  std::vector<float> x(512), w(512);
  for (size_t i = 0; i < 512; ++i) {
    x[i] = static_cast<float>(1000 + i / 2) / 7;
    w[i] = (i % 2 ? -1.0f : 1.0f) * static_cast<float>(900 + i / 2) / 11;
  }
  VerifyOptions o;
  o.recorded = {{{"x", Tensor::from<float>({1, 512}, x)}, {"w", Tensor::from<float>({512, 1}, w)}}};
  const VerifyReport r =
      verify(model_of("(float[1,512] x, float[512,1] w) => (float[1,1] y) { y = MatMul(x, w) }"), o);
  EXPECT_FALSE(r.fault) << r.fault->diagnostic.message();
}

TEST(Verify, RandomNumbersAreNoFault) {
  for (const char* text :
       {"(float[n] x) => (float[n] y) { r = RandomUniformLike(x) y = Add(x, r) }",
        "(float[n] x) => (float[n] y) <float h = {0.5}, bool t = {1}> { d = Dropout(x, h, t) y = Exp(d) }"})
    for (uint64_t seed = 0; seed < 5; ++seed) {
      VerifyOptions o;
      o.seed = seed;
      EXPECT_FALSE(verify(model_of(text), o).fault) << text;
    }
}

TEST(Verify, RecordedInputsSayWhatIndicesMayBe) {
  const onnx::Model m = model_of(
      "(float[9,2] table, int64[n] i) => (float[n,2] y) <int64 seven = {7}, float[9] one = "
      "{1,1,1,1,1,1,1,1,1}>"
      "{ j = Sub(i, seven) y = Gather(table, j) }");
  VerifyOptions o;
  o.recorded = {{{"table", Tensor(DataType::float32, {9, 2})},
                 {"i", Tensor::from<int64_t>({3}, std::vector<int64_t>{7, 15, 9})}}};
  const VerifyReport r = verify(m, o);
  EXPECT_FALSE(r.fault);
  EXPECT_EQ(r.trials[0].values, "recorded");
  EXPECT_TRUE(r.untried.empty()) << r.untried[0];
  o.recorded[0]["i"] = Tensor::from<int64_t>({1}, std::vector<int64_t>{70});
  EXPECT_EQ(code_of([&] { verify(m, o); }), Code::run_bad_index);
}

TEST(Verify, WhatWasNotTriedIsSaid) {
  const onnx::Model halves =
      model_of("(float[n] x) => (float[2,m] y) <int64[2] s = {2,-1}> { y = Reshape(x, s) }");
  const VerifyReport r = verify(halves);
  EXPECT_EQ(r.untried.size(), 3u);  // 1, 3 and 17 have no half
  EXPECT_NE(r.untried[0].find("n=1: "), std::string::npos);
  EXPECT_EQ(r.trials.size(), 4u * 8);
  VerifyOptions o;
  o.sizes = {{"n", 5}};
  EXPECT_EQ(code_of([&] { verify(halves, o); }), Code::bad_argument);
  o.sizes = {{"n", 6}};
  EXPECT_EQ(verify(halves, o).trials.size(), 4u * 8);
  o.seconds = 1e-9;
  EXPECT_EQ(code_of([&] { verify(halves, o); }), Code::deadline);
}

TEST(Verify, ProgressCancels) {
  VerifyOptions o;
  o.build.progress = [](std::string_view, double) { return false; };
  EXPECT_EQ(code_of([&] { verify(layers(), o); }), Code::cancelled);
  RunControl control;
  control.cancel();
  o = {};
  o.build.control = &control;
  EXPECT_EQ(code_of([&] { verify(layers(), o); }), Code::cancelled);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
