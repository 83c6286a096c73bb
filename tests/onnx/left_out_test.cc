// Runs every operator's cases without some inputs, left out behind the last one or by an empty name, and with
// attributes that are left out or empty: invalid cases are refused with a code, and valid ones run at every
// level.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "lathe/engine.h"
#include "lathe/onnx.h"
#include "support/case_model.h"
#include "support/error_code.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

struct Ending {
  Code build = Code::none, run = Code::none;
  std::vector<Value> outputs;
  bool runs() const { return build == Code::none && run == Code::none; }
};

Ending ending(const onnx::Model& m, const std::vector<Value>& inputs, OptimizationLevel level) {
  Ending e;
  BuildOptions options;
  options.threads = 1;
  options.level = level;
  options.memory_limit = uint64_t{64} << 20;
  std::optional<Engine> engine;
  e.build = code_of([&] { engine = Engine::build(m, options); });
  if (engine && engine->inputs().size() == inputs.size())
    e.run = code_of([&] {
      for (const Value& v : engine->create_context().run(inputs)) e.outputs.push_back(v);
    });
  return e;
}

bool same_form(const Value& a, const Value& b) {
  if (a.is_tensor() != b.is_tensor()) return false;
  return !a.is_tensor() ||
         (a.tensor().type() == b.tensor().type() && a.tensor().shape() == b.tensor().shape());
}

class LeftOut : public ::testing::Test {
 protected:
  /// Runs the model at both ends of what the optimizer does.
  void look(const OpCase& c, const onnx::ModelProto& proto, const std::string& how) {
    onnx::Model m;
    m.proto = proto;
    SCOPED_TRACE(c.domain + "::" + c.op + " (" + c.name + "): " + how);
    std::vector<Value> inputs;
    for (const onnx::ValueInfoProto& i : m.proto.graph->input) {
      const size_t at = static_cast<size_t>(std::stoi(i.name->substr(1)));
      inputs.push_back(c.inputs[at]);
    }
    const Ending none = ending(m, inputs, OptimizationLevel::none),
                 all = ending(m, inputs, OptimizationLevel::all);
    for (const Code code : {none.build, none.run, all.build, all.run}) EXPECT_NE(code, Code::internal);
    EXPECT_EQ(none.runs(), all.runs()) << code_name(none.build) << " " << code_name(none.run) << ", "
                                       << code_name(all.build) << " " << code_name(all.run);
    ++tried_;
    if (!none.runs() || !all.runs() || is_random(c)) return;
    ++ran_;
    for (size_t i = 0; i < none.outputs.size() && i < all.outputs.size(); ++i)
      EXPECT_TRUE(same_form(none.outputs[i], all.outputs[i]));
  }
  int tried_ = 0, ran_ = 0;
};

bool is_small(const OpCase& c) {
  return std::ranges::all_of(c.inputs,
                             [](const Value& v) { return !v.is_tensor() || v.tensor().size() <= 4096; });
}

TEST_F(LeftOut, OperandsAndAttributes) {
  CaseTable table;
  collect_all_cases(table);
  for (const OpCase& c : table.all()) {
    if (c.domain == "lathe" || !is_small(c)) continue;
    const onnx::ModelProto whole = model_of(c);
    if (!whole.graph || whole.graph->node.size() != 1) continue;
    const auto changed = [&](const std::string& how, auto&& change) {
      onnx::ModelProto m = whole;
      change(m.graph->node[0]);
      look(c, m, how);
    };
    const onnx::NodeProto& n = whole.graph->node[0];
    for (size_t i = 0; i < n.input.size(); ++i) {
      if (n.input[i].empty()) continue;
      changed("input " + std::to_string(i) + " of no name", [&](onnx::NodeProto& m) { m.input[i].clear(); });
    }
    for (size_t i = 0; i < n.input.size(); ++i)
      changed(std::to_string(i) + " inputs", [&](onnx::NodeProto& m) { m.input.resize(i); });
    changed("one more, of no name", [](onnx::NodeProto& m) { m.input.emplace_back(); });
    changed("one more in front, of no name",
            [](onnx::NodeProto& m) { m.input.insert(m.input.begin(), std::string()); });
    changed("one more output, of no name", [](onnx::NodeProto& m) { m.output.emplace_back(); });
    for (size_t a = 0; a < n.attribute.size(); ++a) {
      const std::string name = n.attribute[a].name.value_or("");
      changed("without " + name, [&](onnx::NodeProto& m) {
        m.attribute.erase(m.attribute.begin() + static_cast<std::ptrdiff_t>(a));
      });
      if (n.attribute[a].type == onnx::AttributeProto::GRAPH) continue;
      changed(name + " of nothing", [&](onnx::NodeProto& m) {
        onnx::AttributeProto empty;
        empty.name = name;
        empty.type = n.attribute[a].type;
        if (empty.type == onnx::AttributeProto::INT) empty.i = 0;
        if (empty.type == onnx::AttributeProto::FLOAT) empty.f = 0;
        if (empty.type == onnx::AttributeProto::STRING) empty.s = onnx::Bytes(std::string());
        if (empty.type == onnx::AttributeProto::TENSOR)
          empty.t = onnx::from_tensor(Tensor(DataType::float32, {0}));
        m.attribute[a] = std::move(empty);
      });
    }
  }
  std::printf("%d tried, %d ran\n", tried_, ran_);
  EXPECT_GT(tried_, 5000);
  EXPECT_GT(ran_, tried_ / 10);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
