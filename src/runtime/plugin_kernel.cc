#include "runtime/plugin_kernel.h"

#include <algorithm>

#include "kernel/elementwise_program.h"

namespace lathe {
namespace {

/// A copy of the attributes: what `op` points to for kernels of plug-ins.
class AttributesOfNode final : public AttributeView {
 public:
  explicit AttributesOfNode(const Attributes& a) : all_(a) {}
  int64_t integer(std::string_view name, int64_t fallback) const override {
    return all_.get<int64_t>(name, fallback);
  }
  double number(std::string_view name, double fallback) const override {
    return all_.get<float>(name, static_cast<float>(fallback));
  }
  std::string text(std::string_view name, std::string fallback) const override {
    return all_.get<std::string>(name, std::move(fallback));
  }
  std::vector<int64_t> integers(std::string_view name) const override {
    return all_.get<std::vector<int64_t>>(name, {});
  }
  std::vector<float> numbers(std::string_view name) const override {
    return all_.get<std::vector<float>>(name, {});
  }
  std::optional<Tensor> tensor(std::string_view name) const override {
    const Tensor* t = all_.get_if<Tensor>(name);
    return t ? std::optional(*t) : std::nullopt;
  }

 private:
  Attributes all_;
};

/// What `op` points to for kernels of plug-ins.
struct PluginNode {
  std::string op, domain;
  AttributesOfNode attributes;
  std::optional<ElementwiseProgram> region = {};  // of the operator Pointwise
};
const PluginNode& node_of(const void* op) { return *static_cast<const PluginNode*>(op); }

/// What a kernel of a plug-in has for one step.
struct PreparedByPlugin {
  std::optional<ElementwiseProgram> epilogue;
  std::shared_ptr<const Prepared> own;
};

/// Decodes nodes of an operator: for its kernels, and for the codec of a plug-in's own.
auto decoder_of(std::string op, std::string domain) {
  return
      [op = std::move(op), domain = std::move(domain)](const Attributes& a) -> std::shared_ptr<const void> {
        PluginNode node{op, domain, AttributesOfNode(a)};
        if (op == "Pointwise" && domain == "lathe")
          node.region = elementwise_program(Pointwise::from(a.get<std::vector<int64_t>>("code", {}),
                                                            a.get<std::vector<float>>("constants", {})));
        return std::make_shared<const PluginNode>(std::move(node));
      };
}

class Call final : public KernelCall {
 public:
  using Scratch = std::function<size_t(const AttributeView&, std::span<const Shape>)>;
  /// `region`: of the operator Pointwise. `scratch`: may be empty.
  Call(const AttributeView& attributes, const ElementwiseProgram* region, const Scratch& scratch,
       KernelContext& c)
      : attributes_(attributes),
        program_(region),
        scratch_(scratch),
        prepared_(static_cast<const PreparedByPlugin*>(c.prepared())),
        c_(c) {
    if (prepared_ && prepared_->epilogue) program_ = &*prepared_->epilogue;
  }
  const AttributeView& attributes() const override { return attributes_; }
  size_t inputs() const override { return c_.inputs(); }
  size_t outputs() const override { return c_.outputs(); }
  bool has(size_t i) const override { return c_.has(i); }
  bool wants(size_t i) const override { return c_.wants(i); }
  const Tensor& input(size_t i) const override {
    if (!c_.has(i) || !c_.value(i).is_tensor())
      c_.fail(Code::internal, "a kernel that reads inputs which are there", "input " + std::to_string(i));
    return c_.in(i);
  }
  Tensor& output(size_t i) override {
    made_ |= bit(i);
    return c_.out(i);
  }
  Tensor& output(size_t i, DataType type, const Shape& shape) override {
    made_ |= bit(i);
    return c_.out(i, type, shape);
  }
  /// Memory that a kernel has not asked for holds what was there before.
  void require_outputs() const {
    for (size_t i = 0; i < c_.outputs() && i < 64; ++i)
      if (c_.wants(i) && !(made_ & bit(i)))
        c_.fail(Code::internal, "a kernel that makes output " + std::to_string(i),
                "one that did not ask for it");
  }
  const Prepared* prepared() const override { return prepared_ ? prepared_->own.get() : nullptr; }
  void* scratch(size_t bytes) override {
    if (scratch_) {
      std::vector<Shape> shapes(c_.inputs());
      for (size_t i = 0; i < shapes.size(); ++i)
        if (c_.has(i)) shapes[i] = c_.in(i).shape();
      bytes = std::max(bytes, scratch_(attributes_, shapes));
    }
    return bytes > 0 ? c_.workspace(bytes) : nullptr;
  }
  const ElementwiseProgram* program() const override { return program_; }
  const Tensor& epilogue_operand(size_t i) const override { return c_.epilogue_operand(i); }
  Queue* queue() override { return c_.queue(); }
  void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) override {
    c_.parallel(n, grain, f);
  }
  void poll() override { c_.poll(); }

 private:
  const AttributeView& attributes_;
  static uint64_t bit(size_t i) { return i < 64 ? uint64_t{1} << i : 0; }

  const ElementwiseProgram* program_;
  uint64_t made_ = 0;  // outputs that were asked for
  const Scratch& scratch_;
  const PreparedByPlugin* prepared_;
  KernelContext& c_;
};

/// A step's node as the plug-in sees it.
class ViewOf {
 public:
  ViewOf(const PluginNode& node, const KernelQuery& query)
      : inputs_(views(query.inputs, query.refit)),
        outputs_(views(query.outputs, query.refit)),
        operands_(views(query.epilogue_operands, query.refit)) {
    if (query.epilogue) epilogue_ = elementwise_program(*query.epilogue);
    const ElementwiseProgram* program = epilogue_ ? &*epilogue_ : node.region ? &*node.region : nullptr;
    view_.emplace(NodeView{node.op, node.domain, node.attributes, inputs_, outputs_, program, operands_});
  }
  ViewOf(const ViewOf&) = delete;
  ViewOf& operator=(const ViewOf&) = delete;
  const NodeView& view() const { return *view_; }
  std::optional<ElementwiseProgram>& epilogue() { return epilogue_; }

 private:
  static std::vector<OperandView> views(const KernelQuery::Operands& operands, bool refit) {
    std::vector<OperandView> list;
    for (const auto& o : operands) {
      const bool small = o.constant && !refit && o.constant->bytes() <= max_constant_value;
      list.push_back({o.present, o.type, o.shape, o.constant != nullptr, small ? o.constant : nullptr});
    }
    return list;
  }

  std::vector<OperandView> inputs_, outputs_, operands_;
  std::optional<ElementwiseProgram> epilogue_;
  std::optional<NodeView> view_;
};

class Preparation final : public PrepareCall {
 public:
  Preparation(const NodeView& node, PrepareContext& c) : node_(node), c_(c) {}
  const NodeView& node() const override { return node_; }
  const Tensor& constant(size_t i) const override {
    const auto& inputs = c_.query().inputs;
    if (i >= inputs.size() || !inputs[i].constant)
      throw Error(Code::internal, "load", "input " + std::to_string(i) + " to be constant", "another value");
    return *inputs[i].constant;
  }
  void replaces(size_t i) override {
    constant(i);
    c_.replaces(i);
    replaced_ = true;
  }
  bool has_replaced() const { return replaced_; }
  void* allocate(size_t bytes) override { return c_.allocate(bytes); }
  Queue* queue() override { return c_.queue(); }
  void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) override {
    c_.parallel(n, grain, f);
  }

 private:
  const NodeView& node_;
  PrepareContext& c_;
  bool replaced_ = false;
};

/// The first operand of a type that the device does not hold, as a reason; nothing where there is none.
std::optional<std::string> refused_type(const DeviceFacts& facts, const Backend& device,
                                        const KernelQuery& r) {
  if (facts.types.empty()) return std::nullopt;
  for (const KernelQuery::Operands& operands : {r.inputs, r.outputs, r.epilogue_operands})
    for (const KernelQuery::Operand& o : operands)
      if (o.present && std::ranges::find(facts.types, o.type) == facts.types.end())
        return std::string(device.name()) + " has no kernels for " + std::string(name_of(o.type));
  return std::nullopt;
}

/// Why the operands of a region are not what its program reads and makes, as plans from files may have it.
std::optional<std::string> refused_operands(const ElementwiseProgram& region, const KernelQuery& r) {
  if (r.inputs.size() != region.operands.size() || r.outputs.size() != 1) return "another number of operands";
  for (size_t i = 0; i < r.inputs.size(); ++i)
    if (!r.inputs[i].present || !may_be_in_memory_as(region.operands[i], r.inputs[i].type))
      return "operands of other types than its program reads";
  if (!r.outputs[0].present || !may_be_in_memory_as(region.instructions.back().result, r.outputs[0].type))
    return "a result of another type than its program makes";
  return std::nullopt;
}

Support asked(const KernelRefusal& refusal, const void* op, const KernelQuery& r) {
  const ViewOf node(node_of(op), r);
  auto reason = guarded("refuse() or decline()", [&] { return refusal(node.view()); });
  if (!reason) return Support::yes();
  return Support::no(reason->empty() ? "refused without a reason" : *std::move(reason));
}

}  // namespace

std::shared_ptr<const AttributeView> attribute_view(const Attributes& attributes) {
  return std::make_shared<const AttributesOfNode>(attributes);
}

Kernel adapt(PluginKernel kernel, const Backend* device) {
  Kernel k{.op = kernel.op, .domain = kernel.domain, .name = std::move(kernel.name)};
  k.backend = device ? kernel.backend : "cpu";
  k.memory = device ? MemorySpace{1} : host_memory;
  k.fuses_epilogue = kernel.takes_epilogue;
  k.decode = decoder_of(kernel.op, kernel.domain);
  const DeviceFacts facts = device ? guarded("facts()", [&] { return device->facts(); }) : DeviceFacts();
  // Behind kernels in host memory the engine computes the region.
  const auto seen = [device](KernelQuery r) {
    if (!device) r.epilogue = nullptr, r.epilogue_operands = {};
    return r;
  };
  k.supports = [refuse = std::move(kernel.refuse), takes = kernel.takes_epilogue, device, facts, seen](
                   const void* op, const KernelQuery& r) {
    if (const auto& region = node_of(op).region)
      if (auto why = refused_operands(*region, r)) return Support::no(std::move(*why));
    if (device) {
      if (auto why = refused_type(facts, *device, r)) return Support::no(std::move(*why));
      if (r.epilogue && !takes) return Support::no("computes nothing behind its node");
    }
    return refuse ? asked(refuse, op, seen(r)) : Support::yes();
  };
  if (kernel.decline)
    k.is_preferred = [decline = std::move(kernel.decline), seen](const void* op, const KernelQuery& r) {
      return asked(decline, op, seen(r));
    };
  if (kernel.scratch)
    k.workspace = [scratch = kernel.scratch](const void* op, std::span<const Shape> in, int) {
      return guarded("scratch()", [&] { return scratch(node_of(op).attributes, in); });
    };
  if (kernel.prepare || kernel.takes_epilogue)
    k.prepare = [prepare = std::move(kernel.prepare), seen](
                    const void* op, PrepareContext& c) -> std::shared_ptr<const void> {
      ViewOf node(node_of(op), seen(c.query()));
      Preparation call(node.view(), c);
      auto made = std::make_shared<PreparedByPlugin>();
      if (prepare) made->own = guarded("prepare()", [&] { return prepare(call); });
      if (call.has_replaced() && !made->own)
        throw Error(Code::internal, "load", "something prepared in place of a constant", "nothing");
      made->epilogue = std::move(node.epilogue());
      return made;
    };
  k.run = [name = k.name, run = std::move(kernel.run), scratch = std::move(kernel.scratch)](
              const void* op, KernelContext& c) {
    const PluginNode& node = node_of(op);
    Call call(node.attributes, node.region ? &*node.region : nullptr, scratch, c);
    guarded(name, [&] { run(call); });
    call.require_outputs();
  };
  return k;
}

OpCodec codec_for(const PluginOperator& op) {
  OpCodec codec;
  codec.decode = decoder_of(op.name, op.domain);
  codec.shape = [shape = op.shape](const void* o, ShapeContext<int64_t>& c) {
    if (!shape) return;
    std::vector<Shape> in(c.inputs());
    for (size_t i = 0; i < in.size(); ++i)
      if (c.has(i)) in[i] = Shape(c.shape(i).begin(), c.shape(i).end());
    const auto made = guarded("shape()", [&] { return shape(node_of(o).attributes, in); });
    if (made.size() > c.outputs())
      throw Error(Code::internal, "run", "shapes of " + std::to_string(c.outputs()) + " outputs from shape()",
                  std::to_string(made.size()));
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i]) c.output(i, {made[i]->begin(), made[i]->end()});
  };
  return codec;
}

}  // namespace lathe
