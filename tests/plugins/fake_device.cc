// A second device that the host cannot access: its addresses are pages without access, its memory is
// elsewhere, and its queue does nothing until somebody waits for it. Provides the device "fake", kernels and
// a lowering pass for it, and operators in the domain "fake". It uses all of the interface.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "lathe/backend.h"
#include "lathe/error.h"

namespace {

using namespace lathe;

std::atomic<size_t> bytes_held{0};
std::atomic<size_t> copies_in{0};
std::atomic<size_t> preparations{0};

class FakeQueue final : public Queue {
 public:
  void push(std::function<void()> work) { work_.push_back(std::move(work)); }
  void wait() override {
    for (; !work_.empty(); work_.pop_front()) work_.front()();
  }

 private:
  std::deque<std::function<void()>> work_;
};
FakeQueue& fake(Queue& q) { return static_cast<FakeQueue&>(q); }

class FakeDevice final : public Backend {
 public:
  static constexpr size_t room = size_t{64} << 20;
  FakeDevice()
      : addresses_(static_cast<char*>(
            mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        memory_(static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    free_[0] = room;
  }
  ~FakeDevice() override {
    munmap(addresses_, room);
    munmap(memory_, room);
  }

  std::string_view name() const override { return "fake"; }
  DeviceFacts facts() const override {
    return {.description = "pages without access", .types = {DataType::float32}, .details = {{"units", "1"}}};
  }
  DeviceMemory memory() const override { return {.total = room, .free = room - bytes_held}; }
  std::optional<std::string> refuse_region(const ElementwiseProgram& program) const override {
    for (const ElementwiseProgram::Instruction& s : program.instructions)
      if (!is_known(s.op)) return "no function for " + std::string(s.op);
    return std::nullopt;
  }
  static bool is_known(std::string_view op) {
    constexpr std::string_view known[] = {"Add", "Sub", "Mul", "Neg", "Relu", "Linear", "Clip"};
    return std::ranges::find(known, op) != std::end(known);
  }
  void* allocate(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    bytes = (bytes + 63) / 64 * 64;
    for (auto [at, size] : free_)
      if (size >= bytes) {
        free_.erase(at);
        if (size > bytes) free_[at + bytes] = size - bytes;
        bytes_held += bytes;
        return addresses_ + at;
      }
    return nullptr;
  }
  void deallocate(void* p, size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    bytes = (bytes + 63) / 64 * 64;
    bytes_held -= bytes;
    free_[static_cast<size_t>(static_cast<char*>(p) - addresses_)] = bytes;
  }
  std::unique_ptr<Queue> create_queue() override { return std::make_unique<FakeQueue>(); }
  void copy_in(Queue& q, void* to, const void* from, size_t bytes) override {
    ++copies_in;
    std::vector<char> kept(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    fake(q).push(
        [this, to, kept = std::move(kept)] { std::memcpy(real<char>(to), kept.data(), kept.size()); });
  }
  void copy_out(Queue& q, void* to, const void* from, size_t bytes) override {
    fake(q).push([this, to, from, bytes] { std::memcpy(to, real<char>(from), bytes); });
  }

  /// The memory behind a device address.
  template <class T>
  T* real(const void* address) const {
    return reinterpret_cast<T*>(memory_ + (static_cast<const char*>(address) - addresses_));
  }

 private:
  char *addresses_, *memory_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;
};

/// An operand of a program on the device, broadcast to the shape of the result.
struct Broadcast {
  const void* data;
  Shape shape, result;
  /// The operand's element for element `i` of the result.
  size_t at(size_t i) const {
    size_t index = 0, stride = 1;
    for (size_t back = 1; back <= result.size(); ++back) {
      const auto size = static_cast<size_t>(result[result.size() - back]);
      const size_t here = i % size;
      i /= size;
      if (back > shape.size()) continue;
      const auto own = static_cast<size_t>(shape[shape.size() - back]);
      if (own > 1) index += here * stride;
      stride *= own;
    }
    return index;
  }
};

float apply(const ElementwiseProgram::Instruction& s, float x, float y) {
  if (s.op == "Add") return x + y;
  if (s.op == "Sub") return x - y;
  if (s.op == "Mul") return x * y;
  if (s.op == "Neg") return -x;
  if (s.op == "Relu") return x > 0 ? x : 0;
  if (s.op == "Linear") return s.a * x + s.b;
  return std::clamp(x, s.a, s.b);
}

/// Computes element `i` of a program from the values of its operands.
float evaluate(const ElementwiseProgram& p, std::vector<float> values) {
  for (const ElementwiseProgram::Instruction& s : p.instructions)
    values.push_back(apply(s, values[s.operands[0]], s.operands.size() > 1 ? values[s.operands[1]] : 0));
  return values.back();
}

/// The operands of the program behind the node, from 1 on.
std::vector<Broadcast> epilogue_operands(const KernelCall& c, const Shape& result) {
  std::vector<Broadcast> list;
  if (!c.program()) return list;
  for (size_t i = 1; i < c.program()->operands.size(); ++i) {
    const Tensor& t = c.epilogue_operand(i);
    list.push_back({t.data(), t.shape(), result});
  }
  return list;
}

/// x times `factor`.
void queue_scale(const FakeDevice& d, KernelCall& c) {
  const float factor = static_cast<float>(c.attributes().number("factor", 2));
  const auto n = static_cast<size_t>(c.input(0).size());
  fake(*c.queue()).push([=, &d, x = c.input(0).data(), y = c.output(0).data()] {
    for (size_t i = 0; i < n; ++i) d.real<float>(y)[i] = d.real<float>(x)[i] * factor;
  });
}

/// The product of two matrices, and the program behind it.
void queue_matmul(const FakeDevice& d, KernelCall& c) {
  Tensor& y = c.output(0);
  const auto rows = static_cast<size_t>(y.shape()[0]), columns = static_cast<size_t>(y.shape()[1]),
             depth = static_cast<size_t>(c.input(0).shape()[1]);
  fake(*c.queue())
      .push([=, &d, a = c.input(0).data(), b = c.input(1).data(), y = y.data(), program = c.program(),
             others = epilogue_operands(c, y.shape())] {
        for (size_t i = 0; i < rows * columns; ++i) {
          float sum = 0;
          for (size_t k = 0; k < depth; ++k)
            sum += d.real<float>(a)[i / columns * depth + k] * d.real<float>(b)[k * columns + i % columns];
          std::vector<float> values{sum};
          for (const Broadcast& o : others) values.push_back(d.real<float>(o.data)[o.at(i)]);
          d.real<float>(y)[i] = program ? evaluate(*program, std::move(values)) : sum;
        }
      });
}

/// An elementwise region of its own.
void queue_region(const FakeDevice& d, KernelCall& c) {
  Tensor& y = c.output(0);
  std::vector<Broadcast> operands;
  for (size_t i = 0; i < c.inputs(); ++i)
    operands.push_back({c.input(i).data(), c.input(i).shape(), y.shape()});
  fake(*c.queue())
      .push([&d, n = static_cast<size_t>(y.size()), y = y.data(), program = c.program(), operands] {
        for (size_t i = 0; i < n; ++i) {
          std::vector<float> values;
          for (const Broadcast& o : operands) values.push_back(d.real<float>(o.data)[o.at(i)]);
          d.real<float>(y)[i] = evaluate(*program, std::move(values));
        }
      });
}

/// What Add makes of a constant: its elements backwards, on the device.
struct Backwards final : Prepared {
  const void* data = nullptr;
};

std::shared_ptr<const Prepared> prepare_add(const FakeDevice& d, PrepareCall& c) {
  ++preparations;
  auto made = std::make_shared<Backwards>();
  if (!c.node().input(1).constant) return made;
  const Tensor& b = c.constant(1);
  std::vector<float> reversed(b.as<float>().rbegin(), b.as<float>().rend());
  void* const to = c.allocate(b.bytes());
  fake(*c.queue()).push([&d, to, reversed] { std::ranges::copy(reversed, d.real<float>(to)); });
  c.replaces(1);
  made->data = to;
  return made;
}

void queue_add(const FakeDevice& d, KernelCall& c) {
  const auto n = static_cast<size_t>(c.output(0).size());
  const void* const backwards = static_cast<const Backwards*>(c.prepared())->data;
  fake(*c.queue())
      .push([&d, n, backwards, a = c.input(0).data(), b = c.input(1).data(), y = c.output(0).data()] {
        for (size_t i = 0; i < n; ++i)
          d.real<float>(y)[i] =
              d.real<float>(a)[i] + (backwards ? d.real<float>(backwards)[n - 1 - i] : d.real<float>(b)[i]);
      });
}

/// Means of neighbors, twice, with the first ones in scratch memory.
void queue_smooth(const FakeDevice& d, KernelCall& c) {
  const auto n = static_cast<size_t>(c.input(0).size());
  fake(*c.queue()).push([&d, n, x = c.input(0).data(), y = c.output(0).data(), between = c.scratch()] {
    const auto smooth = [n](const float* from, float* to) {
      for (size_t i = 0; i < n; ++i) to[i] = (from[i] + from[i + 1 < n ? i + 1 : i]) / 2;
    };
    smooth(d.real<float>(x), d.real<float>(between));
    smooth(d.real<float>(between), d.real<float>(y));
  });
}
void smooth_on_host(KernelCall& c) {
  const auto x = c.input(0).as<float>();
  const auto y = c.output(0).as<float>();
  std::vector<float> between(x.size());
  const auto smooth = [](const auto& from, auto& to) {
    for (size_t i = 0; i < from.size(); ++i) to[i] = (from[i] + from[i + 1 < from.size() ? i + 1 : i]) / 2;
  };
  smooth(x, between);
  smooth(between, y);
}

/// Pow by a constant whole number, which it must know.
std::optional<std::string> refuse_pow(const NodeView& n) {
  const OperandView& exponent = n.input(1);
  if (!exponent.constant) return "an exponent that is not constant";
  if (!exponent.value || exponent.value->size() != 1) return "an exponent of many elements";
  const float e = exponent.value->as<float>()[0];
  if (e < 1 || e > 8 || e != std::floor(e)) return "an exponent that is no small whole number";
  return std::nullopt;
}
struct Exponent final : Prepared {
  int value = 1;
};
std::shared_ptr<const Prepared> prepare_pow(PrepareCall& c) {
  auto made = std::make_shared<Exponent>();
  made->value = static_cast<int>(c.constant(1).as<float>()[0]);
  c.replaces(1);
  return made;
}
void queue_pow(const FakeDevice& d, KernelCall& c) {
  const int exponent = static_cast<const Exponent*>(c.prepared())->value;
  const auto n = static_cast<size_t>(c.input(0).size());
  fake(*c.queue()).push([&d, n, exponent, x = c.input(0).data(), y = c.output(0).data()] {
    for (size_t i = 0; i < n; ++i) {
      float power = 1;
      for (int k = 0; k < exponent; ++k) power *= d.real<float>(x)[i];
      d.real<float>(y)[i] = power;
    }
  });
}

/// Few elements are not worth the copies.
std::optional<std::string> decline_few(const NodeView& n) {
  const auto& shape = n.input(0).shape;
  if (!shape) return std::nullopt;
  int64_t count = 1;
  for (const Dim& d : *shape) {
    if (!d.is_constant()) return std::nullopt;
    count *= d.constant();
  }
  return count < 4 ? std::optional<std::string>("fewer than 4 elements") : std::nullopt;
}
void queue_floor(const FakeDevice& d, KernelCall& c) {
  fake(*c.queue())
      .push([&d, n = static_cast<size_t>(c.input(0).size()), x = c.input(0).data(), y = c.output(0).data()] {
        for (size_t i = 0; i < n; ++i) d.real<float>(y)[i] = std::floor(d.real<float>(x)[i]);
      });
}

/// fake.Add of a value to itself is fake.Scale by 2.
bool rewrite_double(const GraphView& g, uint32_t node, PatchBuilder& patch) {
  if (g.domain(node) != "fake" || g.op(node) != "Add") return false;
  const auto in = g.inputs(node), out = g.outputs(node);
  if (in[0] != in[1]) return false;
  patch.replace(*out[0], patch.add_node("Scale", "fake", {in[0]}, 1, {{"factor", 2.0f}})[0]);
  return true;  // nothing reads the node any more
}

void scale_on_host(KernelCall& c) {
  const float factor = static_cast<float>(c.attributes().number("factor", 2));
  const auto x = c.input(0).as<float>();
  const auto y = c.output(0).as<float>();
  c.parallel(static_cast<int64_t>(x.size()), 64, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) y[i] = x[i] * factor;
  });
}

void add_on_host(KernelCall& c) {
  const auto a = c.input(0).as<float>(), b = c.input(1).as<float>();
  const auto y = c.output(0).as<float>();
  for (size_t i = 0; i < y.size(); ++i) y[i] = a[i] + b[i];
}

/// Returns as many ones as the first element says.
void ones_on_host(KernelCall& c) {
  const auto n = static_cast<int64_t>(c.input(0).as<float>()[0]);
  for (float& y : c.output(0, DataType::float32, Shape{n}).as<float>()) y = 1;
}

std::vector<std::optional<Shape>> same_shape(const AttributeView&, std::span<const Shape> in) {
  return {in[0]};
}

}  // namespace

extern "C" {

LATHE_API size_t fake_device_bytes() { return bytes_held; }
LATHE_API size_t fake_device_copies_in() { return copies_in; }
LATHE_API size_t fake_device_preparations() { return preparations; }

LATHE_API int lathe_plugin_abi() { return lathe::plugin_abi; }

LATHE_API void lathe_plugin(lathe::PluginRegistry& registry) {
  auto device = std::make_shared<FakeDevice>();
  registry.add(std::static_pointer_cast<Backend>(device));
  registry.add(PluginOperator{.domain = "fake",
                              .name = "Scale",
                              .signature = "(x: T) -> (y: T) {factor: float = 2} [T: float]",
                              .shape = same_shape,
                              .run = scale_on_host});
  registry.add(PluginOperator{.domain = "fake",
                              .name = "Add",
                              .signature = "(a: T, b: T) -> (y: T) [T: float]",
                              .shape = same_shape,
                              .run = add_on_host});
  registry.add(PluginOperator{
      .domain = "fake", .name = "Ones", .signature = "(n: T) -> (y: T) [T: float]", .run = ones_on_host});
  registry.add(PluginOperator{.domain = "fake",
                              .name = "Smooth",
                              .signature = "(x: T) -> (y: T) [T: float]",
                              .shape = same_shape,
                              .run = smooth_on_host});
  const FakeDevice* const d = device.get();
  registry.add(PluginKernel{.op = "Scale",
                            .domain = "fake",
                            .name = "fake.scale",
                            .backend = "fake",
                            .refuse = [](const NodeView& n) -> std::optional<std::string> {
                              if (n.attributes.number("factor", 2) < 0) return "negative factors";
                              return std::nullopt;
                            },
                            .run = [d](KernelCall& c) { queue_scale(*d, c); }});
  registry.add(PluginKernel{.op = "MatMul",
                            .name = "fake.matmul",
                            .backend = "fake",
                            .refuse = [](const NodeView& n) -> std::optional<std::string> {
                              for (const OperandView& o : n.inputs)
                                if (!o.shape || o.shape->size() != 2) return "only matrices";
                              return std::nullopt;
                            },
                            .takes_epilogue = true,
                            .run = [d](KernelCall& c) { queue_matmul(*d, c); }});
  registry.add(PluginKernel{.op = "Pointwise",
                            .domain = "lathe",
                            .name = "fake.pointwise",
                            .backend = "fake",
                            .refuse = [](const NodeView& n) -> std::optional<std::string> {
                              if (n.program->instructions.size() > 4) return "more than 4 instructions";
                              return std::nullopt;
                            },
                            .run = [d](KernelCall& c) { queue_region(*d, c); }});
  registry.add(PluginKernel{.op = "Add",
                            .domain = "fake",
                            .name = "fake.add",
                            .backend = "fake",
                            .prepare = [d](PrepareCall& c) { return prepare_add(*d, c); },
                            .run = [d](KernelCall& c) { queue_add(*d, c); }});
  registry.add(PluginKernel{.op = "Smooth",
                            .domain = "fake",
                            .name = "fake.smooth",
                            .backend = "fake",
                            .scratch =
                                [](const AttributeView&, std::span<const Shape> in) {
                                  size_t bytes = sizeof(float);
                                  for (int64_t size : in[0]) bytes *= static_cast<size_t>(size);
                                  return bytes;
                                },
                            .run = [d](KernelCall& c) { queue_smooth(*d, c); }});
  registry.add(PluginKernel{.op = "Pow",
                            .name = "fake.pow",
                            .backend = "fake",
                            .refuse = refuse_pow,
                            .prepare = prepare_pow,
                            .run = [d](KernelCall& c) { queue_pow(*d, c); }});
  registry.add(PluginKernel{.op = "Floor",
                            .name = "fake.floor",
                            .backend = "fake",
                            .decline = decline_few,
                            .run = [d](KernelCall& c) { queue_floor(*d, c); }});
  registry.add(PluginPass{.name = "fake-double",
                          .description = "a value that is added to itself is scaled by 2",
                          .backend = "fake",
                          .rewrite = rewrite_double});
}

}  // extern "C"
