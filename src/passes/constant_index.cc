#include "passes/constant_index.h"

#include <algorithm>
#include <cstring>

namespace lathe {
namespace {

/// Of type, shape and some bytes: weights may be large, and equal ones differ from all others early.
size_t sample(const Tensor& t) {
  size_t hash = static_cast<size_t>(t.type());
  const auto mix = [&](size_t x) { hash = (hash ^ x) * 0x100000001b3u; };
  for (int64_t d : t.shape()) mix(static_cast<size_t>(d));
  const auto* bytes = reinterpret_cast<const unsigned char*>(t.data());
  // Each byte of a mapped file may cost a page.
  const size_t step = t.bytes() / 16 + 1;
  for (size_t i = 0; i < t.bytes(); i += step) mix(bytes[i]);
  return hash;
}

}  // namespace

bool same_contents(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || !(a.shape() == b.shape())) return false;
  if (a.type() == DataType::string) return std::ranges::equal(a.as<std::string>(), b.as<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

ValueId ConstantIndex::first_like(const Graph& g, ValueId v) {
  Known& known = known_[&g];
  while (known.first.size() < g.value_count()) {
    const auto at = static_cast<ValueId>(known.first.size());
    known.first.push_back(at);
    const Tensor* t = g.constant_tensor(at);
    if (!t || t->type() == DataType::string) continue;
    const size_t key = sample(*t);
    const auto [begin, end] = known.by_sample.equal_range(key);
    const auto twin = std::find_if(
        begin, end, [&](const auto& e) { return same_contents(*t, *g.constant_tensor(e.second)); });
    if (twin == end)
      known.by_sample.emplace(key, at);
    else
      known.first[at] = twin->second;
  }
  return known.first[v];
}

}  // namespace lathe
