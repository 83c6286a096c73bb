#include "exporters/merge.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error_about.h"

namespace lathe::exporters {
namespace {

using onnx::GraphProto;
using onnx::TensorProto;

/// Returns whether ONNX Runtime requires the tensor inside of the branches: its optimizer looks for shapes
/// and axes there.
bool stays_inside(const TensorProto& t) {
  const bool integers = t.data_type == static_cast<int32_t>(DataType::int64) ||
                        t.data_type == static_cast<int32_t>(DataType::int32);
  return t.dims.empty() || (t.dims.size() == 1 && integers);
}

bool same_contents(const TensorProto& a, const TensorProto& b) {
  if (a.dims != b.dims || a.data_type != b.data_type || !a.raw_data || !b.raw_data) return false;
  return a.raw_data->data() == b.raw_data->data() || a.raw_data->view() == b.raw_data->view();
}

/// Renames a value everywhere in the nodes of a graph and their bodies.
void rename(GraphProto& g, const std::string& from, const std::string& to) {
  for (onnx::NodeProto& n : g.node) {
    for (auto* names : {&n.input, &n.output}) std::ranges::replace(*names, from, to);
    for (onnx::AttributeProto& a : n.attribute) {
      if (a.g) rename(*a.g, from, to);
      for (GraphProto& body : a.graphs) rename(body, from, to);
    }
  }
}

/// Moves the weights of both branches into the graph around them; equal ones become one.
std::vector<TensorProto> take_weights(GraphProto& no_past, GraphProto& with_past) {
  std::vector<TensorProto> outer;
  std::map<std::string, size_t> by_name;
  for (GraphProto* g : {&no_past, &with_past}) {
    std::vector<TensorProto> inner;
    for (TensorProto& t : g->initializer) {
      if (stays_inside(t)) {
        inner.push_back(std::move(t));
        continue;
      }
      const auto at = by_name.find(*t.name);
      if (at != by_name.end() && same_contents(outer[at->second], t)) continue;
      if (at != by_name.end()) {
        const std::string other = *t.name + ".with_past";
        rename(*g, *t.name, other);
        t.name = other;
      }
      by_name[*t.name] = outer.size();
      outer.push_back(std::move(t));
    }
    g->initializer = std::move(inner);
  }
  return outer;
}

/// Names inside of a branch must differ from those around it.
void keep_apart(GraphProto& branch, const std::set<std::string>& outside, const std::string& suffix) {
  for (TensorProto& t : branch.initializer)
    if (outside.contains(*t.name)) {
      rename(branch, *t.name, *t.name + suffix);
      t.name = *t.name + suffix;
    }
}

/// Adds an empty tensor, of the same type and rank, for an output that `with_past` lacks.
void add_empty_output(GraphProto& g, const onnx::ValueInfoProto& like, size_t at) {
  TensorProto nothing;
  nothing.data_type = like.type->tensor_type->elem_type;
  bool empty = false;
  for (const auto& d : like.type->tensor_type->shape->dim) {
    nothing.dims.push_back(d.dim_value ? *d.dim_value : empty ? 1 : 0);
    empty = empty || !d.dim_value;
  }
  if (!empty)
    throw error_about(Code::bad_argument, "export", *like.name,
                      "an output that both decoders give, or one of any size",
                      "one of fixed size that the decoder with past lacks", "export with --no-post-process");
  nothing.raw_data = onnx::Bytes(std::string());
  onnx::NodeProto constant;
  constant.op_type = "Constant";
  constant.name = "/empty/" + *like.name;
  constant.output = {*like.name};
  onnx::AttributeProto value;
  value.name = "value";
  value.type = onnx::AttributeProto::TENSOR;
  value.t.emplace() = std::move(nothing);
  constant.attribute.push_back(std::move(value));
  g.node.push_back(std::move(constant));
  g.output.insert(g.output.begin() + static_cast<std::ptrdiff_t>(at), like);
}

void unify_outputs(const GraphProto& no_past, GraphProto& with_past) {
  const auto has = [](const GraphProto& g, const std::string& name) {
    return std::ranges::any_of(g.output, [&](const auto& o) { return o.name == name; });
  };
  for (const auto& o : with_past.output)
    if (!has(no_past, *o.name))
      throw error_about(Code::bad_argument, "export", *o.name, "an output that both decoders give",
                        "one that the decoder without past lacks", "export with --no-post-process");
  std::vector<onnx::ValueInfoProto> ordered;
  for (size_t i = 0; i < no_past.output.size(); ++i) {
    const auto& wanted = no_past.output[i];
    if (!has(with_past, *wanted.name)) add_empty_output(with_past, wanted, with_past.output.size());
    ordered.push_back(*std::ranges::find(with_past.output, wanted.name, &onnx::ValueInfoProto::name));
  }
  with_past.output = std::move(ordered);
}

onnx::ValueInfoProto use_cache_branch() {
  onnx::ValueInfoProto info;
  info.name = "use_cache_branch";
  onnx::TypeProto::Tensor tensor;
  tensor.elem_type = static_cast<int32_t>(DataType::boolean);
  tensor.shape.emplace();
  onnx::TensorShapeProto::Dimension one;
  one.dim_value = 1;
  tensor.shape->dim.push_back(std::move(one));
  info.type.emplace();
  info.type->tensor_type = std::move(tensor);
  return info;
}

onnx::AttributeProto branch(const char* name, GraphProto g) {
  onnx::AttributeProto a;
  a.name = name;
  a.type = onnx::AttributeProto::GRAPH;
  a.g.emplace() = std::move(g);
  return a;
}

/// Removes fixed sizes in which the branches differ.
void forget_sizes(std::vector<onnx::ValueInfoProto>& outputs,
                  const std::vector<onnx::ValueInfoProto>& others) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto& dims = outputs[i].type->tensor_type->shape->dim;
    const auto& other = others[i].type->tensor_type->shape->dim;
    for (size_t axis = 0; axis < dims.size() && axis < other.size(); ++axis)
      if (dims[axis].dim_value != other[axis].dim_value) dims[axis].dim_value.reset();
  }
}

}  // namespace

onnx::Model merge_decoders(const onnx::Model& no_past, const onnx::Model& with_past) {
  const auto opset = [](const onnx::Model& m) { return m.proto.opset_import.at(0).version.value_or(0); };
  if (opset(no_past) != opset(with_past))
    throw Error(Code::bad_argument, "export", "two decoders of one opset",
                std::to_string(opset(no_past)) + " and " + std::to_string(opset(with_past)));
  onnx::Model merged = no_past;
  GraphProto otherwise = *no_past.proto.graph, then = *with_past.proto.graph;
  unify_outputs(otherwise, then);

  GraphProto outer;
  outer.name = "merged";
  std::set<std::string> names;
  for (GraphProto* g : {&otherwise, &then}) {
    for (onnx::ValueInfoProto& i : g->input)
      if (names.insert(*i.name).second) outer.input.push_back(i);
    g->input.clear();
    g->value_info.clear();
  }
  outer.input.push_back(use_cache_branch());
  outer.output = otherwise.output;
  forget_sizes(outer.output, then.output);
  outer.initializer = take_weights(otherwise, then);
  for (const TensorProto& t : outer.initializer) names.insert(*t.name);
  keep_apart(otherwise, names, ".no_past");
  keep_apart(then, names, ".with_past");
  otherwise.name = "no_past";
  then.name = "with_past";

  onnx::NodeProto choose;
  choose.op_type = "If";
  choose.name = "optimum::if";
  choose.input = {"use_cache_branch"};
  for (const auto& o : outer.output) choose.output.push_back(*o.name);
  choose.attribute.push_back(branch("then_branch", std::move(then)));
  choose.attribute.push_back(branch("else_branch", std::move(otherwise)));
  outer.node.push_back(std::move(choose));
  merged.proto.graph = std::move(outer);
  merged.proto.ir_version = std::max<int64_t>(merged.proto.ir_version.value_or(9), 9);
  return merged;
}

}  // namespace lathe::exporters
