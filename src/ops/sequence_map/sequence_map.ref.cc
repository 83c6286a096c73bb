#include "ops/sequence_map/sequence_map.h"

#include <cstring>

#include "ops/pass_value.h"

namespace lathe {
namespace {

/// Copies of the body's outputs, whose memory is its own. Small ones share a block: to allocate each would be
/// most of an iteration.
class Copies {
 public:
  /// `left`: how many are still to come, this one too.
  Tensor add(const Tensor& t, size_t left) {
    const size_t bytes = (t.bytes() + line - 1) / line * line;
    if (t.type() == DataType::string || bytes > largest) return t.clone();
    if (bytes > capacity_) {
      capacity_ = std::min(bytes * left, 16 * largest);
      block_ = Tensor(DataType::uint8, {static_cast<int64_t>(capacity_)});
      next_ = static_cast<std::byte*>(block_.data());
    }
    Tensor copy = Tensor::view(t.type(), t.shape(), next_, block_.owner());
    if (t.bytes() > 0) std::memcpy(next_, t.data(), t.bytes());
    next_ += bytes;
    capacity_ -= bytes;
    return copy;
  }

 private:
  static constexpr size_t line = 64, largest = 4096;  // bytes
  Tensor block_;
  std::byte* next_ = nullptr;
  size_t capacity_ = 0;
};

void run_sequence_map(const SequenceMap&, KernelContext& c) {
  KernelBody& body = c.body(0);
  if (body.inputs() != c.inputs() || body.outputs() < c.outputs())
    c.fail(Code::run_bad_value, "a body of " + std::to_string(c.inputs()) + " inputs",
           std::to_string(body.inputs()));
  if (!c.has(0) || !c.value(0).is_sequence()) c.fail(Code::run_bad_input, "a sequence", "another value");
  const size_t length = c.value(0).sequence().items->size();
  for (size_t i = 1; i < c.inputs(); ++i)
    if (c.value(i).is_sequence() && c.value(i).sequence().items->size() != length)
      c.fail(Code::run_bad_shape, "sequences of " + std::to_string(length) + " elements",
             describe(c.value(i)));
  std::vector<Sequence> made(c.outputs());
  for (Sequence& s : made) s.items->reserve(length);
  std::vector<Copies> copies(made.size());
  std::vector<Value> in(c.inputs());
  for (size_t n = 0; n < length; ++n) {
    c.poll();
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = c.value(i).is_sequence() ? (*c.value(i).sequence().items)[n] : c.value(i);
    body.run(in);
    for (size_t i = 0; i < made.size(); ++i) {
      const Value& each = body.output(i);
      if (!each.is_tensor())
        c.fail(Code::run_bad_value, "outputs of the body that are tensors", describe(each));
      made[i].items->push_back(copies[i].add(each.tensor(), length - n));
      made[i].elem = each.tensor().type();
    }
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (length == 0) made[i].elem = c.expected(i).type;
    if (c.wants(i)) c.set(i, std::move(made[i]));
  }
}

}  // namespace

void reference_sequence_map(KernelCatalog& k) { k.reference<SequenceMap>("SequenceMap", run_sequence_map); }

}  // namespace lathe
