#include "kernel/facts.h"

#include "tensor/contents.h"

namespace lathe {

void describe_value(const Value& v, Fact<int64_t>& f, bool readable) {
  f.present = !v.empty();
  f.type = DataType::undefined;
  f.ranked = f.valued = false;
  f.shape.clear();
  f.constant = nullptr;
  if (v.is_sparse()) {
    f.type = v.sparse().values.type();
    f.ranked = true;
    f.shape.assign(v.sparse().shape.begin(), v.sparse().shape.end());
  }
  if (!v.is_tensor() || !v.tensor().defined()) return;
  const Tensor& t = v.tensor();
  f.type = t.type();
  f.ranked = true;
  f.shape.assign(t.shape().begin(), t.shape().end());
  if (!readable) return;
  f.valued = read_integers(t, f.values);
  f.constant = &t;
}

}  // namespace lathe
