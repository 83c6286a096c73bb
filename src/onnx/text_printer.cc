// Prints messages in the ONNX text format.
#include <charconv>
#include <cmath>

#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/text.h"
#include "tensor/element.h"

namespace lathe::onnx {
namespace {

using text::is_identifier;

class Printer {
 public:
  void print(const ModelProto& m) {
    out_ += "<\n   ir_version: ";
    number(m.ir_version.value_or(0));
    out_ += ",\n   opset_import: ";
    print(m.opset_import);
    key("producer_name", m.producer_name);
    key("producer_version", m.producer_version);
    key("domain", m.domain);
    if (m.model_version) {
      out_ += ",\n   model_version: ";
      number(*m.model_version);
    }
    key("doc_string", m.doc_string);
    if (!m.metadata_props.empty()) {
      out_ += ",\n   metadata_props: ";
      print(m.metadata_props);
    }
    out_ += "\n>\n";
    print(m.graph ? *m.graph : GraphProto());
    for (const FunctionProto& f : m.functions) {
      out_ += "\n";
      print(f);
    }
  }

  void print(const FunctionProto& f) {
    out_ += "<\n  domain: ";
    quoted(f.domain.value_or(""));
    if (f.overload && !f.overload->empty()) key("overload", f.overload);
    out_ += ",\n  opset_import: ";
    print(f.opset_import);
    key("doc_string", f.doc_string);
    out_ += "\n>\n";
    name(f.name.value_or(""));
    out_ += " ";
    if (!f.attribute.empty() || !f.attribute_proto.empty()) {
      out_ += "<";
      join(", ", f.attribute, [&](const std::string& s) { name(s); });
      if (!f.attribute.empty() && !f.attribute_proto.empty()) out_ += ", ";
      join(", ", f.attribute_proto, [&](const AttributeProto& a) { print(a); });
      out_ += "> ";
    }
    names("(", f.input, ")");
    out_ += " => ";
    names("(", f.output, ")");
    out_ += "\n";
    if (!f.value_info.empty()) {
      list("<", f.value_info, ">");
      out_ += "\n";
    }
    print(f.node);
  }

  void print(const GraphProto& g) {
    name(g.name.value_or(""));
    out_ += " ";
    list("(", g.input, ")");
    out_ += " => ";
    list("(", g.output, ")");
    out_ += " ";
    if (!g.initializer.empty() || !g.sparse_initializer.empty() || !g.value_info.empty()) {
      line();
      out_ += "<";
      const char* separator = "";
      auto next = [&] {
        out_ += separator;
        separator = ", ";
      };
      for (const TensorProto& t : g.initializer) next(), print(t, true);
      for (const SparseTensorProto& t : g.sparse_initializer) next(), print(t, true);
      for (const ValueInfoProto& v : g.value_info) next(), print(v);
      out_ += ">\n";
    }
    print(g.node);
  }

  void print(const NodeProto& n) {
    if (n.name) {
      out_ += "[";
      name(*n.name);
      out_ += "] ";
    }
    names("", n.output, "");
    out_ += n.output.empty() ? "= " : " = ";
    if (n.domain && !n.domain->empty()) {
      domain(*n.domain);
      out_ += ".";
    }
    name(n.op_type.value_or(""));
    if (n.overload && !n.overload->empty()) {
      out_ += ":";
      name(*n.overload);
    }
    // Attributes that hold graphs are long: the inputs stay near the operator.
    bool graphs = false;
    for (const AttributeProto& a : n.attribute) graphs |= a.g || !a.graphs.empty();
    auto attributes = [&] {
      if (n.attribute.empty()) return;
      out_ += " ";
      list("<", n.attribute, ">");
    };
    if (!graphs) attributes();
    names(" (", n.input, ")");
    if (graphs) attributes();
  }

  std::string take() { return std::move(out_); }

 private:
  // Words
  void quoted(std::string_view s) {
    out_ += '"';
    for (char c : s) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_ += '"';
  }
  void name(std::string_view s) {
    if (is_identifier(s) && !text::begins_type(s))
      out_ += s;
    else
      quoted(s);
  }
  void domain(std::string_view s) {
    bool plain = true;
    for (size_t at = 0; at <= s.size() && plain;) {
      const size_t dot = std::min(s.find('.', at), s.size());
      plain = is_identifier(s.substr(at, dot - at));
      at = dot + 1;
    }
    if (plain)
      out_ += s;
    else
      quoted(s);
  }
  template <class T>
  void number(T v) {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(v)) {
        out_ += std::signbit(v) ? "-nan" : "nan";
        return;
      }
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  void key(std::string_view word, const std::optional<std::string>& value) {
    if (!value) return;
    out_ += ",\n   ";
    out_ += word;
    out_ += ": ";
    quoted(*value);
  }
  void line() {
    out_ += "\n";
    out_.append(indent_, ' ');
  }

  // Lists
  template <class T, class F>
  void join(const char* separator, const T& items, F&& f) {
    const char* before = "";
    for (const auto& item : items) {
      out_ += before;
      f(item);
      before = separator;
    }
  }
  template <class T>
  void list(const char* open, const std::vector<T>& items, const char* close) {
    out_ += open;
    join(", ", items, [&](const T& item) { print(item); });
    out_ += close;
  }
  void names(const char* open, const std::vector<std::string>& items, const char* close) {
    out_ += open;
    join(", ", items, [&](const std::string& s) { name(s); });
    out_ += close;
  }
  template <class T>
  void numbers(const char* separator, const T& items) {
    join(separator, items, [&](auto v) { number(v); });
  }

  // Types
  void element(const std::optional<int32_t>& t) {
    const int32_t n = t.value_or(0);
    out_ += onnx_name_of(n > 0 && n < data_type_count ? static_cast<DataType>(n) : DataType::undefined);
  }
  void print(const TypeProto::Tensor& t) {
    element(t.elem_type);
    if (!t.shape)
      out_ += "[]";
    else if (!t.shape->dim.empty()) {
      out_ += "[";
      join(",", t.shape->dim, [&](const TensorShapeProto::Dimension& d) {
        if (d.dim_value)
          number(*d.dim_value);
        else if (d.dim_param)
          name(*d.dim_param);
        else
          out_ += "?";
      });
      out_ += "]";
    }
  }
  void print(const TypeProto& t) {
    auto inner = [&](const Boxed<TypeProto>& e) {
      if (e) print(*e);
      out_ += ")";
    };
    if (t.tensor_type) {
      print(*t.tensor_type);
    } else if (t.sequence_type) {
      out_ += "seq(";
      inner(t.sequence_type->elem_type);
    } else if (t.map_type) {
      out_ += "map(";
      element(t.map_type->key_type);
      out_ += ", ";
      inner(t.map_type->value_type);
    } else if (t.optional_type) {
      out_ += "optional(";
      inner(t.optional_type->elem_type);
    } else if (t.sparse_tensor_type) {
      out_ += "sparse_tensor(";
      print(*t.sparse_tensor_type);
      out_ += ")";
    } else if (t.opaque_type) {
      out_ += "opaque(";
      if (t.opaque_type->domain && !t.opaque_type->domain->empty()) {
        domain(*t.opaque_type->domain);
        out_ += ", ";
      }
      if (t.opaque_type->name && !t.opaque_type->name->empty()) domain(*t.opaque_type->name);
      out_ += ")";
    }
  }
  void print(const ValueInfoProto& v) {
    if (v.type) {
      const size_t before = out_.size();
      print(*v.type);
      if (out_.size() > before) out_ += " ";
    }
    name(v.name.value_or(""));
  }

  // Tensors
  void print(const TensorProto& t) { print(t, false); }
  void print(const SparseTensorProto& t) { print(t, false); }
  void tensor_type(const std::optional<int32_t>& type, const std::vector<int64_t>& dims) {
    element(type);
    if (dims.empty()) return;
    out_ += "[";
    numbers(",", dims);
    out_ += "]";
  }
  void tensor_name(const std::optional<std::string>& s, bool initializer) {
    if ((s && !s->empty()) || initializer) {
      out_ += " ";
      name(s.value_or(""));
    }
    out_ += initializer ? " = " : " ";
  }
  void print(const TensorProto& t, bool initializer) {
    tensor_type(t.data_type, t.dims);
    tensor_name(t.name, initializer);
    if (t.is_external()) {
      if (!initializer) out_ += "= ";  // else the bracket would be read as the shape of a scalar's type
      return print(t.external_data);
    }
    out_ += "{";
    data(to_tensor(t));
    out_ += "}";
  }
  void print(const SparseTensorProto& t, bool initializer) {
    const TensorProto none;
    const TensorProto& values = t.values ? *t.values : none;
    out_ += "sparse_tensor(";
    tensor_type(values.data_type, t.dims);
    out_ += ")";
    tensor_name(values.name, initializer);
    out_ += "{";
    print(values, false);
    out_ += ", ";
    print(t.indices ? *t.indices : none, false);
    out_ += "}";
  }
  /// Values are printed as the typed fields hold them: narrow floats by their bits, packed types by their
  /// bytes, complex numbers in pairs.
  void data(const Tensor& t) {
    const size_t n = static_cast<size_t>(t.size());
    auto elements = [&]<class T>(size_t count) {
      numbers(",", std::span(static_cast<const T*>(t.data()), count));
    };
    switch (t.type()) {
      case DataType::string:
        return join(", ", t.as<std::string>(), [&](const std::string& s) { quoted(s); });
      case DataType::float32:
        return elements.operator()<float>(n);
      case DataType::float64:
        return elements.operator()<double>(n);
      case DataType::complex64:
        return elements.operator()<float>(2 * n);
      case DataType::complex128:
        return elements.operator()<double>(2 * n);
      case DataType::int8:
        return elements.operator()<int8_t>(n);
      case DataType::int16:
        return elements.operator()<int16_t>(n);
      case DataType::int32:
        return elements.operator()<int32_t>(n);
      case DataType::int64:
        return elements.operator()<int64_t>(n);
      case DataType::uint32:
        return elements.operator()<uint32_t>(n);
      case DataType::uint64:
        return elements.operator()<uint64_t>(n);
      default:
        return bits_of(t.type()) == 16 ? elements.operator()<uint16_t>(n)
                                       : elements.operator()<uint8_t>(t.bytes());
    }
  }

  // Attributes
  static int32_t kind_of(const AttributeProto& a) {
    if (a.type && *a.type > 0 && *a.type < static_cast<int32_t>(text::attribute_types.size())) return *a.type;
    // Files of IR version 1 have no type.
    using A = AttributeProto;
    return a.f                         ? A::FLOAT
           : a.i                       ? A::INT
           : a.s                       ? A::STRING
           : a.t                       ? A::TENSOR
           : a.g                       ? A::GRAPH
           : a.sparse_tensor           ? A::SPARSE_TENSOR
           : a.tp                      ? A::TYPE_PROTO
           : !a.floats.empty()         ? A::FLOATS
           : !a.ints.empty()           ? A::INTS
           : !a.strings.empty()        ? A::STRINGS
           : !a.tensors.empty()        ? A::TENSORS
           : !a.graphs.empty()         ? A::GRAPHS
           : !a.sparse_tensors.empty() ? A::SPARSE_TENSORS
           : !a.type_protos.empty()    ? A::TYPE_PROTOS
                                       : A::UNDEFINED;
  }
  template <class T>
  void required(const T& member, const AttributeProto& a) {
    if (!member)
      throw Error(Code::node_bad_attribute, "print", "a value in attribute '" + a.name.value_or("") + "'",
                  "none", "set the field that its type names");
    print(*member);
  }
  void print(const AttributeProto& a) {
    const int32_t kind = kind_of(a);
    name(a.name.value_or(""));
    if (kind != AttributeProto::UNDEFINED) {  // undefined for a reference
      out_ += ": ";
      out_ += text::attribute_types[static_cast<size_t>(kind)];
    }
    out_ += " = ";
    if (a.ref_attr_name && !a.ref_attr_name->empty()) {
      out_ += "@";
      return name(*a.ref_attr_name);
    }
    indent_ += 3;
    switch (kind) {
      case AttributeProto::FLOAT:
        number(a.f.value_or(0));
        break;
      case AttributeProto::INT:
        number(a.i.value_or(0));
        break;
      case AttributeProto::STRING:
        quoted(a.s ? a.s->view() : std::string_view());
        break;
      case AttributeProto::TENSOR:
        required(a.t, a);
        break;
      case AttributeProto::GRAPH:
        required(a.g, a);
        break;
      case AttributeProto::SPARSE_TENSOR:
        required(a.sparse_tensor, a);
        break;
      case AttributeProto::TYPE_PROTO:
        required(a.tp, a);
        break;
      case AttributeProto::FLOATS:
        out_ += "[";
        numbers(", ", a.floats);
        out_ += "]";
        break;
      case AttributeProto::INTS:
        out_ += "[";
        numbers(", ", a.ints);
        out_ += "]";
        break;
      case AttributeProto::STRINGS:
        out_ += "[";
        join(", ", a.strings, [&](const Bytes& s) { quoted(s.view()); });
        out_ += "]";
        break;
      case AttributeProto::TENSORS:
        list("[", a.tensors, "]");
        break;
      case AttributeProto::GRAPHS:
        list("[", a.graphs, "]");
        break;
      case AttributeProto::SPARSE_TENSORS:
        list("[", a.sparse_tensors, "]");
        break;
      case AttributeProto::TYPE_PROTOS:
        list("[", a.type_protos, "]");
        break;
      default:
        break;
    }
    indent_ -= 3;
  }

  void print(const OperatorSetIdProto& o) {
    quoted(o.domain.value_or(""));
    out_ += " : ";
    number(o.version.value_or(0));
  }
  void print(const std::vector<OperatorSetIdProto>& imports) { list("[", imports, "]"); }
  void print(const StringStringEntryProto& e) {
    quoted(e.key.value_or(""));
    out_ += ": ";
    quoted(e.value.value_or(""));
  }
  void print(const Entries& entries) { list("[", entries, "]"); }
  void print(const std::vector<NodeProto>& nodes) {
    out_ += "{";
    for (const NodeProto& n : nodes) {
      line();
      print(n);
    }
    indent_ -= 3;
    line();
    indent_ += 3;
    out_ += "}";
  }

  std::string out_;
  size_t indent_ = 3;
};

}  // namespace

template <class Message>
std::string to_text(const Message& m) {
  Printer p;
  p.print(m);
  return p.take();
}

template LATHE_API std::string to_text(const ModelProto&);
template LATHE_API std::string to_text(const GraphProto&);
template LATHE_API std::string to_text(const FunctionProto&);
template LATHE_API std::string to_text(const NodeProto&);

}  // namespace lathe::onnx
