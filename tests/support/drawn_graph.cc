#include "support/drawn_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx/importer.h"
#include "onnx/text.h"
#include "schema/schema.h"
#include "support/case_model.h"
#include "support/choices.h"
#include "support/error_code.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace {

/// An operator without bodies: those need graphs that fit, which models of files have (the import target).
struct Drawable {
  const OpSchema* schema;
  std::vector<const OpCase*> cases;  // small, in the newest version
};

/// The operators that graphs are drawn from, and the attributes of their cases.
struct Vocabulary {
  Vocabulary();
  CaseTable table;
  std::vector<Drawable> operators;
  std::map<std::pair<std::string, std::string>, std::vector<onnx::AttributeProto>>
      attributes;  // by name and kind
  std::vector<std::string> words{"", "a", "B c", "1.5"};
};

bool is_small(const OpCase& c) {
  return std::ranges::all_of(c.inputs,
                             [](const Value& v) { return !v.is_tensor() || v.tensor().size() <= 256; });
}

Vocabulary::Vocabulary() {
  collect_all_cases(table);
  std::map<const OpSchema*, std::vector<const OpCase*>> cases;
  for (const OpCase& c : table.all()) {
    if (c.opset != 0 || !is_small(c)) continue;
    cases[SchemaCatalog::standard().find(c.domain, c.op)].push_back(&c);
    onnx::ModelProto model = model_of(c);
    for (onnx::AttributeProto& a : model.graph->node[0].attribute) {
      if (a.type == onnx::AttributeProto::STRING) words.emplace_back(a.s->view());
      auto& said =
          attributes[{*a.name, std::string(onnx::text::attribute_types.at(static_cast<size_t>(*a.type)))}];
      said.push_back(std::move(a));
    }
  }
  for (const auto& [key, schema] : SchemaCatalog::standard().all()) {
    if (schema.newest().deprecated || schema.domain() == "com.microsoft" || schema.domain() == "lathe")
      continue;
    if (std::ranges::none_of(schema.newest().signature().attributes,
                             [](const AttributeDecl& a) { return a.kind.starts_with("graph"); }))
      operators.push_back({&schema, std::move(cases[&schema])});
  }
}

const Vocabulary& vocabulary() {
  static const Vocabulary v;
  return v;
}

class Maker {
 public:
  explicit Maker(std::span<const uint8_t> b) : choose_(b) {}

  onnx::Model make() {
    const size_t nodes = 1 + choose_.below(4);
    for (size_t i = 0; i < nodes && node(choose_.of(vocabulary().operators)); ++i) {
    }
    for (onnx::ValueInfoProto& info : drawing_.graph.input)
      if (info.type->tensor_type && choose_.one_in(3)) leave_open(*info.type->tensor_type, *info.name);
    std::vector<std::string> made;
    for (const onnx::NodeProto& n : drawing_.graph.node)
      made.insert(made.end(), n.output.begin(), n.output.end());
    return model(made);
  }
  const NamedValues& inputs() const { return drawing_.inputs; }

 private:
  struct Known {
    std::string name;
    ValueType type;
  };
  struct Drawing {
    onnx::GraphProto graph;
    NamedValues inputs;
    std::vector<Known> values;
  };

  onnx::Model model(const std::vector<std::string>& outputs) const {
    onnx::Model m;
    m.proto.ir_version = newest_ir_version;
    for (const auto& [domain, version] : {std::pair{"", int64_t{newest_opset}},
                                          {"ai.onnx.ml", 5},
                                          {"ai.onnx.preview", 1},
                                          {"ai.onnx.preview.training", 1}})
      m.proto.opset_import.push_back({domain, version, {}});
    m.proto.graph = drawing_.graph;
    m.proto.graph->name = "drawn";
    for (const std::string& name : outputs) m.proto.graph->output.emplace_back().name = name;
    return m;
  }

  static void leave_open(onnx::TypeProto::Tensor& type, const std::string& name) {
    int axis = 0;
    for (auto& d : type.shape->dim) {
      d.dim_value.reset();
      d.dim_param = name + "_" + std::to_string(axis++);
    }
  }

  /// Adds a node; false where none can follow, since inference refuses it.
  bool node(const Drawable& of) {
    for (int tries = 0; tries < 4 && (tries == 0 || choose_.any()); ++tries) {
      const Drawing before = drawing_;
      if (of.cases.empty() || choose_.one_in(4))
        drawn(of.schema->newest().signature());
      else
        like(*choose_.of(of.cases), of.schema->newest().signature());
      onnx::NodeProto& n = drawing_.graph.node.back();
      n.op_type = of.schema->name();
      n.domain = of.schema->domain();
      if (typed(n.output)) return true;
      if (choose_.one_in(16)) return false;
      drawing_ = before;
    }
    return true;
  }

  /// Notes the types of these values; false where the graph is refused.
  bool typed(const std::vector<std::string>& outputs) {
    return code_of([&] {
             const auto graph = import_model(model(outputs), SchemaCatalog::standard());
             for (const ValueId v : graph->outputs())
               drawing_.values.push_back({graph->value(v).name, graph->value(v).type});
           }) == Code::none;
  }

  int64_t small() { return static_cast<int64_t>(choose_.below(10)) - 3; }

  /// A shape that some value has, or another.
  Shape shape() {
    if (!drawing_.values.empty() && !choose_.one_in(4))
      if (const auto& known = choose_.of(drawing_.values).type.shape;
          known &&
          std::ranges::all_of(*known, [](const Dim& d) { return d.is_constant() && d.constant() < 16; })) {
        Shape s;
        for (const Dim& d : *known) s.push_back(d.constant());
        return s;
      }
    Shape s;
    for (size_t rank = choose_.below(5); rank > 0; --rank)
      s.push_back(choose_.one_in(16) ? 0 : 1 + static_cast<int64_t>(choose_.below(4)));
    return s;
  }

  Tensor tensor(DataType type, const Shape& s) {
    Tensor t(type, s);
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
        t.as<std::string>()[static_cast<size_t>(i)] = choose_.of(vocabulary().words);
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

  /// The same numbers in another type; itself where they are none.
  static Tensor converted(const Tensor& t, DataType type) {
    const auto real = [](DataType of) {
      return of != DataType::string && of != DataType::complex64 && of != DataType::complex128;
    };
    if (!real(t.type()) || !real(type)) return t;
    Tensor made(type, t.shape());
    for (int64_t i = 0; i < t.size(); ++i) store_double(made, i, load_double(t, i));
    return made;
  }

  /// The name of an input or a constant that holds `v`.
  std::string fresh(const Value& v, bool constant) {
    const std::string name = "x" + std::to_string(drawing_.values.size());
    onnx::TypeProto type = type_of_value(v);
    if (v.is_tensor())
      drawing_.values.push_back({name, ValueType::tensor(v.tensor().type(), symbolic(v.tensor().shape()))});
    else
      drawing_.values.push_back({name, {}});
    if (constant && v.is_tensor()) {
      drawing_.graph.initializer.push_back(onnx::from_tensor(v.tensor(), name));
    } else {
      onnx::ValueInfoProto& info = drawing_.graph.input.emplace_back();
      info.name = name;
      info.type = std::move(type);
      drawing_.inputs.emplace(name, v);
    }
    return name;
  }

  /// Some value of this type and, where the type has one, this shape; "" where there is none.
  std::string known(const ValueType& type) {
    std::vector<std::string> fit;
    for (const Known& k : drawing_.values)
      if (k.type.known() && k.type.str(false) == type.str(false) && unify(k.type, type))
        fit.push_back(k.name);
    return fit.empty() ? std::string() : choose_.of(fit);
  }

  static SymShape symbolic(const Shape& s) { return {s.begin(), s.end()}; }

  /// A node like the case's.
  void like(const OpCase& c, const Signature& s) {
    onnx::NodeProto n = model_of(c).graph->node[0];
    std::map<std::string, DataType> other;  // types for these variables
    for (const TypeVariable& v : s.variables)
      if (choose_.one_in(6))
        if (const auto element = onnx::text::element_type(choose_.of(v.types))) other[v.name] = *element;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (c.inputs[i].empty()) continue;
      if (!c.inputs[i].is_tensor()) {
        n.input[i] = fresh(c.inputs[i], false);
        continue;
      }
      Tensor t = c.inputs[i].tensor();
      if (const auto at = other.find(s.input(i).type); at != other.end()) t = converted(t, at->second);
      const bool reshaped = choose_.one_in(12);
      if (reshaped || choose_.one_in(8)) t = tensor(t.type(), reshaped ? shape() : t.shape());
      const bool constant = c.constant[i] != choose_.one_in(4);
      n.input[i] =
          constant || choose_.one_in(3) ? "" : known(ValueType::tensor(t.type(), symbolic(t.shape())));
      if (n.input[i].empty()) n.input[i] = fresh(t, constant);
    }
    std::erase_if(n.attribute, [&](const auto&) { return choose_.one_in(12); });
    for (const AttributeDecl& d : s.attributes)
      if (choose_.one_in(12)) {
        std::erase_if(n.attribute, [&](const auto& a) { return a.name == d.name; });
        attribute(d, n);
      }
    add(std::move(n), c.outputs);
  }

  /// A node that the signature allows.
  void drawn(const Signature& s) {
    std::map<std::string, std::string> bound;
    const auto type_of = [&](const Parameter& p) {
      const TypeVariable* v = s.variable(p.type);
      if (!v) return p.type;
      if (p.arity != Parameter::Arity::heterogeneous)
        if (const auto at = bound.find(p.type); at != bound.end()) return at->second;
      std::vector<std::string> of_values;
      for (const Known& k : drawing_.values)
        if (v->allows(k.type)) of_values.push_back(k.type.str(false));
      const bool floats = std::ranges::find(v->types, "float") != v->types.end();
      return bound[p.type] = !of_values.empty() && !choose_.one_in(3) ? choose_.of(of_values)
                             : floats && !choose_.one_in(3)           ? "float"
                                                                      : choose_.of(v->types);
    };
    onnx::NodeProto n;
    size_t count = s.min_inputs;
    while (count < std::min<size_t>(s.max_inputs, s.min_inputs + 6) && choose_.one_in(2)) ++count;
    for (size_t i = 0; i < count; ++i) {
      const Parameter& p = s.input(i);
      const bool absent = p.arity == Parameter::Arity::optional && choose_.one_in(2);
      n.input.push_back(absent ? std::string() : value(ValueType::parse(type_of(p))));
    }
    for (const AttributeDecl& d : s.attributes)
      if (d.required || choose_.one_in(3)) attribute(d, n);
    size_t outputs = std::max<size_t>(s.min_outputs, 1);
    while (outputs < std::min<size_t>(s.max_outputs, 6) && choose_.one_in(3)) ++outputs;
    add(std::move(n), outputs);
  }

  /// A value of this type, with or without its being optional; "" for what is neither tensor nor sequence.
  std::string value(const ValueType& type) {
    if (!choose_.one_in(3))
      if (std::string name = known(type); !name.empty()) return name;
    if (type.kind == ValueType::Kind::optional) return value(*type.inner);
    if (type.kind == ValueType::Kind::sequence && type.inner->is_tensor()) {
      Sequence items{.elem = type.inner->elem};
      for (size_t n = choose_.below(3); n > 0; --n) items.items->push_back(tensor(type.inner->elem, shape()));
      return fresh(items, false);
    }
    if (!type.is_tensor()) return {};
    return fresh(tensor(type.elem, choose_.one_in(4) ? Shape{} : shape()), choose_.one_in(2));
  }

  void add(onnx::NodeProto n, size_t outputs) {
    n.output.clear();
    for (size_t i = 0; i < outputs; ++i)
      n.output.push_back("y" + std::to_string(drawing_.graph.node.size()) + "_" + std::to_string(i));
    drawing_.graph.node.push_back(std::move(n));
  }

  void attribute(const AttributeDecl& d, onnx::NodeProto& n) {
    using P = onnx::AttributeProto;
    const auto said = vocabulary().attributes.find({d.name, d.kind});
    if (said != vocabulary().attributes.end() && !choose_.one_in(3)) {
      n.attribute.push_back(choose_.of(said->second));
      return;
    }
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
      a.s = onnx::Bytes(choose_.of(vocabulary().words));
      a.type = P::STRING;
    } else if (d.kind == "tensor") {
      constexpr DataType types[] = {DataType::float32, DataType::int64, DataType::string, DataType::float64};
      a.t = onnx::from_tensor(tensor(types[choose_.below(std::size(types))], shape()));
      a.type = P::TENSOR;
    } else if (d.kind == "ints") {
      for (size_t i = choose_.below(6); i > 0; --i) a.ints.push_back(small());
      a.type = P::INTS;
    } else if (d.kind == "floats") {
      for (size_t i = choose_.below(6); i > 0; --i) a.floats.push_back(static_cast<float>(small()) / 2);
      a.type = P::FLOATS;
    } else if (d.kind == "strings") {
      for (size_t i = choose_.below(4); i > 0; --i) a.strings.emplace_back(choose_.of(vocabulary().words));
      a.type = P::STRINGS;
    } else {
      return;  // types and sparse tensors: what files have
    }
    n.attribute.push_back(std::move(a));
  }

  Choices choose_;
  Drawing drawing_;
};

}  // namespace

DrawnGraph draw_graph(std::span<const uint8_t> choices) {
  Maker maker(choices);
  onnx::Model model = maker.make();
  return {std::move(model), maker.inputs()};
}

}  // namespace lathe::testing
