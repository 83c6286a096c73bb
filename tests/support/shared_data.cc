#include "support/shared_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace fs = std::filesystem;
using nlohmann::json;

std::optional<fs::path> shared_data() {
  const char* named = std::getenv("LATHE_SHARED");
  const fs::path at = named ? fs::path(named) : fs::path(LATHE_SOURCE_DIR) / ".." / "shared";
  if (!fs::exists(at / "models")) return std::nullopt;
  return at;
}

namespace {

std::vector<fs::path> sorted_entries(const fs::path& dir) {
  std::vector<fs::path> list;
  for (const auto& e : fs::directory_iterator(dir)) list.push_back(e.path());
  std::sort(list.begin(), list.end());
  return list;
}

/// test_data_set_N/{input,output}_K.pb, in the order of K.
DataSet data_set(const fs::path& dir) {
  DataSet s;
  s.name = dir.filename();
  for (size_t k = 0; fs::exists(dir / ("input_" + std::to_string(k) + ".pb")); ++k)
    s.input_list.push_back(dir / ("input_" + std::to_string(k) + ".pb"));
  for (size_t k = 0; fs::exists(dir / ("output_" + std::to_string(k) + ".pb")); ++k)
    s.output_list.push_back(dir / ("output_" + std::to_string(k) + ".pb"));
  return s;
}

/// The light models come without inputs: the onnx package's runner feeds them i / size for element i, and
/// reads the expected output from <model>_output_0.pb.
std::vector<ConformanceCase> light_cases(const fs::path& dir) {
  std::vector<ConformanceCase> cases;
  for (const fs::path& file : sorted_entries(dir)) {
    if (file.extension() != ".onnx") continue;
    ConformanceCase c;
    c.name = file.stem();
    c.model = file;
    DataSet s;
    s.name = "ramp";
    s.output_list.push_back(dir / (c.name + "_output_0.pb"));
    c.sets.push_back(s);
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace

std::vector<ConformanceCase> backend_cases(const fs::path& shared, const std::string& category) {
  const fs::path root = shared / "onnx-backend-1.23";
  const json tolerances = json::parse(read_file(root / "tolerances.json"));
  std::vector<ConformanceCase> cases =
      category == "real" ? light_cases(root / "light") : std::vector<ConformanceCase>{};
  if (category != "real")
    for (const fs::path& dir : sorted_entries(root / category)) {
      if (!fs::exists(dir / "model.onnx")) continue;
      ConformanceCase c;
      c.name = dir.filename();
      c.model = dir / "model.onnx";
      for (const fs::path& sub : sorted_entries(dir))
        if (fs::is_directory(sub)) c.sets.push_back(data_set(sub));
      cases.push_back(std::move(c));
    }
  for (ConformanceCase& c : cases) {
    const std::string key =
        category == "real" ? "test_" + c.name.substr(std::string("light_").size()) : c.name;
    if (!tolerances.contains(key)) continue;
    c.rtol = tolerances[key].value("rtol", c.rtol);
    c.atol = tolerances[key].value("atol", c.atol);
  }
  return cases;
}

std::vector<ConformanceCase> model_cases(const fs::path& shared, bool micro) {
  const fs::path root = micro ? shared / "models" / "micro" : shared / "models";
  // Recorded answers that are not exact: tests/expectations.json says why.
  const json exceptions = json::parse(read_file(fs::path(LATHE_SOURCE_DIR) / "tests" / "expectations.json"));
  const json& half = exceptions["half_intermediates"]["models"];
  const auto exception = [&](const char* kind, const std::string& model, const std::string& output) {
    return exceptions[kind].value(model, json::object()).value(output, json::object()).value("atol", 0.0);
  };
  std::vector<ConformanceCase> cases;
  for (const fs::path& dir : sorted_entries(root)) {
    if (!fs::exists(dir / "meta.json")) continue;
    const json meta = json::parse(read_file(dir / "meta.json"));
    ConformanceCase c;
    c.name = dir.filename();
    c.model = dir / "model.onnx";
    c.rtol = meta["tolerance"].value("rtol", c.rtol);
    c.atol = meta["tolerance"].value("atol", c.atol);
    const bool wide = std::find(half.begin(), half.end(), c.name) != half.end();
    const json per_output = meta.value("tolerance_per_output", json::object());
    for (const auto& [name, t] : per_output.items()) {
      const double rounding = wide ? 0x1p-9 * t.value("max_abs_expected", 0.0) : 0;
      c.per_output[name] = {t.value("rtol", c.rtol), std::max({rounding, exception("outputs", c.name, name),
                                                               t.value("atol", c.atol)})};
      c.integers[name] = exception("integers", c.name, name);
    }
    std::map<int, DataSet> by_id;
    for (const json& one : meta["cases"]) {
      DataSet s;
      s.name = std::to_string(one["id"].get<int>());
      for (const auto& [name, file] : one["inputs"].items()) s.inputs[name] = dir / file.get<std::string>();
      for (const auto& [name, file] : one["outputs"].items()) s.outputs[name] = dir / file.get<std::string>();
      by_id[one["id"].get<int>()] = std::move(s);
    }
    std::set<int> in_sequence;
    for (const json& sequence : meta.value("sequences", json::array())) {
      bool first = true;
      for (const json& id : sequence["cases"]) {
        DataSet s = by_id.at(id.get<int>());
        if (!first)
          for (const auto& [output, input] : sequence["feedback"].items())
            s.feedback[output] = input.get<std::string>();
        first = false;
        in_sequence.insert(id.get<int>());
        c.sets.push_back(std::move(s));
      }
    }
    for (auto& [id, s] : by_id)
      if (!in_sequence.contains(id)) c.sets.push_back(std::move(s));
    cases.push_back(std::move(c));
  }
  return cases;
}

Value load_case_value(const fs::path& file, const std::string& declared_type) {
  if (file.extension() != ".pb") return load_value(file);
  const std::string bytes = read_file(file);
  if (declared_type.starts_with("seq")) return onnx::to_value(onnx::parse<onnx::SequenceProto>(bytes));
  if (declared_type.starts_with("optional")) return onnx::to_value(onnx::parse<onnx::OptionalProto>(bytes));
  if (declared_type.starts_with("map")) return onnx::to_value(onnx::parse<onnx::MapProto>(bytes));
  return Value(onnx::to_tensor(onnx::parse<onnx::TensorProto>(bytes)).owned());
}

namespace {

std::string tensor_difference(const Tensor& got, const Tensor& want, double rtol, double atol,
                              double integer_atol) {
  if (got.type() != want.type() || !(got.shape() == want.shape()))
    return "got " + describe(got) + ", want " + describe(want);
  if (got.type() == DataType::string) {
    for (size_t i = 0; i < static_cast<size_t>(got.size()); ++i)
      if (got.as<std::string>()[i] != want.as<std::string>()[i])
        return "[" + std::to_string(i) + "]: got '" + got.as<std::string>()[i] + "', want '" +
               want.as<std::string>()[i] + "'";
    return {};
  }
  const bool complex_elements = is_complex(got.type());
  const bool exact = !is_float(got.type()) && !complex_elements;
  double worst = 0;
  std::string message;
  int64_t wrong = 0;
  auto compare = [&](int64_t i, double g, double w) {
    if (g == w || (std::isnan(g) && std::isnan(w))) return;
    const double error = std::fabs(g - w), allowed = exact ? integer_atol : atol + rtol * std::fabs(w);
    if (error <= allowed) return;
    ++wrong;
    const double excess = std::isfinite(error) ? error - allowed : INFINITY;
    if (message.empty() || excess > worst) {
      worst = excess;
      message = "[" + std::to_string(i) + "]: got " + std::to_string(g) + ", want " + std::to_string(w);
    }
  };
  for (int64_t i = 0; i < got.size(); ++i) {
    if (complex_elements) {
      auto part = [&](const Tensor& t, size_t k) {
        const size_t at = static_cast<size_t>(i) * 2 + k;
        return t.type() == DataType::complex64 ? static_cast<double>(static_cast<const float*>(t.data())[at])
                                               : static_cast<const double*>(t.data())[at];
      };
      compare(i, part(got, 0), part(want, 0));
      compare(i, part(got, 1), part(want, 1));
    } else if (exact) {
      if (load_int(got, i) != load_int(want, i)) {
        const auto g = static_cast<double>(load_int(got, i)), w = static_cast<double>(load_int(want, i));
        compare(i, g, g == w ? std::nextafter(w, INFINITY) : w);
      }
    } else {
      compare(i, load_double(got, i), load_double(want, i));
    }
  }
  return wrong ? std::to_string(wrong) + " of " + std::to_string(got.size()) + " differ, worst " + message
               : std::string();
}

}  // namespace

std::string difference(const Value& got, const Value& want, double rtol, double atol, double integer_atol) {
  if (got.is_tensor() && want.is_tensor())
    return tensor_difference(got.tensor(), want.tensor(), rtol, atol, integer_atol);
  if (got.empty() && want.empty()) return {};
  if (got.is_sequence() && want.is_sequence()) {
    const auto &g = *got.sequence().items, &w = *want.sequence().items;
    if (g.size() != w.size())
      return "got " + std::to_string(g.size()) + " items, want " + std::to_string(w.size());
    for (size_t i = 0; i < g.size(); ++i)
      if (auto d = difference(g[i], w[i], rtol, atol, integer_atol); !d.empty())
        return "item " + std::to_string(i) + ": " + d;
    return {};
  }
  if (got.is_map() && want.is_map()) {
    if (auto d = tensor_difference(got.map().keys, want.map().keys, 0, 0, 0); !d.empty()) return "keys: " + d;
    return difference(got.map().values, want.map().values, rtol, atol, integer_atol);
  }
  return "got " + describe(got) + ", want " + describe(want);
}

namespace {

Value ramp(const IoInfo& info) {
  Shape shape;
  for (const Dim& d : *info.shape) shape.push_back(d.value().value_or(1));
  Tensor t(info.element_type, shape);
  for (int64_t i = 0; i < t.size(); ++i)
    store_double(t, i, static_cast<double>(i) / static_cast<double>(t.size()));
  return t;
}

CaseResult compare_sets(const ConformanceCase& c, Engine& engine, const Runner& runner) {
  const auto &inputs = engine.inputs(), &outputs = engine.outputs();
  std::map<std::string, Value> last;
  for (const DataSet& s : c.sets) {
    std::vector<Value> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Value v;
      if (i < s.input_list.size())
        v = load_case_value(s.input_list[i], inputs[i].type);
      else if (auto at = s.inputs.find(inputs[i].name); at != s.inputs.end())
        v = load_case_value(at->second, inputs[i].type);
      else if (s.input_list.empty() && s.inputs.empty() && inputs[i].shape && !inputs[i].optional)
        v = ramp(inputs[i]);
      for (const auto& [output, input] : s.feedback)
        if (input == inputs[i].name) v = last.at(output);
      given.push_back(std::move(v));
    }
    const std::vector<Value> got = runner(engine, given);
    for (size_t i = 0; i < outputs.size(); ++i) {
      last[outputs[i].name] = owned(got[i]);
      Value want;
      if (i < s.output_list.size())
        want = load_case_value(s.output_list[i], outputs[i].type);
      else if (auto at = s.outputs.find(outputs[i].name); at != s.outputs.end())
        want = load_case_value(at->second, outputs[i].type);
      else
        continue;
      double rtol = c.rtol, atol = c.atol;
      if (auto t = c.per_output.find(outputs[i].name); t != c.per_output.end())
        std::tie(rtol, atol) = t->second;
      const auto integers = c.integers.find(outputs[i].name);
      const double integer_atol = integers == c.integers.end() ? 0 : integers->second;
      if (auto d = difference(got[i], want, rtol, atol, integer_atol); !d.empty())
        return {false, "data set " + s.name + ", output '" + outputs[i].name + "': " + d, std::nullopt, {}};
    }
  }
  return {true, {}, std::nullopt, {}};
}

}  // namespace

CaseResult run_case(const ConformanceCase& c, const BuildOptions& options, const Runner& runner) {
  try {
    Engine engine = Engine::build(c.model, options);
    std::optional<Context> context;
    const Runner plain = [&](Engine& e, const std::vector<Value>& inputs) {
      if (!context) context.emplace(e.create_context());
      return context->run(inputs);
    };
    return compare_sets(c, engine, runner ? runner : plain);
  } catch (const Error& e) {
    return {false, e.what(), e.code(), e.diagnostic().op};
  }
}

}  // namespace lathe::testing
