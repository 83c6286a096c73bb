// For test_op_cases.py: writes every case of every operator as files that the onnx package reads.
//   op_cases DIR
// Writes DIR/<n>/model.onnx, input_<i>.pb and output_<i>.pb (TensorProto, or SequenceProto for a sequence),
// and DIR/cases.json: for each n its name, the names of its inputs and outputs with their kinds, and a
// tolerance for each output. Outputs that a case does not specify are the reference's.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "lathe/lathe.h"
#include "support/case_model.h"

namespace lathe::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string bytes_of(const Value& v) {
  if (v.is_tensor()) return onnx::serialize(onnx::from_tensor(v.tensor()));
  onnx::SequenceProto s;
  s.elem_type = 1;  // tensors
  for (const Value& item : *v.sequence().items) s.tensor_values.push_back(onnx::from_tensor(item.tensor()));
  return onnx::serialize(s);
}

const char* kind_of(const Value& v) {
  return v.empty() ? "none" : v.is_tensor() ? "tensor" : v.is_sequence() ? "sequence" : "other";
}

Json write_values(const fs::path& folder, const char* role, const std::vector<Value>& values) {
  Json kinds = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    kinds.push_back(kind_of(values[i]));
    if (values[i].is_tensor() || values[i].is_sequence())
      std::ofstream(folder / (role + ("_" + std::to_string(i)) + ".pb"), std::ios::binary)
          << bytes_of(values[i]);
  }
  return kinds;
}

std::vector<Value> answers(const OpCase& c, const onnx::ModelProto& proto) {
  if (!c.expected.empty()) return c.expected;
  onnx::Model model;
  model.proto = proto;
  return Engine::build(model, {.threads = 1, .backend = "reference"}).create_context().run(inputs_of(c));
}

Json write_case(const OpCase& c, const fs::path& folder) {
  fs::create_directories(folder);
  const onnx::ModelProto proto = model_of(c);
  std::ofstream(folder / "model.onnx", std::ios::binary) << onnx::serialize(proto);
  const std::vector<Value> expected = answers(c, proto);
  Json tolerances = Json::array();
  for (const Value& v : expected) {
    const Tolerance t = tolerance_of(c, v);
    tolerances.push_back({t.rtol, t.atol});
  }
  return {{"name", c.op + "/" + c.name},
          {"inputs", write_values(folder, "input", inputs_of(c))},
          {"outputs", write_values(folder, "output", expected)},
          {"tolerances", tolerances},
          {"random", is_random(c)}};
}

}  // namespace
}  // namespace lathe::testing

int main(int argc, char** argv) {
  using namespace lathe::testing;
  if (argc != 2) return 2;
  lathe::CaseTable table;
  collect_all_cases(table);
  Json list = Json::array();
  try {
    for (const lathe::OpCase& c : table.all())
      list.push_back(write_case(c, fs::path(argv[1]) / std::to_string(list.size())));
  } catch (const lathe::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  std::ofstream(fs::path(argv[1]) / "cases.json") << list;
}
