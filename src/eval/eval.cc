#include "eval/eval.h"

#include "kernel/expected.h"
#include "kernel/host_context.h"

namespace lathe {
namespace {

/// The state that all graphs of one evaluation share.
class Ledger {
 public:
  explicit Ledger(const EvalOptions& o)
      : options(o), kernels(o.kernels ? *o.kernels : KernelCatalog::standard()) {}

  const EvalOptions& options;
  const KernelCatalog& kernels;

  void poll() const {
    if (options.control) options.control->check();
  }
  void take(uint64_t bytes) {
    if (options.memory_limit && (bytes > options.memory_limit || live_ > options.memory_limit - bytes))
      throw Error(Code::run_memory_limit, "run",
                  "at most " + std::to_string(options.memory_limit) + " bytes alive",
                  std::to_string(live_ + bytes), "raise the limit, or make the tensors smaller");
    live_ += bytes;
  }
  void give(uint64_t bytes) { live_ -= bytes; }

 private:
  uint64_t live_ = 0;
};

/// The values of the graph around a body.
class Scope {
 public:
  virtual ~Scope() = default;
  virtual const Value& value(ValueId v) const = 0;
};

/// A graph that does not run: only its constants can be read.
class ConstantScope final : public Scope {
 public:
  explicit ConstantScope(const Graph& graph) : graph_(graph) {}
  const Value& value(ValueId v) const override {
    if (graph_.value(v).is_constant()) return *graph_.value(v).constant;
    throw Error(Code::bad_argument, "run", "bodies that capture constants only", graph_.value(v).name);
  }

 private:
  const Graph& graph_;
};

/// One node, looked up and decoded once however often it runs.
struct Step {
  NodeId node = no_id;
  const Kernel* kernel = nullptr;
  const OpCodec* codec = nullptr;
  std::shared_ptr<const void> op;
  std::vector<ValueId> last_uses;  // values that nobody reads after this node
  std::vector<std::unique_ptr<KernelBody>> bodies;
};

Step prepare(const Ledger& ledger, const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  Step s;
  s.node = id;
  s.kernel = ledger.kernels.reference_of(n.domain, n.op);
  s.codec = ledger.kernels.codec_of(n.domain, n.op);
  if (!s.kernel || !s.codec)
    throw Error(Code::build_no_kernel, "run", "a reference kernel", "none", "`lathe ops` lists what there is")
        .at("run", n.name, n.op);
  try {
    ledger.kernels.require_component_of(n.domain, n.op);
    s.op = s.codec->decode(n.attributes);
  } catch (const Error& e) {
    throw e.at("run", n.name, n.op);
  }
  return s;
}

std::vector<HostContext::Output> wanted_outputs(const Graph& graph, const Node& n) {
  std::vector<HostContext::Output> wanted;
  for (ValueId v : n.outputs)
    wanted.push_back({v != no_id, v != no_id ? graph.value(v).type.elem : DataType::undefined});
  return wanted;
}

/// The context of a reference kernel.
class NodeContext final : public HostContext {
 public:
  NodeContext(Ledger& ledger, const Graph& graph, Step& step, std::vector<const Value*> inputs)
      : HostContext(std::move(inputs), wanted_outputs(graph, graph.node(step.node))),
        ledger_(ledger),
        graph_(graph),
        node_(graph.node(step.node)),
        step_(step) {}

  void run() { HostContext::run(*step_.kernel, *step_.codec, step_.op.get()); }

  Expected expected(size_t i) const override {
    Expected e;
    if (!wants(i)) return e;
    const ValueType& t = graph_.value(node_.outputs[i]).type;
    e.type = t.kind == ValueType::Kind::sequence && t.inner ? t.inner->elem : t.elem;
    if (!t.shape) return e;
    e.shape = expected_sizes(
        *t.shape, inputs(),
        [&](size_t in) -> const SymShape* {
          const ValueId v = node_.inputs[in];
          return v != no_id && graph_.value(v).type.shape ? &*graph_.value(v).type.shape : nullptr;
        },
        [&](size_t in) { return has(in) && value(in).is_tensor() ? &value(in).tensor() : nullptr; });
    return e;
  }
  void poll() override { ledger_.poll(); }
  KernelBody& body(size_t i) override { return *step_.bodies[i]; }

 private:
  void take(uint64_t bytes) override { ledger_.take(bytes); }

  Ledger& ledger_;
  const Graph& graph_;
  const Node& node_;
  Step& step_;
};

/// A graph made ready: it runs once (the model) or many times (a body).
class GraphRun final : public Scope {
 public:
  GraphRun(Ledger& ledger, const Graph& graph, const Scope* parent);

  std::vector<Value> run(std::span<const Value> inputs);
  size_t inputs() const { return graph_.inputs().size(); }
  size_t outputs() const { return graph_.outputs().size(); }
  int64_t input_rank(size_t i) const {
    const auto& shape = graph_.value(graph_.inputs()[i]).type.shape;
    return shape ? static_cast<int64_t>(shape->size()) : -1;
  }
  const Value& value(ValueId v) const override {
    const auto& constant = graph_.value(v).constant;  // of an input: its default
    return constant && values_[v].empty() ? *constant : values_[v];
  }

 private:
  void run(Step& step);

  Ledger& ledger_;
  const Graph& graph_;
  const Scope* parent_;
  std::vector<ValueId> captures_;
  std::vector<Step> steps_;
  std::vector<Value> values_;
  std::vector<uint64_t> bytes_;
};

class BodyRun final : public KernelBody {
 public:
  BodyRun(Ledger& ledger, const Graph& graph, const Scope* parent) : graph_(ledger, graph, parent) {}
  size_t inputs() const override { return graph_.inputs(); }
  size_t outputs() const override { return graph_.outputs(); }
  int64_t input_rank(size_t i) const override { return graph_.input_rank(i); }
  void run(std::span<const Value> inputs) override {
    results_ = graph_.run(inputs);
    for (Value& v : results_) v = owned(v);  // an input that is handed on may be lent for this run alone
  }
  const Value& output(size_t i) const override { return results_[i]; }

 private:
  GraphRun graph_;
  std::vector<Value> results_;
};

GraphRun::GraphRun(Ledger& ledger, const Graph& graph, const Scope* parent)
    : ledger_(ledger),
      graph_(graph),
      parent_(parent),
      captures_(graph.captures()),
      values_(graph.value_count()),
      bytes_(graph.value_count()) {
  std::vector<size_t> last(graph.value_count(), SIZE_MAX);
  const std::vector<NodeId> order = graph.order();
  for (NodeId id : order) {
    const Node& n = graph.node(id);
    Step step = prepare(ledger, graph, id);
    const size_t here = steps_.size();
    for (ValueId v : n.inputs)
      if (v != no_id) last[v] = here;
    for (ValueId v : n.outputs)
      if (v != no_id) last[v] = here;
    for (const Body& b : n.bodies) {
      for (ValueId c : b.graph->captures()) last[b.graph->value(c).captured] = here;
      step.bodies.push_back(std::make_unique<BodyRun>(ledger, *b.graph, this));
    }
    steps_.push_back(std::move(step));
  }
  for (ValueId v : graph.outputs()) last[v] = SIZE_MAX;
  for (ValueId v = 0; v < last.size(); ++v)
    if (last[v] != SIZE_MAX) steps_[last[v]].last_uses.push_back(v);
}

std::vector<Value> GraphRun::run(std::span<const Value> inputs) {
  if (inputs.size() != graph_.inputs().size())
    throw Error(Code::run_missing_input, "run", std::to_string(graph_.inputs().size()) + " inputs",
                std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs()[i]] = inputs[i];
  for (ValueId c : captures_) values_[c] = parent_->value(graph_.value(c).captured);
  for (Step& s : steps_) {
    ledger_.poll();
    try {
      run(s);
    } catch (const Error& e) {
      throw e.at("run", graph_.node(s.node).name, graph_.node(s.node).op);
    } catch (const std::bad_alloc&) {
      throw Error(Code::run_out_of_memory, "run", "memory for the outputs", "none left")
          .at("run", graph_.node(s.node).name, graph_.node(s.node).op);
    }
  }
  std::vector<Value> results;
  for (ValueId v : graph_.outputs()) results.push_back(value(v));
  for (ValueId v = 0; v < values_.size(); ++v) {
    values_[v] = Value();
    ledger_.give(std::exchange(bytes_[v], 0));
  }
  return results;
}

void GraphRun::run(Step& s) {
  const Node& n = graph_.node(s.node);
  std::vector<const Value*> in;
  for (ValueId v : n.inputs) in.push_back(v == no_id ? nullptr : &value(v));
  NodeContext c(ledger_, graph_, s, std::move(in));
  c.run();
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    const ValueId v = n.outputs[i];
    if (v == no_id) continue;
    bytes_[v] = c.bytes(i);
    values_[v] = std::move(c.results()[i]);
    if (ledger_.options.listener) ledger_.options.listener(graph_, n, i, values_[v]);
  }
  for (ValueId v : s.last_uses) {
    values_[v] = Value();
    ledger_.give(std::exchange(bytes_[v], 0));
  }
}

}  // namespace

std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs, const EvalOptions& options) {
  Ledger ledger(options);
  return GraphRun(ledger, graph, nullptr).run(inputs);
}

std::vector<Value> evaluate_node(const Graph& graph, NodeId node, std::span<const Value> inputs,
                                 const EvalOptions& options) {
  Ledger ledger(options);
  const Node& n = graph.node(node);
  try {
    Step step = prepare(ledger, graph, node);
    const ConstantScope scope(graph);
    for (const Body& b : n.bodies) step.bodies.push_back(std::make_unique<BodyRun>(ledger, *b.graph, &scope));
    std::vector<const Value*> in;
    for (const Value& v : inputs) in.push_back(&v);
    NodeContext c(ledger, graph, step, std::move(in));
    c.run();
    return std::move(c.results());
  } catch (const Error& e) {
    throw e.at("run", n.name, n.op);
  } catch (const std::bad_alloc&) {
    throw Error(Code::run_out_of_memory, "run", "memory for the outputs", "none left")
        .at("run", n.name, n.op);
  }
}

}  // namespace lathe
