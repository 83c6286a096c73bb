#include "runtime/plugin_kernel.h"

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

const AttributeView& view(const void* op) { return *static_cast<const AttributesOfNode*>(op); }
std::shared_ptr<const void> keep(const Attributes& a) { return std::make_shared<const AttributesOfNode>(a); }

/// Turns exceptions of a plug-in into Errors.
template <class F>
auto guarded(F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(Code::internal, "run", "a plug-in that ends well", e.what());
  } catch (...) {
    throw Error(Code::internal, "run", "a plug-in that ends well", "an exception of no known type");
  }
}

class Call final : public KernelCall {
 public:
  Call(const AttributeView& attributes, KernelContext& c) : attributes_(attributes), c_(c) {}
  const AttributeView& attributes() const override { return attributes_; }
  size_t inputs() const override { return c_.inputs(); }
  size_t outputs() const override { return c_.outputs(); }
  bool has(size_t i) const override { return c_.has(i); }
  bool wants(size_t i) const override { return c_.wants(i); }
  const Tensor& input(size_t i) const override { return c_.in(i); }
  Tensor& output(size_t i) override { return c_.out(i); }
  Tensor& output(size_t i, DataType type, const Shape& shape) override { return c_.out(i, type, shape); }
  Queue* queue() override { return c_.queue(); }
  void parallel(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) override {
    c_.parallel(n, grain, f);
  }
  void poll() override { c_.poll(); }

 private:
  const AttributeView& attributes_;
  KernelContext& c_;
};

std::vector<OperandView> views(std::span<const KernelQuery::Operand> operands) {
  std::vector<OperandView> list;
  for (const auto& o : operands) list.push_back({o.present, o.type, o.shape});
  return list;
}

}  // namespace

Kernel adapt(PluginKernel kernel) {
  Kernel k{.op = std::move(kernel.op), .domain = std::move(kernel.domain), .name = std::move(kernel.name)};
  k.backend = kernel.backend.empty() ? "cpu" : kernel.backend;
  k.memory = k.backend == "cpu" ? host_memory : MemorySpace{1};
  k.decode = keep;
  if (kernel.refuse)
    k.supports = [refuse = std::move(kernel.refuse)](const void* op, const KernelQuery& r) {
      auto reason = guarded([&] { return refuse(view(op), views(r.inputs), views(r.outputs)); });
      return reason ? Support::no(*reason) : Support::yes();
    };
  k.run = [run = std::move(kernel.run)](const void* op, KernelContext& c) {
    Call call(view(op), c);
    guarded([&] { run(call); });
  };
  return k;
}

OpCodec codec_for(const PluginOperator& op) {
  OpCodec codec;
  codec.decode = keep;
  codec.shape = [shape = op.shape](const void* o, ShapeContext<int64_t>& c) {
    if (!shape) return;
    std::vector<Shape> in(c.inputs());
    for (size_t i = 0; i < in.size(); ++i)
      if (c.has(i)) in[i] = Shape(c.shape(i).begin(), c.shape(i).end());
    const auto made = guarded([&] { return shape(view(o), in); });
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i]) c.output(i, {made[i]->begin(), made[i]->end()});
  };
  return codec;
}

}  // namespace lathe
