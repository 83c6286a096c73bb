#include "ops/scan/scan.h"

#include "ops/body_types.h"

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

/// Version 8 ran a batch of sequences: that is a Scan over the batch whose body is the Scan over a sequence.
void scan_9_from_8(UpgradeContext& u) {
  Node& n = u.node();
  if (!n.inputs.empty() && n.inputs[0] != no_id)
    throw Error(Code::node_cannot_convert, "import", "sequences of one length", "input 'sequence_lens'",
                "convert the model to opset 9 or newer, which has no such input");
  if (n.bodies.size() != 1) return;  // reported by the check
  if (!n.inputs.empty()) n.inputs.erase(n.inputs.begin());
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
  batch->set_outputs(inner.outputs);
  batch->add_node(std::move(inner));

  // States too are taken and given one sample at a time.
  n.attributes = {};
  n.attributes.set("num_scan_inputs", sequences);
  n.bodies = {{"body", std::move(batch)}};
}

/// Axes of the scanned sequences were counted from the front.
bool scan_9_from_11(RewriteContext& c) {
  const Attributes& a = c.node().attributes;
  for (const char* name : {"scan_input_axes", "scan_output_axes"})
    for (int64_t axis : a.get<std::vector<int64_t>>(name, {}))
      if (axis < 0) return false;
  return true;
}

}  // namespace

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
      .infer(infer_scan)
      .contract({.exact = true});
}

}  // namespace lathe
