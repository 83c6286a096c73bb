#include "ops/tf_idf/tf_idf.h"

#include <map>

#include "ops/compute.h"

namespace lathe {
namespace {

/// Counts the n-grams of one row; `item(i)` is its i-th.
template <class T>
class Counter {
 public:
  Counter(const TfIdf& op, const std::vector<T>& pool) : op_(op) {
    size_t gram = 0;
    for (size_t n = 1; n <= op.ngram_counts.size(); ++n) {
      const auto [begin, end] = op.range(n);
      for (size_t at = begin; at < end; at += n, ++gram)
        places_[std::vector<T>(pool.begin() + static_cast<int64_t>(at),
                               pool.begin() + static_cast<int64_t>(at + n))]
            .push_back(gram);
    }
  }
  template <class Item>
  void row(int64_t length, Item&& item, std::span<float> to, Poller& poll) const {
    std::vector<T> gram;
    for (int64_t step = 1; step <= std::min(op_.max_skip_count, length) + 1; ++step)
      for (int64_t n = op_.min_gram_length; n <= op_.max_gram_length; ++n) {
        if (n == 1 && step > 1) continue;  // nothing to skip between
        if (n > 1 && step > (length - 1) / (n - 1)) break;
        for (int64_t first = 0; first + step * (n - 1) < length; ++first) {
          poll.did(16 * n);
          gram.clear();
          for (int64_t k = 0; k < n; ++k) gram.push_back(item(first + k * step));
          const auto found = places_.find(gram);
          if (found == places_.end()) continue;
          for (size_t g : found->second) count(g, to);
        }
      }
  }

 private:
  void count(size_t gram, std::span<float> to) const {
    float& out = to[static_cast<size_t>(op_.ngram_indexes[gram])];
    const float weight = op_.weights.empty() || op_.mode == "TF" ? 1 : op_.weights[gram];
    out = op_.mode == "IDF" ? weight : out + weight;
  }
  const TfIdf& op_;
  std::map<std::vector<T>, std::vector<size_t>> places_;
};

void tf_idf(const TfIdf& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const bool strings = x.type() == DataType::string;
  if (strings == op.pool_strings.empty())
    c.fail(Code::node_bad_type,
           op.pool_strings.empty() ? "integers, as the pool has" : "strings, as the pool has",
           std::string(name_of(x.type())));
  Tensor& out = c.out(0);
  const auto to = out.as<float>();
  const int64_t length = x.dim(x.rank() - 1), rows = x.rank() == 1 ? 1 : x.dim(0);
  const size_t width = static_cast<size_t>(out.dim(out.rank() - 1));
  Poller poll(c);
  poll.fill(to.data(), out.size(), 0.0f);
  const auto count = [&](const auto& counter, auto&& item) {
    for (int64_t r = 0; r < rows; ++r)
      counter.row(
          length, [&](int64_t i) { return item(r * length + i); },
          to.subspan(static_cast<size_t>(r) * width, width), poll);
  };
  if (strings)
    count(Counter<std::string>(op, op.pool_strings),
          [&](int64_t i) -> const std::string& { return x.as<std::string>()[static_cast<size_t>(i)]; });
  else
    count(Counter<int64_t>(op, op.pool_int64s), [&](int64_t i) { return load_int(x, i); });
}

}  // namespace

void reference_tf_idf(KernelCatalog& k) { k.reference<TfIdf>("TfIdfVectorizer", tf_idf); }

}  // namespace lathe
