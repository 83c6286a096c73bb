#include "runtime/shape_key.h"

namespace lathe {

void append_to_key(ShapeKey& key, const Shape& s) {
  key.push_back(static_cast<int64_t>(s.size()));
  key.insert(key.end(), s.begin(), s.end());
}

void append_to_key(ShapeKey& key, const Value& v) {
  if (v.is_tensor() && v.tensor().defined())
    append_to_key(key, v.tensor().shape());
  else
    key.push_back(-1);
}

void round_key(const Program& program, ShapeKey& key, Growth::Sizes& sizes) {
  if (program.growth().round_up(key, sizes)) key.push_back(rounded_lengths);
}

}  // namespace lathe
