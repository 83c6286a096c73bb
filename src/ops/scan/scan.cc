#include "ops/scan/scan.h"

#include <algorithm>

#include "ops/body_types.h"
#include "schema/node_builder.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

void infer_scan(InferContext& c) {
  const auto op = decode<Scan>(c.node().attributes);
  const size_t inputs = c.node().inputs.size(), outputs = c.node().outputs.size();
  const size_t states = op.states(inputs, outputs);
  std::vector<ValueType> slices;
  std::optional<Dim> length;
  for (size_t i = states; i < inputs; ++i) {
    ValueType slice = c.input(i);
    if (slice.known() && !slice.is_tensor())
      throw Error(Code::node_bad_type, "infer", "scan inputs that are tensors", slice.str());
    if (slice.shape) {
      const auto rank = static_cast<int64_t>(slice.shape->size());
      const int64_t axis = Scan::axis(op.scan_input_axes, i - states, rank, "scan_input_axes");
      const Dim here = (*slice.shape)[static_cast<size_t>(axis)];
      if (length && length->value() && here.value() && *length != here)
        throw Error(Code::node_bad_shape, "infer", "scan inputs of one length, " + length->str(), here.str());
      if (!length || here.value()) length = here;
      slice.shape->erase(slice.shape->begin() + axis);
    }
    slices.push_back(std::move(slice));
  }
  std::vector<ValueType> initial;
  for (size_t i = 0; i < states; ++i) initial.push_back(c.input(i));
  LoopStates carried(std::move(initial), StateShapes::stay);
  std::vector<ValueType> given;
  do {
    std::vector<ValueType> in = carried.types();
    in.insert(in.end(), slices.begin(), slices.end());
    given = c.infer_body(0, in);
    if (given.size() < outputs)
      throw Error(Code::node_bad_arity, "infer", "a body of " + std::to_string(outputs) + " outputs",
                  std::to_string(given.size()), "compare the body's outputs with the node's");
  } while (carried.widen(std::span(given).first(states)));

  const BodyBoundary boundary(c);
  for (size_t i = 0; i < outputs; ++i) {
    if (i < states) {
      c.output(i, boundary.outward(carried.leaving(i, given[i])));
      continue;
    }
    ValueType all = boundary.outward(given[i]);
    if (all.shape) {
      const auto rank = static_cast<int64_t>(all.shape->size()) + 1;
      const int64_t axis = Scan::axis(op.scan_output_axes, i - states, rank, "scan_output_axes");
      all.shape->insert(all.shape->begin() + axis, length.value_or(Dim::unknown()));
    }
    c.output(i, std::move(all));
  }
}

/// Writes the nodes of a graph, named after one.
class Writer {
 public:
  Writer(Graph& g, const Node& like) : g_(g), like_(like) {}
  std::vector<ValueId> operator()(std::string_view op, std::vector<ValueId> inputs,
                                  Attributes attributes = {}, size_t outputs = 1) {
    Node n;
    n.op = op;
    n.name = g_.fresh_name(like_.name + "/" + n.op);
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    n.origin = like_.origin;
    for (size_t i = 0; i < outputs; ++i) n.outputs.push_back(g_.add_value(g_.fresh_name(n.name)));
    std::vector<ValueId> made = n.outputs;
    g_.add_node(std::move(n));
    return made;
  }
  ValueId ints(std::vector<int64_t> v) {
    return g_.add_constant(g_.fresh_name(like_.name + "/numbers"), int64_vector(v));
  }

 private:
  Graph& g_;
  const Node& like_;
};

/// Handles a sequence with a length of its own, a scalar, in a Scan: shortens it to that, and fills the
/// outputs with zeros to the original length.
class OwnLength {
 public:
  OwnLength(Writer& write, ValueId length, ValueId sequence)
      : write_(write), rows_(write("Unsqueeze", {length, write.ints({0})})[0]) {
    const ValueId all = write("Shape", {sequence}, with("end", int64_t{1}))[0];
    rest_ = write("Sub", {all, rows_})[0];
  }
  /// Splitting refuses lengths below 0 and beyond the sequence.
  ValueId shortened(ValueId sequence) {
    const ValueId parts = write_("Concat", {rows_, rest_}, with("axis", int64_t{0}))[0];
    return write_("Split", {sequence, parts}, with("axis", int64_t{0}), 2)[0];
  }
  ValueId filled_up(ValueId gathered) {
    const ValueId pads = write_("Concat", {write_.ints({0}), rest_}, with("axis", int64_t{0}))[0];
    return write_("Pad", {gathered, pads, no_id, write_.ints({0})})[0];
  }

 private:
  Writer& write_;
  ValueId rows_, rest_;
};

/// Version 8 ran a batch of sequences, each perhaps of a length of its own: that is a Scan over the batch
/// whose body is the Scan over a sequence.
void scan_9_from_8(UpgradeContext& u) {
  Node& n = u.node();
  const auto scanned = static_cast<size_t>(n.attributes.get<int64_t>("num_scan_inputs", 0));
  // Otherwise reported by the check.
  if (n.bodies.size() != 1 || scanned < 1 || scanned >= n.inputs.size()) return;
  const bool lengths = n.inputs[0] != no_id;
  if (!lengths) n.inputs.erase(0);
  n.attributes.rename("directions", "scan_input_directions");
  const auto sequences = static_cast<int64_t>(n.inputs.size());

  const std::shared_ptr<Graph> body = n.bodies[0].graph;
  auto batch = std::make_shared<Graph>(body->parent());
  batch->name = body->name + "/batch";
  body->set_parent(batch.get());
  Node inner;
  inner.op = n.op;
  inner.name = n.name + "/sequence";
  inner.attributes = n.attributes;
  inner.origin = n.origin;
  inner.bodies = {{"body", body}};
  for (size_t i = 0; i < n.inputs.size(); ++i)
    inner.inputs.push_back(batch->add_input(batch->fresh_name(n.name + "/in"), {}));
  for (size_t i = 0; i < n.outputs.size(); ++i)
    inner.outputs.push_back(batch->add_value(batch->fresh_name(n.name + "/out")));
  std::vector<ValueId> results = inner.outputs;
  if (lengths) {
    const ValueId length = inner.inputs[0];
    inner.inputs.erase(0);
    const size_t states = inner.inputs.size() - scanned;
    Writer write(*batch, n);
    OwnLength own(write, length, inner.inputs[states]);
    for (size_t i = states; i < inner.inputs.size(); ++i) inner.inputs.set(i, own.shortened(inner.inputs[i]));
    batch->add_node(std::move(inner));
    for (size_t i = states; i < results.size(); ++i) results[i] = own.filled_up(results[i]);
  } else {
    batch->add_node(std::move(inner));
  }
  batch->set_outputs(std::move(results));

  // States too are taken and given one sample at a time.
  n.attributes = {};
  n.attributes.set("num_scan_inputs", sequences);
  n.bodies = {{"body", std::move(batch)}};
}

/// Axes of the scanned sequences were counted from the front.
bool scan_9_from_11(RewriteContext& c) {
  Node& n = c.node();
  const auto sequences = static_cast<size_t>(n.attributes.get<int64_t>("num_scan_inputs", 0));
  const size_t states = n.inputs.size() - std::min(n.inputs.size(), sequences);
  for (const bool in : {true, false}) {
    const std::string name = in ? "scan_input_axes" : "scan_output_axes";
    auto axes = n.attributes.get<std::vector<int64_t>>(name, {});
    const auto& values = in ? n.inputs : n.outputs;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] >= 0) continue;
      const auto& shape = states + i < values.size() ? c.type(values[states + i]).shape : std::nullopt;
      if (!shape)
        return c.cannot("in older ones '" + name + "' are counted from the front, and a rank is not known",
                        "count '" + name + "' from the front");
      axes[i] += static_cast<int64_t>(shape->size());
    }
    if (!axes.empty()) n.attributes.set(name, std::move(axes));
  }
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// A Loop over the slices, whose outputs are reversed if their direction is.
std::vector<ValueId> scan(DecomposeContext& c) {
  if (c.opset() >= 9) unsupported({}, {});
  const Node node = c.node();
  const auto op = decode<Scan>(node.attributes);
  const size_t states = op.states(node.inputs.size(), node.outputs.size());
  const auto along = [&](size_t i) {
    const ValueId v = node.inputs[states + i];
    return from_front(c, v, Scan::at(op.scan_input_axes, i));
  };
  const ValueId count = length(c, node.inputs[states], along(0)), last = plus(c, count, -1);
  auto body = std::make_shared<Graph>(&c.graph());
  const ValueId round = body->add_input("round", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId go_on = body->add_input("go_on", ValueType::tensor(DataType::boolean, SymShape{}));
  const auto in = c.inside(*body);
  std::vector<ValueId> given, started, outputs{go_on};
  for (size_t i = 0; i < states; ++i) {
    started.push_back(node.inputs[i]);
    given.push_back(body->add_input("state", c.type(node.inputs[i])));
  }
  if (states == 0) {
    started.push_back(c.add_constant(zeros(DataType::boolean, {}), "nothing"));
    outputs.push_back(body->add_input("nothing", ValueType::tensor(DataType::boolean, SymShape{})));
  }
  for (size_t i = 0; i < static_cast<size_t>(op.num_scan_inputs); ++i) {
    const ValueId from_end = one(*in, "Sub", {scalar_of(*in, body->capture(last)), round});
    const ValueId at = Scan::at(op.scan_input_directions, i) ? from_end : round;
    given.push_back(gathered(*in, body->capture(node.inputs[states + i]), at, along(i)));
  }
  for (ValueId v : in->insert_body("body", given)) outputs.push_back(one(*in, "Identity", {v}));
  body->set_outputs(outputs);
  std::vector<ValueId> inputs{scalar_of(c, count), c.add_constant(Tensor::scalar(true), "truth")};
  inputs.insert(inputs.end(), started.begin(), started.end());
  std::vector<ValueId> made =
      c.insert_with_bodies("Loop", std::move(inputs), {}, {{"body", body}}, outputs.size() - 1);
  if (states == 0) made.erase(made.begin());
  for (size_t i = states; i < made.size(); ++i) {
    const size_t k = i - states;
    if (Scan::at(op.scan_output_directions, k))
      made[i] = gathered(c, made[i], one(c, "Sub", {last, indices_along(c, made[i], 0)}), 0);
    const int64_t axis = Scan::at(op.scan_output_axes, k);
    if (axis == 0) continue;
    const int64_t rank = rank_of(c, made[i]), to = axis < 0 ? axis + rank : axis;
    std::vector<int64_t> order;
    for (int64_t a = 1; a < rank; ++a) order.push_back(a);
    order.insert(order.begin() + to, 0);
    made[i] = transposed(c, made[i], order);
  }
  made.resize(node.outputs.size(), no_id);
  return made;
}

}  // namespace
}  // namespace decomposition

void declare_scan(SchemaCatalog& c) {
  c.add("Scan")
      .version(8,
               "(sequence_lens?: I, initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: "
               "V) {directions: ints, num_scan_inputs: int!, body: graph!} [I: int64; V: @all]")
      .version(9,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all]",
               scan_9_from_8)
      .version(11,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all]",
               nullptr, scan_9_from_11)
      .version(16,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all_13]")
      .version(19,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all_ir9]")
      .version(21,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all_ir10]")
      .version(23,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all_ir11]")
      .version(24,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all_ir12]")
      .version(25,
               "(initial_state_and_scan_inputs~1: V) -> (final_state_and_scan_outputs~1: V) "
               "{scan_input_axes: ints, scan_output_axes: ints, scan_output_directions: ints, "
               "scan_input_directions: ints, num_scan_inputs: int!, body: graph!} [V: @all_ir13]")
      .rule<Scan>()
      .decompose(decomposition::scan)
      .infer(infer_scan)
      .tolerance({.exact = true});
}

}  // namespace lathe
