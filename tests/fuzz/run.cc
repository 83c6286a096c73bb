// Small graphs drawn from the operators' signatures: most are refused with an error, some run.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "lathe/engine.h"
#include "onnx/text.h"
#include "schema/schema.h"
#include "tensor/element.h"

namespace lathe::fuzz {
namespace {

/// Choices made by the bytes that fuzzing gives; 0 when none are left.
class Choices {
 public:
  explicit Choices(Bytes b) : rest_(b) {}
  bool any() const { return !rest_.empty(); }
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }
  size_t below(size_t n) {
    const size_t high = n > 256 ? size_t{byte()} << 8 : 0;
    return n == 0 ? 0 : (high + byte()) % n;
  }
  /// One of `n` times; not where nothing is left to choose by.
  bool one_in(size_t n) { return any() && below(n) == n - 1; }

 private:
  Bytes rest_;
};

/// Operators without bodies: those need graphs that fit, which models of files have (the import target).
const std::vector<const OpSchema*>& operators() {
  static const auto list = [] {
    std::vector<const OpSchema*> of;
    for (const auto& [key, schema] : SchemaCatalog::standard().all()) {
      if (schema.newest().deprecated || schema.domain() == "com.microsoft" || schema.domain() == "lathe")
        continue;
      const auto& attributes = schema.newest().signature().attributes;
      if (std::ranges::none_of(attributes,
                               [](const AttributeDecl& a) { return a.kind.starts_with("graph"); }))
        of.push_back(&schema);
    }
    return of;
  }();
  return list;
}

/// Words that attributes of some operator understand.
constexpr const char* words[] = {
    "",        "NOTSET",   "SAME_UPPER", "SAME_LOWER", "VALID",   "linear",  "nearest",
    "cubic",   "constant", "reflect",    "edge",       "wrap",    "none",    "add",
    "mul",     "max",      "min",        "mean",       "sum",     "ij,jk",   "ij->ji",
    "...i->i", "DCR",      "CRD",        "forward",    "reverse", "tanh",    "bidirectional",
    "border",  "zeros",    "reflection", "asymmetric", "UPPER",   "LOGISTIC"};

class Maker {
 public:
  explicit Maker(Bytes b) : choose_(b) {}

  onnx::Model make() {
    onnx::Model m;
    m.proto.ir_version = newest_ir_version;
    for (const auto& [domain, version] : {std::pair{"", int64_t{newest_opset}},
                                          {"ai.onnx.ml", 5},
                                          {"ai.onnx.preview", 1},
                                          {"ai.onnx.preview.training", 1}})
      m.proto.opset_import.push_back({domain, version, {}});
    graph_.name = "drawn";
    const size_t nodes = 1 + choose_.below(4);
    for (size_t i = 0; i < nodes; ++i) node(*operators()[choose_.below(operators().size())]);
    for (const auto& [name, type] : values_)
      if (name.starts_with("y")) graph_.output.emplace_back().name = name;
    m.proto.graph = std::move(graph_);
    return m;
  }
  const NamedValues& inputs() const { return inputs_; }

 private:
  int64_t small() { return static_cast<int64_t>(choose_.below(10)) - 3; }

  Tensor tensor(DataType type) {
    if (shape_.empty() || choose_.one_in(2)) {
      shape_.clear();
      for (size_t rank = choose_.below(5); rank > 0; --rank)
        shape_.push_back(choose_.one_in(16) ? 0 : 1 + static_cast<int64_t>(choose_.below(4)));
    }
    Tensor t(type, choose_.one_in(4) ? Shape{} : shape_);
    if (type == DataType::complex64 || type == DataType::complex128) {
      const auto fill = [&]<class Real>(Real) {
        auto* parts = static_cast<Real*>(t.data());
        for (int64_t i = 0; i < 2 * t.size(); ++i) parts[i] = static_cast<Real>(small());
      };
      type == DataType::complex64 ? fill(float{}) : fill(double{});
      return t;
    }
    constexpr double odd[] = {1e30, -1e30, 1e-42, -0.0, 0x1p62, -0x1p63, INFINITY, -INFINITY, NAN};
    for (int64_t i = 0; i < t.size(); ++i) {
      if (type == DataType::string) {
        t.as<std::string>()[static_cast<size_t>(i)] = words[choose_.below(std::size(words))];
        continue;
      }
      const bool whole = !is_float(type);
      double v = choose_.one_in(32) ? odd[choose_.below(std::size(odd))]
                                    : static_cast<double>(small()) / (whole ? 1 : 2);
      if (whole && !(std::abs(v) <= 0x1p53)) v = v > 0 ? 0x1p53 : -0x1p53;
      if (whole)
        store_int(t, i, static_cast<int64_t>(v));
      else
        store_double(t, i, v);
    }
    return t;
  }
  static bool is_float(DataType t) {
    return t == DataType::float32 || t == DataType::float64 || t == DataType::float16 ||
           t == DataType::bfloat16 || name_of(t).starts_with("float");
  }

  /// A value of this type ("float", "seq(int64)"); empty where there is none.
  std::string value(const std::string& type) {
    std::vector<std::string> fit;
    for (const auto& [name, known] : values_)
      if (known == type || known.empty()) fit.push_back(name);
    if (!fit.empty() && !choose_.one_in(3)) return fit[choose_.below(fit.size())];
    if (type.starts_with("seq(")) {
      const std::string of = value(type.substr(4, type.size() - 5));
      return of.empty() ? of : add_node("SequenceConstruct", {of}, type);
    }
    if (type.starts_with("optional(")) {
      const std::string of = value(type.substr(9, type.size() - 10));
      return of.empty() ? of : add_node("Optional", {of}, type);
    }
    const auto element = onnx::text::element_type(type);
    if (!element) return {};
    const std::string name = "x" + std::to_string(values_.size());
    Tensor t = tensor(*element);
    if (choose_.one_in(2)) {
      onnx::ValueInfoProto& info = graph_.input.emplace_back();
      info.name = name;
      onnx::TypeProto::Tensor declared;
      declared.elem_type = static_cast<int32_t>(*element);
      onnx::TensorShapeProto& shape = declared.shape.emplace();
      const bool open = choose_.one_in(3);
      for (size_t i = 0; i < t.shape().size(); ++i)
        if (open)
          shape.dim.emplace_back().dim_param = name + "_" + std::to_string(i);
        else
          shape.dim.emplace_back().dim_value = t.shape()[i];
      info.type.emplace().tensor_type = declared;
      inputs_.emplace(name, std::move(t));
    } else {
      graph_.initializer.push_back(onnx::from_tensor(t, name));
    }
    values_.emplace_back(name, type);
    return name;
  }

  std::string add_node(const char* op, std::vector<std::string> inputs, const std::string& type) {
    onnx::NodeProto& n = graph_.node.emplace_back();
    n.op_type = op;
    n.input = std::move(inputs);
    n.output = {"x" + std::to_string(values_.size())};
    values_.emplace_back(n.output[0], type);
    return n.output[0];
  }

  void attribute(const AttributeDecl& d, onnx::NodeProto& n) {
    using P = onnx::AttributeProto;
    P a;
    a.name = d.name;
    if (d.kind == "int") {
      a.i = choose_.one_in(16) ? INT64_MAX - static_cast<int64_t>(choose_.below(2)) : small();
      if (choose_.one_in(4)) a.i = static_cast<int64_t>(choose_.below(data_type_count));  // it may be a type
      a.type = P::INT;
    } else if (d.kind == "float") {
      a.f = static_cast<float>(small()) / 2;
      a.type = P::FLOAT;
    } else if (d.kind == "string") {
      a.s = onnx::Bytes(std::string(words[choose_.below(std::size(words))]));
      a.type = P::STRING;
    } else if (d.kind == "tensor") {
      constexpr DataType types[] = {DataType::float32, DataType::int64, DataType::string, DataType::float64};
      a.t = onnx::from_tensor(tensor(types[choose_.below(std::size(types))]));
      a.type = P::TENSOR;
    } else if (d.kind == "ints") {
      for (size_t i = choose_.below(6); i > 0; --i) a.ints.push_back(small());
      a.type = P::INTS;
    } else if (d.kind == "floats") {
      for (size_t i = choose_.below(6); i > 0; --i) a.floats.push_back(static_cast<float>(small()) / 2);
      a.type = P::FLOATS;
    } else if (d.kind == "strings") {
      for (size_t i = choose_.below(4); i > 0; --i)
        a.strings.emplace_back(std::string(words[choose_.below(std::size(words))]));
      a.type = P::STRINGS;
    } else {
      return;  // types and sparse tensors: what files have
    }
    n.attribute.push_back(std::move(a));
  }

  void node(const OpSchema& schema) {
    const Signature& s = schema.newest().signature();
    std::map<std::string, std::string> bound;
    const auto type_of = [&](const Parameter& p) {
      const TypeVariable* v = s.variable(p.type);
      if (!v) return p.type;
      if (p.arity != Parameter::Arity::heterogeneous)
        if (const auto at = bound.find(p.type); at != bound.end()) return at->second;
      std::vector<std::string> of_values;
      for (const auto& [name, type] : values_)
        if (std::ranges::find(v->types, type) != v->types.end()) of_values.push_back(type);
      const bool floats = std::ranges::find(v->types, "float") != v->types.end();
      std::string chosen = !of_values.empty() && !choose_.one_in(3)
                               ? of_values[choose_.below(of_values.size())]
                           : floats && !choose_.one_in(3) ? "float"
                                                          : v->types[choose_.below(v->types.size())];
      bound[p.type] = chosen;
      return chosen;
    };
    onnx::NodeProto n;
    n.op_type = schema.name();
    if (!schema.domain().empty()) n.domain = schema.domain();
    size_t count = s.min_inputs;
    while (count < std::min<size_t>(s.max_inputs, s.min_inputs + 6) && choose_.one_in(2)) ++count;
    for (size_t i = 0; i < count; ++i) {
      const Parameter& p = s.input(i);
      const bool absent = p.arity == Parameter::Arity::optional && choose_.one_in(2);
      n.input.push_back(absent ? std::string() : value(type_of(p)));
      if (!absent && n.input.back().empty()) return;
    }
    for (const AttributeDecl& d : s.attributes)
      if (d.required || choose_.one_in(3)) attribute(d, n);
    size_t outputs = std::max<size_t>(s.min_outputs, 1);
    while (outputs < std::min<size_t>(s.max_outputs, 6) && choose_.one_in(3)) ++outputs;
    std::vector<std::pair<std::string, std::string>> made;
    for (size_t i = 0; i < outputs; ++i) {
      const Parameter& p = s.output(i);
      const auto at = bound.find(p.type);
      made.emplace_back("y" + std::to_string(values_.size() + i),
                        s.variable(p.type) ? (at == bound.end() ? std::string() : at->second) : p.type);
      n.output.push_back(made.back().first);
    }
    values_.insert(values_.end(), made.begin(), made.end());
    graph_.node.push_back(std::move(n));
  }

  Choices choose_;
  onnx::GraphProto graph_;
  std::vector<std::pair<std::string, std::string>> values_;  // with their types; empty: not known
  NamedValues inputs_;
  Shape shape_;  // of the last tensor: shapes that fit each other are worth more
};

struct Outcome {
  Code build = Code::none, run = Code::none;
  NamedValues values;
};

Outcome outcome_of(const onnx::Model& m, const NamedValues& inputs, const char* backend) {
  BuildOptions options;
  options.threads = 1;
  options.backend = backend;
  options.memory_limit = options.fold_limit = uint64_t{16} << 20;
  Outcome o;
  std::optional<Engine> engine;
  o.build = code_of([&] { engine = Engine::build(m, options); });
  if (engine) o.run = code_of([&] { o.values = engine->create_context().run(inputs); });
  return o;
}

bool same_form(const Value& a, const Value& b) {
  if (a.is_tensor() != b.is_tensor()) return false;
  return !a.is_tensor() ||
         (a.tensor().type() == b.tensor().type() && a.tensor().shape() == b.tensor().shape());
}

}  // namespace

void run(Bytes data) {
  Maker maker(data);
  const onnx::Model m = maker.make();
  const Outcome want = outcome_of(m, maker.inputs(), "reference"), got = outcome_of(m, maker.inputs(), "cpu");
  require((want.build == Code::none) == (got.build == Code::none),
          "both backends accept a model, or neither");
  if (want.run != Code::none || got.run != Code::none)
    return;  // a limit of memory may meet one of them alone
  for (const auto& [name, value] : want.values)
    require(same_form(value, got.values.at(name)), "both backends give the same types and shapes");
}

}  // namespace lathe::fuzz
