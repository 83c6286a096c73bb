#include "ops/cases.h"

#include <cmath>

#include "tensor/element.h"

namespace lathe {
namespace {

/// splitmix64: the same numbers on every machine.
uint64_t next(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

OpCase& OpCase::random(DataType type, Shape shape, double low, double high) {
  uint64_t state = inputs.size() + 1;
  for (char c : op + "/" + name) state = state * 1099511628211ull + static_cast<unsigned char>(c);
  Tensor t(type, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = low + (high - low) * static_cast<double>(next(state) >> 11) * 0x1p-53;
    if (is_float(type))
      store_double(t, i, v);
    else
      store_int(t, i, static_cast<int64_t>(std::floor(v)));
  }
  return input(Value(std::move(t)));
}

}  // namespace lathe
