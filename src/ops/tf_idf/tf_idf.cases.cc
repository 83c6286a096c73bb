#include "ops/cases.h"

namespace lathe {

void cases_tf_idf(CaseTable& t) {
  t.add("TfIdfVectorizer", "counts, 0 skipped")
      .input<int64_t>({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8})
      .attribute("ngram_counts", std::vector<int64_t>{0, 4})
      .attribute("ngram_indexes", std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6})
      .attribute("pool_int64s", std::vector<int64_t>{2, 3, 5, 4, 5, 6, 7, 8, 6, 7})
      .attribute("min_gram_length", int64_t{1})
      .attribute("max_gram_length", int64_t{2})
      .attribute("mode", std::string("TF"))
      .attribute("max_skip_count", int64_t{0})
      .expect<float>({2, 7}, {0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1});
  t.add("TfIdfVectorizer", "counts, 2 skipped")
      .input<int64_t>({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8})
      .attribute("ngram_counts", std::vector<int64_t>{0, 4})
      .attribute("ngram_indexes", std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6})
      .attribute("pool_int64s", std::vector<int64_t>{2, 3, 5, 4, 5, 6, 7, 8, 6, 7})
      .attribute("min_gram_length", int64_t{1})
      .attribute("max_gram_length", int64_t{2})
      .attribute("mode", std::string("TF"))
      .attribute("max_skip_count", int64_t{2})
      .expect<float>({2, 7}, {0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1});
  t.add("TfIdfVectorizer", "weights of what occurs")
      .input<int64_t>({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8})
      .attribute("ngram_counts", std::vector<int64_t>{0, 4})
      .attribute("ngram_indexes", std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6})
      .attribute("pool_int64s", std::vector<int64_t>{2, 3, 5, 4, 5, 6, 7, 8, 6, 7})
      .attribute("min_gram_length", int64_t{1})
      .attribute("max_gram_length", int64_t{2})
      .attribute("mode", std::string("IDF"))
      .attribute("max_skip_count", int64_t{0})
      .attribute("weights", std::vector<float>{1, 2, 3, 4, 5, 6, 7.5f})
      .expect<float>({2, 7}, {0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 5, 0, 7.5f});
  t.add("TfIdfVectorizer", "weighted counts of one row")
      .input<int64_t>({6}, {8, 6, 7, 5, 6, 8})
      .attribute("ngram_counts", std::vector<int64_t>{0, 4})
      .attribute("ngram_indexes", std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6})
      .attribute("pool_int64s", std::vector<int64_t>{2, 3, 5, 4, 5, 6, 7, 8, 6, 7})
      .attribute("min_gram_length", int64_t{1})
      .attribute("max_gram_length", int64_t{2})
      .attribute("mode", std::string("TFIDF"))
      .attribute("max_skip_count", int64_t{0})
      .attribute("weights", std::vector<float>{1, 2, 3, 4, 5, 6, 7.5f})
      .expect<float>({7}, {0, 0, 3, 0, 5, 0, 7.5f});
  t.add("TfIdfVectorizer", "words")
      .input<std::string>({4}, {"a", "b", "a", "c"})
      .attribute("ngram_counts", std::vector<int64_t>{0, 2})
      .attribute("ngram_indexes", std::vector<int64_t>{1, 0, 3})
      .attribute("pool_strings", std::vector<std::string>{"a", "b", "b", "a"})
      .attribute("min_gram_length", int64_t{1})
      .attribute("max_gram_length", int64_t{2})
      .attribute("mode", std::string("TF"))
      .attribute("max_skip_count", int64_t{0})
      .expect<float>({4}, {1, 2, 0, 1});
}

}  // namespace lathe
