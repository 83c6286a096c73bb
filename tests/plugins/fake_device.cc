// A second device that the host cannot access: its addresses are pages without access, its memory is
// elsewhere, and its queue does nothing until somebody waits for it. Provides the device "fake", kernels for
// it, and operators in the domain "fake".
#include <sys/mman.h>

#include <atomic>
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
  registry.add(PluginKernel{.op = "Scale",
                            .domain = "fake",
                            .name = "fake.scale",
                            .backend = "fake",
                            .refuse = [](const AttributeView& a, auto, auto) -> std::optional<std::string> {
                              if (a.number("factor", 2) < 0) return "negative factors";
                              return std::nullopt;
                            },
                            .run =
                                [d = device.get()](KernelCall& c) {
                                  const float factor = static_cast<float>(c.attributes().number("factor", 2));
                                  const auto n = static_cast<size_t>(c.input(0).size());
                                  fake(*c.queue()).push([=, x = c.input(0).data(), y = c.output(0).data()] {
                                    for (size_t i = 0; i < n; ++i)
                                      d->real<float>(y)[i] = d->real<float>(x)[i] * factor;
                                  });
                                }});
  registry.add(PluginKernel{
      .op = "Add",
      .domain = "fake",
      .name = "fake.add",
      .backend = "fake",
      .run = [d = device.get()](KernelCall& c) {
        const auto n = static_cast<size_t>(c.output(0).size());
        fake(*c.queue()).push([=, a = c.input(0).data(), b = c.input(1).data(), y = c.output(0).data()] {
          for (size_t i = 0; i < n; ++i) d->real<float>(y)[i] = d->real<float>(a)[i] + d->real<float>(b)[i];
        });
      }});
}

}  // extern "C"
