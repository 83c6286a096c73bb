// Loops: a body with recurrences, iterators and outputs becomes a Scan or a Loop.
#include <algorithm>
#include <numeric>

#include "network/bodies.h"

namespace lathe {

struct LoopBody::Parts {
  struct Recurrence {
    ValueId initial;  // outside
    TensorRef state, next;
  };
  struct Iterator {
    ValueId source;  // outside
    int64_t axis;
    bool reverse;
    TensorRef slice;
  };
  struct Output {
    TensorRef tensor;
    LoopOutput kind;
    int64_t axis;
  };
  LayerMaker& maker;
  bool scan;
  TensorRef iteration, go_on, condition;
  std::vector<Recurrence> recurrences;
  std::vector<Iterator> iterators;  // of a Scan
  std::vector<Output> outputs;
};

struct LoopAccess {
  using Parts = LoopBody::Parts;
  static LoopBody make(Network n, Parts& p) { return LoopBody(std::move(n), p); }
};
using Parts = LoopAccess::Parts;

namespace {

TensorRef body_input(const Network& body, const std::string& hint, ValueType type) {
  Graph& g = NetworkAccess::graph(body);
  return NetworkAccess::tensor(NetworkAccess::state(body), NetworkAccess::scope(body),
                               g.add_input(g.fresh_name(hint), std::move(type)));
}

const ValueType& type_in(const Network& body, const TensorRef& t) {
  return NetworkAccess::graph(body).value(resolve(body, t)).type;
}

/// Moves axis 0, along which `v` is stacked, to `axis`.
ValueId stack_along(LayerMaker& m, ValueId v, size_t axis) {
  if (axis == 0) return v;
  std::vector<int64_t> permutation(m.rank(v));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::rotate(permutation.begin(), permutation.begin() + 1,
              permutation.begin() + static_cast<ptrdiff_t>(axis) + 1);
  return m.op("Transpose", {v}, Attrs().ints("perm", permutation));
}

ValueId backwards(LayerMaker& m, ValueId v) {
  return m.op("Slice", {v, m.ints({-1}), m.ints({INT64_MIN}), m.ints({0}), m.ints({-1})});
}

void check_recurrences(const Parts& p, const Network& body) {
  for (const auto& r : p.recurrences) {
    const std::string name = r.state.name();
    if (!r.next) p.maker.fail(Code::bad_argument, "set_next of every recurrence", "none of '" + name + "'");
    const ValueType &from = type_in(body, r.state), &to = type_in(body, r.next);
    if (!(from == to))
      p.maker.fail(from.elem == to.elem ? Code::node_bad_shape : Code::node_bad_type,
                   "the recurrence '" + name + "' to stay " + from.str(), to.str(),
                   "reshape or cast it; what grows is for add_operator(\"Loop\", …)");
  }
}

/// The index of a loop's output among those of the node, and how it has to be reversed and transposed.
struct Place {
  size_t output;
  bool reverse;
  size_t axis;
};

Place last_value(const Parts& p, const TensorRef& t) {
  const auto at = std::ranges::find(p.recurrences, t, &Parts::Recurrence::state);
  if (at == p.recurrences.end())
    p.maker.fail(Code::bad_argument, "a recurrence to give the last value of", "'" + t.name() + "'",
                 "use LoopOutput::concatenate, or make it a recurrence");
  return {static_cast<size_t>(at - p.recurrences.begin()), false, 0};
}

size_t stack_axis(const Parts& p, const Network& body, const Parts::Output& o) {
  const ValueType& t = type_in(body, o.tensor);
  if (!t.is_tensor() || !t.shape)
    p.maker.fail(Code::node_bad_shape, "a tensor of known rank to stack",
                 "'" + o.tensor.name() + "' of type " + t.str());
  return p.maker.axis(o.axis, t.shape->size() + 1);
}

}  // namespace

TensorRef LoopBody::iteration() const {
  if (parts_.scan)
    parts_.maker.fail(Code::bad_argument, "a loop with a trip limit or a condition", "one over its iterators",
                      "give it a trip_limit to count iterations");
  return parts_.iteration;
}

TensorRef LoopBody::add_recurrence(const TensorRef& initial) {
  const ValueId v = parts_.maker.use(initial);
  const TensorRef state = body_input(network_, "recurrence", parts_.maker.graph().value(v).type);
  parts_.recurrences.push_back({v, state, {}});
  return state;
}

void LoopBody::set_next(const TensorRef& recurrence, const TensorRef& next) {
  const auto at = std::ranges::find(parts_.recurrences, recurrence, &Parts::Recurrence::state);
  if (at == parts_.recurrences.end())
    parts_.maker.fail(Code::bad_argument, "a recurrence of this loop", "'" + recurrence.name() + "'");
  if (at->next) parts_.maker.fail(Code::bad_argument, "one set_next of '" + recurrence.name() + "'", "two");
  resolve(network_, next);
  at->next = next;
}

TensorRef LoopBody::add_iterator(const TensorRef& x, int64_t axis, bool reverse) {
  LayerMaker& m = parts_.maker;
  const ValueId v = m.use(x);
  const size_t a = m.axis(axis, m.rank(v));
  if (parts_.scan) {
    SymShape rest = m.shape(v);
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(a));
    const TensorRef slice = body_input(network_, "iterator", ValueType::tensor(m.type(v), std::move(rest)));
    parts_.iterators.push_back({v, static_cast<int64_t>(a), reverse, slice});
    return slice;
  }
  LayerMaker inner(network_, "iterator", "");
  inner.made_by("add_iterator", x, static_cast<int64_t>(a), reverse);
  inner.call().of_loop = true;
  const ValueId source = inner.use(x);
  ValueId index = inner.use(parts_.iteration);
  if (reverse) {
    const ValueId size = inner.op("Squeeze", {inner.size_of_axis(source, a), inner.ints({0})});
    index = inner.op("Sub", {inner.op("Sub", {size, inner.integer(1)}), index});
  }
  return inner.finish(inner.op("Gather", {source, index}, Attrs().number("axis", static_cast<int64_t>(a))));
}

void LoopBody::set_condition(const TensorRef& condition) {
  if (parts_.scan)
    parts_.maker.fail(Code::bad_argument, "a loop with an initial_condition or a trip_limit",
                      "one over its iterators", "give it an initial_condition");
  if (condition.element_type() != DataType::boolean)
    parts_.maker.fail(Code::node_bad_type, "a condition of type bool", condition.type());
  resolve(network_, condition);
  parts_.condition = condition;
}

void LoopBody::add_output(const TensorRef& t, LoopOutput kind, int64_t axis) {
  resolve(network_, t);
  parts_.outputs.push_back({t, kind, axis});
}

namespace {

/// For Network::cpp.
LayerCall::Loop written_down(const Parts& p, const Network& body) {
  LayerCall::Loop l;
  l.scan = p.scan, l.condition = static_cast<bool>(p.condition), l.recurrences = p.recurrences.size();
  for (const auto& i : p.iterators) l.iterators.push_back({i.axis, i.reverse});
  for (const auto& o : p.outputs) {
    l.results.push_back({{}, o.kind, o.axis});
    if (o.kind == LoopOutput::last_value) l.results.back().recurrence = last_value(p, o.tensor).output;
  }
  return l;
}

Node loop_node(const LoopOptions& o, Parts& p, const Network& body, std::vector<TensorRef> results) {
  Node n;
  LayerMaker& m = p.maker;
  if (p.scan) {
    n.op = "Scan";
    Graph& g = NetworkAccess::graph(body);
    std::vector<ValueId> inputs;
    for (const auto& r : p.recurrences)
      n.inputs.push_back(r.initial), inputs.push_back(resolve(body, r.state));
    std::vector<int64_t> axes, directions;
    for (const auto& i : p.iterators) {
      n.inputs.push_back(i.source), inputs.push_back(resolve(body, i.slice));
      axes.push_back(i.axis), directions.push_back(i.reverse);
    }
    g.set_inputs(std::move(inputs));
    n.attributes.set("num_scan_inputs", static_cast<int64_t>(p.iterators.size()));
    n.attributes.set("scan_input_axes", axes);
    n.attributes.set("scan_input_directions", directions);
  } else {
    n.op = "Loop";
    // Both inputs are written, since ONNX's checker refuses a Loop of fewer inputs.
    n.inputs = {m.use_if(o.trip_limit),
                o.initial_condition ? m.use(o.initial_condition) : m.constant(Tensor::scalar<bool>(true))};
    for (const auto& r : p.recurrences) n.inputs.push_back(r.initial);
    results.insert(results.begin(), p.condition ? p.condition : p.go_on);
  }
  n.bodies = {end_body(body, "body", results)};
  return n;
}

}  // namespace

Layer Network::add_loop(const LoopOptions& o, const std::function<void(LoopBody&)>& fill) {
  LayerMaker m(*this, "loop", o.name);
  m.made_by("add_loop", o, BodyOfCall{"body"});
  Parts p{m, !o.trip_limit && !o.initial_condition, {}, {}, {}, {}, {}, {}};
  Network body = begin_body(m, "body");
  if (!p.scan) {
    p.iteration = body_input(body, "iteration", ValueType::tensor(DataType::int64, SymShape{}));
    p.go_on = body_input(body, "go_on", ValueType::tensor(DataType::boolean, SymShape{}));
  }
  LoopBody inside = LoopAccess::make(body, p);
  fill(inside);
  if (p.outputs.empty()) m.fail(Code::node_bad_arity, "an output of the loop at least", "none");
  if (p.scan && p.iterators.empty())
    m.fail(Code::bad_argument, "a trip limit, an initial condition or an iterator", "none",
           "say how often the loop runs");
  check_recurrences(p, body);

  std::vector<TensorRef> results;
  for (const auto& r : p.recurrences) results.push_back(r.next);
  std::vector<Place> places;
  std::vector<int64_t> axes, directions;
  for (const auto& out : p.outputs) {
    if (out.kind == LoopOutput::last_value) {
      places.push_back(last_value(p, out.tensor));
      continue;
    }
    const size_t axis = stack_axis(p, body, out);
    places.push_back({results.size(), out.kind == LoopOutput::reverse, axis});
    axes.push_back(static_cast<int64_t>(axis)), directions.push_back(out.kind == LoopOutput::reverse);
    results.push_back(out.tensor);
  }
  m.call().loop = written_down(p, body);
  const size_t count = results.size();
  Node n = loop_node(o, p, body, std::move(results));
  if (p.scan && !axes.empty()) {
    n.attributes.set("scan_output_axes", axes);
    n.attributes.set("scan_output_directions", directions);
  }
  for (size_t i = 0; i < count; ++i)
    n.outputs.push_back(m.graph().add_value(m.graph().fresh_name(m.name() + "/" + n.op)));
  const std::vector<ValueId> made = m.graph().node(m.add(std::move(n))).outputs;
  std::vector<ValueId> outputs;
  for (const Place& place : places) {
    ValueId v = made[place.output];
    if (!p.scan && place.reverse) v = backwards(m, v);
    if (!p.scan) v = stack_along(m, v, place.axis);
    outputs.push_back(v);
  }
  return m.finish(std::move(outputs));
}

}  // namespace lathe
