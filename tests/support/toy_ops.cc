#include "support/toy_ops.h"

#include "compiler/build.h"
#include "runtime/engine_impl.h"

namespace lathe::test {
namespace {

struct NoAttributes {
  void fields(auto&&) {}
};
struct SameShape : NoAttributes {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (c.inputs() == 2)
      c.require(c.text(c.shape(0)) == c.text(c.shape(1)), "equal shapes", c.text(c.shape(1)));
    c.output(0, c.shape(0));
  }
};
struct Undeclared : NoAttributes {
  template <class D>
  void shape(ShapeContext<D>&) const {}
};
struct FromValues : NoAttributes {
  size_t input = 1;
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (auto* v = c.values(c.inputs() - 1)) c.output(0, *v);
  }
};
struct Length : NoAttributes {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, {});
    c.output_values(0, {c.product(c.shape(0))});
  }
};

void add(const SameShape&, KernelContext& c) {
  auto a = c.in(0).as<float>(), b = c.in(1).as<float>();
  auto y = c.out(0).as<float>();
  for (size_t i = 0; i < y.size(); ++i) y[i] = a[i] + b[i];
}

// The packed form is the doubled constant and a one: enough to see that it is used.
void add_packed(const SameShape&, KernelContext& c) {
  const Tensor* packed = c.packed(1);
  auto a = c.in(0).as<float>();
  auto b = packed ? packed->as<float>() : c.in(1).as<float>();
  auto y = c.out(0).as<float>();
  auto* scratch = static_cast<float*>(c.workspace(y.size() * sizeof(float)));
  c.parallel(static_cast<int64_t>(y.size()), 16, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      scratch[i] = packed ? b[i] * 0.5f : b[i];
      y[i] = a[i] + scratch[i];
    }
  });
}
Support supports_add(const SameShape&, const KernelQuery& r) {
  if (r.inputs[0].type != DataType::float32) return Support::no("only float32");
  return Support::yes();
}
std::optional<PackedForm> form_add(const SameShape&, const KernelQuery& r, size_t i) {
  if (i != 1) return std::nullopt;
  return PackedForm{DataType::float32, r.inputs[1].constant->shape()};
}
void pack_add(const SameShape&, const KernelQuery& r, size_t, Tensor& to, Workers&) {
  std::ranges::transform(r.inputs[1].constant->as<float>(), to.as<float>().begin(),
                         [](float x) { return 2 * x; });
}
size_t workspace_add(const SameShape&, std::span<const Shape> in, int) {
  return static_cast<size_t>(count_of(in[0])) * sizeof(float);
}

void copy(KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  if (y.data() != x.data())
    std::copy_n(static_cast<const char*>(x.data()), x.bytes(), static_cast<char*>(y.data()));
}
void reshape(const FromValues&, KernelContext& c) { copy(c); }

void positive(const Undeclared&, KernelContext& c) {
  std::vector<float> kept;
  for (float x : c.in(0).as<float>())
    if (x > 0) kept.push_back(x);
  Tensor& y = c.out(0, DataType::float32, Shape{static_cast<int64_t>(kept.size())});
  std::copy(kept.begin(), kept.end(), y.as<float>().begin());
}
void check(const SameShape&, KernelContext& c) {
  for (float x : c.in(0).as<float>())
    if (x < 0) c.fail(Code::run_bad_value, "no negative elements", std::to_string(x));
  copy(c);
}
void spin(const SameShape&, KernelContext& c) {
  for (;;) c.poll();
}
void fill(const FromValues&, KernelContext& c) {
  auto y = c.out(0).as<float>();
  std::fill(y.begin(), y.end(), 0.0f);
}
void length(const Length&, KernelContext& c) { c.out(0).as<int64_t>()[0] = c.in(0).size(); }

/// Copies what a body made into an output of the step.
void give(KernelContext& c, size_t i, const Value& v) {
  const Tensor& t = v.tensor();
  Tensor& y = c.out(i, t.type(), t.shape());
  std::copy_n(static_cast<const char*>(t.data()), t.bytes(), static_cast<char*>(y.data()));
}
void choose(const Undeclared&, KernelContext& c) {
  KernelBody& b = c.body(c.in(0).as<bool>()[0] ? 1 : 0);
  b.run({});
  give(c, 0, b.output(0));
}
void repeat(const Undeclared&, KernelContext& c) {
  KernelBody& b = c.body(0);
  const int64_t n = c.in(0).as<int64_t>()[0];
  int64_t i = 0;
  std::vector<Value> states{Tensor::view(DataType::int64, {}, &i)};
  for (size_t k = 1; k < c.inputs(); ++k) states.push_back(c.value(k));
  for (; i < n; ++i) {
    c.poll();
    b.run(states);
    for (size_t k = 1; k < states.size(); ++k) states[k] = b.output(k - 1);
  }
  for (size_t k = 1; k < states.size(); ++k) give(c, k - 1, states[k]);
}
void collect(const Undeclared&, KernelContext& c) {
  Sequence s;
  s.elem = DataType::float32;
  s.items->push_back(owned(c.value(0)));
  s.items->push_back(owned(c.value(1)));
  c.set(0, s);
}
void first(const Undeclared&, KernelContext& c) { c.set(0, c.value(0).sequence().items->at(0)); }

}  // namespace

void register_toy_ops(KernelCatalog& k) {
  k.reference<SameShape>("Add", add, "toy");
  k.add<SameShape>({.op = "Add", .domain = "toy", .name = "toy.add.cpu"}, {.run = add_packed,
                                                                           .supports = supports_add,
                                                                           .packed_form = form_add,
                                                                           .pack = pack_add,
                                                                           .workspace = workspace_add});
  k.add<FromValues>(
      {.op = "Reshape", .domain = "toy", .name = "toy.reshape", .backend = "reference", .alias = 0},
      {reshape});
  k.reference<Undeclared>("Positive", positive, "toy");
  k.reference<SameShape>("Check", check, "toy");
  k.reference<SameShape>("Spin", spin, "toy");
  k.reference<FromValues>("Fill", fill, "toy");
  k.reference<Length>("Length", length, "toy");
  k.reference<Undeclared>("Choose", choose, "toy");
  k.reference<Undeclared>("Repeat", repeat, "toy");
  k.reference<Undeclared>("Collect", collect, "toy");
  k.reference<Undeclared>("First", first, "toy");
}

const KernelCatalog& toy_catalog() {
  static const KernelCatalog catalog = [] {
    KernelCatalog c;
    register_toy_ops(c);
    return c;
  }();
  return catalog;
}

const SchemaCatalog& toy_schemas() {
  static const SchemaCatalog catalog = [] {
    SchemaCatalog c;
    c.add("toy", "Add").version(1, "(a: T, b: T) -> (c: T) [T: float]");
    c.add("toy", "Fill").version(1, "(shape: int64) -> (y: T) [T: float]");
    return c;
  }();
  return catalog;
}

Engine build_toys(Graph& graph, const BuildOptions& options) {
  const auto extensions = Extensions::of(toy_catalog());
  Plan plan = build_plan(graph, toy_schemas(), *extensions, options);
  return EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(plan), extensions, program_options(options)));
}

ValueType f32(SymShape shape) { return ValueType::tensor(DataType::float32, std::move(shape)); }

ValueId GraphMaker::node(std::string op, std::vector<ValueId> inputs, std::string output, ValueType type,
                         std::vector<Body> bodies) {
  Node n;
  n.name = output;
  n.op = std::move(op);
  n.domain = "toy";
  n.inputs = std::move(inputs);
  const ValueId v = graph->add_value(std::move(output), std::move(type));
  n.outputs = {v};
  n.bodies = std::move(bodies);
  graph->add_node(std::move(n));
  return v;
}

Tensor floats(Shape shape, const std::vector<float>& v) { return Tensor::from<float>(std::move(shape), v); }
Tensor ints(const std::vector<int64_t>& v) {
  return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v);
}
std::vector<float> list(const Value& v) {
  auto s = v.tensor().as<float>();
  return {s.begin(), s.end()};
}

}  // namespace lathe::test
