#include "ops/sequence_map/sequence_map.h"

#include "ops/pass_value.h"

namespace lathe {
namespace {

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
      made[i].items->push_back(each.tensor().clone());  // the body's memory is its own
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
