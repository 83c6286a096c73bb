#include "ops/flex_attention/flex_attention.h"

#include "ops/body_types.h"
#include "schema/downgrade.h"

namespace lathe {
namespace {

void infer_flex_attention(InferContext& c) {
  const auto op = decode<FlexAttention>(c.node().attributes);
  if (op.softmax_precision)
    if (const auto p = static_cast<DataType>(*op.softmax_precision);
        p != DataType::float32 && p != DataType::float64 && p != DataType::float16 && p != DataType::bfloat16)
      throw Error(Code::node_bad_attribute, "infer", "softmax_precision as a type of floats",
                  std::to_string(*op.softmax_precision));
  const DataType type = c.input(0).elem;
  ValueType scores = ValueType::tensor(op.precision(type)), out = ValueType::tensor(type);
  if (c.fact(0).ranked && c.fact(1).ranked && c.fact(2).ranked) {
    const std::vector<Fact<Dim>> facts{c.fact(0), c.fact(1), c.fact(2)};
    auto shapes = op.shapes(ShapeContext<Dim>(facts, {}));
    scores.shape = std::move(shapes.scores);
    out.shape = std::move(shapes.output);
  }
  for (size_t i = 0; i < c.node().bodies.size(); ++i) {
    const auto given = c.infer_body(i, std::span(&scores, 1));
    if (given.size() != 1)
      throw Error(Code::node_bad_arity, "infer", c.node().bodies[i].name + " with one output",
                  std::to_string(given.size()));
    if (!unify(given[0], scores))
      throw Error(Code::node_bad_type, "infer",
                  c.node().bodies[i].name + " to give what it takes, " + scores.str(), given[0].str());
  }
  c.output(0, std::move(out));
}

constexpr const char* modifiers[] = {"prob_mod", "score_mod"};

void add_bodies(UpgradeContext& u) {
  for (const char* name : modifiers)
    u.node().attributes.set(std::string("has_") + name, int64_t{u.node().body(name) != nullptr});
}

bool forget_bodies(RewriteContext& c) {
  for (const char* name : modifiers) c.node().attributes.erase(std::string("has_") + name);
  return true;
}

/// No version of the standard: the form in memory, whose attributes tell which bodies there are.
constexpr int in_memory = 1'000'000;

}  // namespace

void declare_flex_attention(SchemaCatalog& c) {
  c.add("ai.onnx.preview", "FlexAttention")
      .version(1,
               "(Q: T1, K: T1, V: T1) -> (Y: T1) {prob_mod: graph, scale: float, score_mod: graph, "
               "softmax_precision: int} "
               "[T1: @float_13]")
      .version(in_memory,
               "(Q: T1, K: T1, V: T1) -> (Y: T1) {has_prob_mod: int, has_score_mod: int, prob_mod: graph, "
               "scale: float, "
               "score_mod: graph, softmax_precision: int} [T1: @float_13]",
               add_bodies, forget_bodies)
      .rule<FlexAttention>()
      .infer(infer_flex_attention)
      .tolerance({.epsilons = 64, .per_reduced = true});
}

}  // namespace lathe
