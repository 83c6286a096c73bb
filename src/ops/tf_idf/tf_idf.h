// TfIdfVectorizer: how often each n-gram of a pool occurs in a row.
#pragma once

#include <algorithm>
#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct TfIdf {
  std::string mode;  // TF: counts; IDF: the weights of what occurs; TFIDF: weighted counts
  int64_t min_gram_length = 1, max_gram_length = 1;
  int64_t max_skip_count = 0;          // items between two of an n-gram
  std::vector<int64_t> ngram_counts;   // the offsets of the 1-grams in the pool, the 2-grams, …
  std::vector<int64_t> ngram_indexes;  // the output of each n-gram of the pool
  std::vector<int64_t> pool_int64s;    // integers or strings, one of the two
  std::vector<std::string> pool_strings;
  std::vector<float> weights;  // of each n-gram of the pool; none: 1
  void fields(auto&& f) {
    f("mode", mode);
    f("min_gram_length", min_gram_length);
    f("max_gram_length", max_gram_length);
    f("max_skip_count", max_skip_count);
    f("ngram_counts", ngram_counts);
    f("ngram_indexes", ngram_indexes);
    f("pool_int64s", pool_int64s);
    f("pool_strings", pool_strings);
    f("weights", weights);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    check(c);
    const auto& in = c.shape(0);
    c.require(in.size() == 1 || in.size() == 2, "one row, or rows", c.text(in));
    const D outputs(*std::max_element(ngram_indexes.begin(), ngram_indexes.end()) + 1);
    c.output(0, in.size() == 1 ? std::vector<D>{outputs} : std::vector<D>{in[0], outputs});
  }
  /// Items of the pool that n-grams of length n take: [begin, end).
  std::pair<size_t, size_t> range(size_t n) const {
    const size_t items = std::max(pool_int64s.size(), pool_strings.size());
    return {static_cast<size_t>(ngram_counts[n - 1]),
            n < ngram_counts.size() ? static_cast<size_t>(ngram_counts[n]) : items};
  }

 private:
  template <class D>
  void check(const ShapeContext<D>& c) const {
    const auto require = [&](bool ok, const char* expected, std::string got) {
      if (!ok) c.fail(Code::node_bad_attribute, expected, std::move(got), {});
    };
    require(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode TF, IDF or TFIDF", mode);
    require(min_gram_length >= 1 && max_gram_length >= min_gram_length,
            "1 <= min_gram_length <= max_gram_length",
            std::to_string(min_gram_length) + " and " + std::to_string(max_gram_length));
    require(max_skip_count >= 0, "a max_skip_count from 0", std::to_string(max_skip_count));
    require(pool_int64s.empty() != pool_strings.empty(), "pool_int64s or pool_strings", "both or none");
    require(static_cast<int64_t>(ngram_counts.size()) >= max_gram_length, "ngram_counts for every length",
            std::to_string(ngram_counts.size()));
    const size_t items = std::max(pool_int64s.size(), pool_strings.size());
    size_t grams = 0;
    for (size_t n = 1; n <= ngram_counts.size(); ++n) {
      const int64_t begin = ngram_counts[n - 1];
      const int64_t end = n < ngram_counts.size() ? ngram_counts[n] : static_cast<int64_t>(items);
      require(begin >= 0 && begin <= end && end <= static_cast<int64_t>(items) &&
                  (end - begin) % static_cast<int64_t>(n) == 0,
              "ngram_counts that divide the pool into n-grams",
              std::to_string(begin) + " to " + std::to_string(end));
      grams += static_cast<size_t>(end - begin) / n;
    }
    require(!ngram_indexes.empty() && ngram_indexes.size() == grams, "an index for each n-gram of the pool",
            std::to_string(ngram_indexes.size()) + " for " + std::to_string(grams));
    for (int64_t i : ngram_indexes)
      require(i >= 0 && i < (int64_t{1} << 32), "indexes from 0", std::to_string(i));
    require(weights.empty() || weights.size() == grams, "a weight for each n-gram",
            std::to_string(weights.size()));
  }
};

}  // namespace lathe
