#include "ops/random/random.h"

#include <bit>
#include <random>

#include "ops/movement.h"
#include "ops/random_numbers.h"

namespace lathe {

uint64_t fresh_seed() {
  std::random_device entropy;
  return static_cast<uint64_t>(entropy()) << 32 | entropy();
}

namespace {

CounterRandom generator(const std::optional<float>& seed) {
  return CounterRandom(seed ? std::bit_cast<uint32_t>(*seed) : fresh_seed());
}

/// Fills output 0 with the numbers `draw(i)`.
template <class Draw>
void fill_random(KernelContext& c, Draw&& draw) {
  Tensor& out = c.out(0);
  Poller poll(c);
  for (int64_t i = 0; i < out.size(); ++i) {
    store_double(out, i, draw(i));
    poll.did(16);
  }
}

template <class Op>
void random_uniform(const Op& op, KernelContext& c) {
  const CounterRandom r = generator(op.seed);
  const double low = static_cast<double>(op.low), width = static_cast<double>(op.high) - low;
  fill_random(c, [&](int64_t i) { return low + width * r.uniform(static_cast<uint64_t>(i)); });
}

template <class Op>
void random_normal(const Op& op, KernelContext& c) {
  const CounterRandom r = generator(op.seed);
  fill_random(c, [&](int64_t i) {
    return static_cast<double>(op.mean) + static_cast<double>(op.scale) * r.normal(static_cast<uint64_t>(i));
  });
}

void bernoulli(const RandomLike& op, KernelContext& c) {
  const CounterRandom r = generator(op.seed);
  const Tensor& p = c.in(0);
  fill_random(c,
              [&](int64_t i) { return r.uniform(static_cast<uint64_t>(i)) < load_double(p, i) ? 1.0 : 0.0; });
}

void multinomial(const Multinomial& op, KernelContext& c) {
  const CounterRandom r = generator(op.seed);
  const Tensor& logits = c.in(0);
  Tensor& out = c.out(0);
  const int64_t classes = logits.dim(1);
  if (classes == 0 && out.size() > 0) c.fail(Code::run_bad_shape, "at least one class", describe(logits));
  std::pmr::vector<double> cumulative(static_cast<size_t>(classes), c.scratch());
  Poller poll(c);
  for (int64_t row = 0; row < logits.dim(0); ++row) {
    poll.did(1);  // there may be many rows without elements
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t k = 0; k < classes; ++k) {
      poll.did(4);
      largest = std::max(largest, load_double(logits, row * classes + k));
    }
    for (int64_t k = 0; k < classes; ++k) {
      poll.did(4);
      cumulative[static_cast<size_t>(k)] = total +=
          std::exp(load_double(logits, row * classes + k) - largest);
    }
    for (int64_t s = 0; s < op.sample_size; ++s) {
      poll.did(16);
      const int64_t i = row * op.sample_size + s;
      const double u = total * r.uniform(static_cast<uint64_t>(i));
      const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), u) - cumulative.begin();
      store_int(out, i, std::min<int64_t>(at, classes - 1));
    }
  }
}

}  // namespace

void reference_random(KernelCatalog& k) {
  k.reference<RandomShaped>("RandomUniform", random_uniform<RandomShaped>);
  k.reference<RandomShaped>("RandomNormal", random_normal<RandomShaped>);
  k.reference<RandomLike>("RandomUniformLike", random_uniform<RandomLike>);
  k.reference<RandomLike>("RandomNormalLike", random_normal<RandomLike>);
  k.reference<RandomLike>("Bernoulli", bernoulli);
  k.reference<Multinomial>("Multinomial", multinomial);
}

}  // namespace lathe
