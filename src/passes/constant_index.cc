#include "passes/constant_index.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lathe {
namespace {

void mix(size_t& hash, size_t x) { hash = (hash ^ x) * 0x100000001b3u; }
const unsigned char* bytes_of(const Tensor& t) { return static_cast<const unsigned char*>(t.data()); }

/// Returns a hash of type, shape and the first bytes, which in a file are next to bytes that were read
/// before.
size_t look(const Tensor& t) {
  size_t hash = static_cast<size_t>(t.type());
  for (int64_t d : t.shape()) mix(hash, static_cast<size_t>(d));
  for (size_t i = 0; i < std::min<size_t>(t.bytes(), 64); ++i) mix(hash, bytes_of(t)[i]);
  return hash;
}
/// Adds some other bytes to the hash: weights may be large, and those that begin alike mostly differ in
/// these.
size_t sample(const Tensor& t, size_t hash) {
  const size_t step = t.bytes() / 16 + 1;
  for (size_t i = 0; i < t.bytes(); i += step) mix(hash, bytes_of(t)[i]);
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
    // Each byte of a mapped file may cost a page: more is read only of constants that begin alike.
    const size_t key = look(*t);
    const auto [begins, is_new] = known.by_look.try_emplace(key, at);
    if (is_new) continue;
    if (const ValueId other = std::exchange(begins->second, no_id); other != no_id)
      known.by_sample.emplace(sample(*g.constant_tensor(other), key), other);
    const size_t both = sample(*t, key);
    const auto [begin, end] = known.by_sample.equal_range(both);
    const auto equal = std::find_if(
        begin, end, [&](const auto& e) { return same_contents(*t, *g.constant_tensor(e.second)); });
    if (equal == end)
      known.by_sample.emplace(both, at);
    else
      known.first[at] = equal->second;
  }
  return known.first[v];
}

}  // namespace lathe
