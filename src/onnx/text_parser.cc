// Parses messages in the ONNX text format.
#include <algorithm>

#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/load.h"
#include "onnx/memory_budget.h"
#include "onnx/text.h"
#include "onnx/text_scanner.h"

namespace lathe::onnx {
namespace {

class Parser {
 public:
  Parser(std::string_view all, RunControl* control) : in_(all, control), budget_(all.size()) {}

  void parse(ModelProto& m) {
    header([&](std::string_view key) {
      if (key == "ir_version")
        m.ir_version = in_.number_of<int64_t>();
      else if (key == "opset_import")
        imports(m.opset_import);
      else if (key == "producer_name")
        m.producer_name = in_.quoted();
      else if (key == "producer_version")
        m.producer_version = in_.quoted();
      else if (key == "domain")
        m.domain = in_.quoted();
      else if (key == "model_version")
        m.model_version = in_.number_of<int64_t>();
      else if (key == "doc_string")
        m.doc_string = in_.quoted();
      else if (key == "metadata_props")
        entries(m.metadata_props);
      else
        in_.fail("a key of the model's header");
    });
    parse(m.graph.emplace());
    while (!in_.at_end()) parse(add(m.functions));
  }

  void parse(FunctionProto& f) {
    header([&](std::string_view key) {
      if (key == "opset_import")
        imports(f.opset_import);
      else if (key == "doc_string")
        f.doc_string = in_.quoted();
      else if (key == "domain")
        f.domain = in_.quoted();
      else if (key == "overload")
        f.overload = in_.quoted();
      else
        in_.fail("a key of the function's header");
    });
    f.name = name();
    if (in_.peek() == '<')
      list('<', '>', [&] {
        std::string s = name();
        if (in_.peek() != ':' && in_.peek() != '=') {
          add(f.attribute) = std::move(s);
          return;
        }
        AttributeProto& a = add(f.attribute_proto);
        a.name = std::move(s);
        value_of(a);
      });
    const auto parameters = [&](std::vector<std::string>& names) {
      list('(', ')', [&] {
        ValueInfoProto v;
        parse(v);
        add(names) = *v.name;
        if (v.type) add(f.value_info) = std::move(v);
      });
    };
    parameters(f.input);
    arrow();
    parameters(f.output);
    if (in_.peek() == '<') list('<', '>', [&] { parse(add(f.value_info)); });
    nodes(f.node);
  }

  void parse(GraphProto& g) {
    const Nesting nesting(*this);
    g.name = name();
    list('(', ')', [&] {
      ValueInfoProto& v = add(g.input);
      parse(v);
      if (in_.take('=')) initializer(v, g);
    });
    arrow();
    list('(', ')', [&] { parse(add(g.output)); });
    if (in_.peek() == '<')
      list('<', '>', [&] {
        ValueInfoProto v;
        parse(v);
        if (in_.take('='))
          initializer(v, g);
        else
          add(g.value_info) = std::move(v);
      });
    nodes(g.node);
  }

  void parse(NodeProto& n) {
    if (in_.take('[')) {
      n.name = in_.peek() == ']' ? "" : name();
      in_.need(']');
    }
    operands(n.output);
    in_.need('=');
    std::string domain, word = name();
    while (in_.take('.')) {
      domain += (domain.empty() ? "" : ".") + word;
      word = name();
    }
    if (!domain.empty()) n.domain = std::move(domain);
    n.op_type = std::move(word);
    if (in_.take(':')) n.overload = name();
    // Attributes are before or after the inputs.
    const auto attributes = [&] {
      if (in_.peek() == '<')
        list('<', '>', [&] {
          AttributeProto& a = add(n.attribute);
          a.name = name();
          value_of(a);
        });
    };
    attributes();
    in_.need('(');
    operands(n.input);
    in_.need(')');
    if (n.attribute.empty()) attributes();
  }

  void finish() {
    if (!in_.at_end()) in_.fail("the end of the text");
  }

 private:
  static constexpr int max_nesting = 100;
  struct Nesting {
    explicit Nesting(Parser& parser) : p(parser) {
      if (++p.nesting_ > max_nesting)
        p.in_.fail("graphs and types nested at most " + std::to_string(max_nesting) + " deep");
    }
    ~Nesting() { --p.nesting_; }
    Parser& p;
  };

  template <class T>
  T& add(std::vector<T>& list) {
    if (!budget_.take(sizeof(T)))
      throw Error(Code::wire_too_large, "parse text",
                  "messages that take at most " + std::to_string(budget_.all()) + " bytes of memory", "more",
                  "texts made of millions of empty messages are refused");
    return list.emplace_back();
  }

  // Words and lists
  std::string name() {
    if (in_.peek() == '"') return in_.quoted();
    const std::string_view w = in_.word();
    if (w.empty()) in_.fail("a name");
    return std::string(w);
  }
  bool name_follows() { return in_.peek() == '"' || text::is_letter(in_.peek()); }
  template <class F>
  void items(char close, F&& f) {
    if (in_.take(close)) return;
    do f();
    while (in_.take(','));
    in_.need(close);
  }
  template <class F>
  void list(char open, char close, F&& f) {
    in_.need(open);
    items(close, f);
  }
  void arrow() {
    in_.need('=');
    in_.need('>');
  }
  /// Reads names of inputs or outputs; nothing before a comma is an empty name, a trailing comma is ignored.
  void operands(std::vector<std::string>& names) {
    while (name_follows() || in_.peek() == ',') {
      std::string& s = add(names);
      if (in_.peek() != ',') s = name();
      if (!in_.take(',')) return;
    }
  }
  template <class F>
  void header(F&& on_key) {
    if (in_.peek() != '<') return;
    list('<', '>', [&] {
      const std::string_view key = in_.word();
      in_.need(':');
      on_key(key);
    });
  }
  void imports(std::vector<OperatorSetIdProto>& to) {
    list('[', ']', [&] {
      OperatorSetIdProto& o = add(to);
      o.domain = in_.quoted();
      in_.need(':');
      o.version = in_.number_of<int64_t>();
    });
  }
  void entries(Entries& to) {
    list('[', ']', [&] {
      StringStringEntryProto& e = add(to);
      e.key = in_.quoted();
      in_.need(':');
      e.value = in_.quoted();
    });
  }
  void nodes(std::vector<NodeProto>& to) {
    in_.need('{');
    while (!in_.take('}')) parse(add(to));
  }

  // Types
  DataType element() {
    const auto t = text::element_type(in_.peek_word());
    if (!t) in_.fail("an element type");
    in_.word();
    return *t;
  }
  /// "float": a scalar; "float[]": of unknown rank; "float[N, 3, ?]".
  TypeProto::Tensor tensor_type() {
    TypeProto::Tensor t;
    t.elem_type = static_cast<int32_t>(element());
    if (!in_.take('[')) {
      t.shape.emplace();
    } else if (!in_.take(']')) {
      auto& dims = t.shape.emplace().dim;
      items(']', [&] {
        TensorShapeProto::Dimension& d = add(dims);
        if (in_.take('?')) return;
        if (name_follows())
          d.dim_param = name();
        else
          d.dim_value = in_.number_of<int64_t>();
      });
    }
    return t;
  }
  void parse(TypeProto& t) {
    const Nesting nesting(*this);
    const std::string_view w = in_.peek_word();
    if (text::element_type(w)) {
      t.tensor_type = tensor_type();
      return;
    }
    if (!text::begins_type(w)) in_.fail("a type");
    in_.word();
    in_.need('(');
    if (w == text::sequence) {
      parse(t.sequence_type.emplace().elem_type.emplace());
    } else if (w == text::optional) {
      parse(t.optional_type.emplace().elem_type.emplace());
    } else if (w == text::map) {
      t.map_type.emplace().key_type = static_cast<int32_t>(element());
      in_.need(',');
      parse(t.map_type->value_type.emplace());
    } else if (w == text::sparse_tensor) {
      t.sparse_tensor_type = tensor_type();
    } else {
      TypeProto::Opaque& o = t.opaque_type.emplace();
      if (in_.peek() != ')') o.name = dotted_name();
      if (in_.take(',')) {
        o.domain = std::move(o.name);
        o.name = dotted_name();
      }
    }
    in_.need(')');
  }
  std::string dotted_name() {
    std::string s = name();
    while (in_.take('.')) s += "." + name();
    return s;
  }
  void parse(ValueInfoProto& v) {
    if (text::begins_type(in_.peek_word())) parse(v.type.emplace());
    v.name = name();
  }

  // Tensors
  void initializer(const ValueInfoProto& v, GraphProto& g) {
    if (v.type && v.type->sparse_tensor_type) {
      SparseTensorProto& t = add(g.sparse_initializer);
      sparse_data(t, *v.type->sparse_tensor_type);
      t.values->name = v.name;
    } else if (v.type && v.type->tensor_type) {
      TensorProto& t = add(g.initializer);
      t.name = v.name;
      data(t, *v.type->tensor_type);
    } else {
      in_.fail("the type of a tensor before the data");
    }
  }
  std::vector<int64_t> numeric_dims(const TypeProto::Tensor& type) {
    std::vector<int64_t> dims;
    if (!type.shape) in_.fail("a shape before the data");
    for (const TensorShapeProto::Dimension& d : type.shape->dim) {
      if (!d.dim_value) in_.fail("a shape of numbers before the data");
      dims.push_back(*d.dim_value);
    }
    return dims;
  }
  void sparse_data(SparseTensorProto& t, const TypeProto::Tensor& type) {
    t.dims = numeric_dims(type);
    in_.need('{');
    parse(t.values.emplace());
    in_.need(',');
    parse(t.indices.emplace());
    in_.need('}');
  }
  void parse(TensorProto& t) {
    const TypeProto::Tensor type = tensor_type();
    if (name_follows()) t.name = name();
    in_.take('=');
    data(t, type);
  }
  template <class T>
  void numbers(std::vector<T>& to) {
    items('}', [&] { to.push_back(in_.number_of<T>()); });
  }
  /// Values go into the typed field of the type; narrow floats are written by their bits, packed types by
  /// their bytes.
  void data(TensorProto& t, const TypeProto::Tensor& type) {
    t.dims = numeric_dims(type);
    t.data_type = type.elem_type;
    if (in_.peek() == '[') {
      t.data_location = 1;
      return entries(t.external_data);
    }
    in_.need('{');
    switch (static_cast<DataType>(*type.elem_type)) {
      case DataType::float32:
      case DataType::complex64:
        return numbers(t.float_data);
      case DataType::float64:
      case DataType::complex128:
        return numbers(t.double_data);
      case DataType::int64:
        return numbers(t.int64_data);
      case DataType::uint32:
      case DataType::uint64:
        return numbers(t.uint64_data);
      case DataType::string:
        return items('}', [&] { add(t.string_data) = Bytes(in_.quoted()); });
      default:
        return numbers(t.int32_data);
    }
  }

  // Attributes
  static bool is_list(int32_t type) {
    return (type >= AttributeProto::FLOATS && type <= AttributeProto::GRAPHS) ||
           type == AttributeProto::SPARSE_TENSORS || type == AttributeProto::TYPE_PROTOS;
  }
  static int32_t list_of(int32_t type) {
    return type <= AttributeProto::GRAPH ? type + (AttributeProto::FLOATS - AttributeProto::FLOAT) : type + 1;
  }
  static int32_t element_of(int32_t type) {
    return type <= AttributeProto::GRAPHS ? type - (AttributeProto::FLOATS - AttributeProto::FLOAT)
                                          : type - 1;
  }

  void value_of(AttributeProto& a) {
    int32_t wanted = AttributeProto::UNDEFINED;
    if (in_.take(':')) {
      const auto at =
          std::find(text::attribute_types.begin() + 1, text::attribute_types.end(), in_.peek_word());
      if (at == text::attribute_types.end()) in_.fail("the type of an attribute");
      in_.word();
      wanted = static_cast<int32_t>(at - text::attribute_types.begin());
    }
    in_.need('=');
    if (in_.take('@')) {
      a.ref_attr_name = name();
      if (wanted) a.type = wanted;
    } else if (in_.take('[')) {
      if (wanted && !is_list(wanted)) in_.fail("one value, for the type is no list");
      if (!wanted && in_.peek() == ']') in_.fail("a type before an empty list");
      int32_t element = wanted ? element_of(wanted) : AttributeProto::UNDEFINED;
      items(']', [&] {
        AttributeProto one;
        single(one, element);
        element = *one.type;
        append(a, std::move(one));
      });
      a.type = list_of(element);
    } else {
      if (is_list(wanted)) in_.fail("a list in brackets");
      single(a, wanted);
    }
  }
  void append(AttributeProto& a, AttributeProto one) {
    switch (*one.type) {
      case AttributeProto::FLOAT:
        add(a.floats) = *one.f;
        break;
      case AttributeProto::INT:
        add(a.ints) = *one.i;
        break;
      case AttributeProto::STRING:
        add(a.strings) = std::move(*one.s);
        break;
      case AttributeProto::TENSOR:
        add(a.tensors) = std::move(*one.t);
        break;
      case AttributeProto::GRAPH:
        add(a.graphs) = std::move(*one.g);
        break;
      case AttributeProto::SPARSE_TENSOR:
        add(a.sparse_tensors) = std::move(*one.sparse_tensor);
        break;
      default:
        add(a.type_protos) = std::move(*one.tp);
    }
  }
  /// Reads one value; without a wanted type it follows from the form of the value.
  void single(AttributeProto& a, int32_t wanted) {
    const std::string_view w = in_.peek_word();
    if (wanted == AttributeProto::GRAPH) {
      a.type = wanted;
      parse(a.g.emplace());
    } else if (in_.peek() == '"') {
      a.type = AttributeProto::STRING;
      a.s = Bytes(in_.quoted());
    } else if (text::begins_type(w)) {
      typed(a);
    } else if (w.empty() || text::is_number_word(w)) {
      const std::string_view digits = in_.number();
      if (text::Scanner::is_integer(digits) && wanted != AttributeProto::FLOAT) {
        a.type = AttributeProto::INT;
        a.i = in_.as<int64_t>(digits);
      } else {
        a.type = AttributeProto::FLOAT;
        a.f = in_.as<float>(digits);
      }
    } else {
      a.type = AttributeProto::GRAPH;
      parse(a.g.emplace());
    }
    if (wanted && a.type != wanted)
      in_.fail("a value of the type " + std::string(text::attribute_types[static_cast<size_t>(wanted)]));
  }
  /// A type alone, or a tensor of that type.
  void typed(AttributeProto& a) {
    TypeProto type;
    parse(type);
    const char c = in_.peek();
    if (c != '{' && c != '=' && c != '[' && !name_follows()) {
      a.type = AttributeProto::TYPE_PROTO;
      a.tp = std::move(type);
      return;
    }
    std::optional<std::string> own_name;
    if (name_follows()) own_name = name();
    in_.take('=');
    if (type.tensor_type) {
      a.type = AttributeProto::TENSOR;
      a.t.emplace().name = std::move(own_name);
      data(*a.t, *type.tensor_type);
    } else if (type.sparse_tensor_type) {
      a.type = AttributeProto::SPARSE_TENSOR;
      sparse_data(a.sparse_tensor.emplace(), *type.sparse_tensor_type);
      if (own_name) a.sparse_tensor->values->name = std::move(own_name);
    } else {
      in_.fail("the type of a tensor before the data");
    }
  }

  text::Scanner in_;
  MemoryBudget budget_;
  int nesting_ = 0;
};

}  // namespace

template <class Message>
Message from_text(std::string_view text) {
  return from_text<Message>(text, nullptr);
}

template <class Message>
Message from_text(std::string_view text, RunControl* control) {
  Message m;
  Parser p(text, control);
  p.parse(m);
  p.finish();
  return m;
}

template ModelProto from_text(std::string_view, RunControl*);
template LATHE_API ModelProto from_text(std::string_view);
template LATHE_API GraphProto from_text(std::string_view);
template LATHE_API FunctionProto from_text(std::string_view);
template LATHE_API NodeProto from_text(std::string_view);

}  // namespace lathe::onnx
