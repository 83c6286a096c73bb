// Unigram: of all ways to cut a word into tokens the one with the highest sum of scores.
#include <algorithm>
#include <limits>

#include "text/aligned_text.h"
#include "text/model.h"

namespace lathe::text {
namespace {

constexpr double unknown_penalty = 10.0;

class Unigram : public Model {
 public:
  Unigram(Vocabulary v, std::vector<double> scores, uint32_t unknown, bool byte_fallback)
      : Model(std::move(v)), scores_(std::move(scores)), unknown_(unknown), byte_fallback_(byte_fallback) {
    double least = std::numeric_limits<double>::infinity();
    for (double s : scores_) least = std::min(least, s);
    unknown_score_ = least - unknown_penalty;
    for (const Vocabulary::Entry& e : vocabulary_.entries()) trie_.add(vocabulary_.text_of(e), e.id);
  }

  void tokenize(std::string_view word, std::vector<WordToken>& to) const override {
    static thread_local std::vector<Best> best;
    best.assign(word.size() + 1, {});
    best[0].score = 0;
    for (size_t i = 0; i < word.size();) {
      const size_t bytes = character_bytes(word[i]);
      bool single = false;
      uint32_t node = Trie::root;
      for (size_t k = i; k < word.size(); ++k) {
        node = trie_.next(node, word[k]);
        if (node == Trie::none) break;
        const uint32_t id = trie_.value(node);
        if (id == no_token) continue;
        reach(best[k + 1], best[i].score + scores_[id], i, id);
        single |= k + 1 - i == bytes;
      }
      if (!single) {
        Best& end = best[i + bytes];
        const double score = best[i].score + unknown_score_;
        if (end.from == nowhere || score > end.score) {
          if (unknown_ == no_token) throw UnknownWord{};
          end = {score, static_cast<uint32_t>(i), unknown_};
        }
      }
      i += bytes;
    }
    const size_t first = to.size();
    for (size_t end = word.size(); end > 0;) {
      size_t begin = best[end].from;
      const uint32_t id = best[end].id;
      if (id == unknown_)  // a run of unknown characters is one token
        while (begin > 0 && best[begin].id == unknown_) begin = best[begin].from;
      put(word, begin, end, id, to);
      end = begin;
    }
    std::reverse(to.begin() + static_cast<ptrdiff_t>(first), to.end());
  }

 private:
  static constexpr uint32_t nowhere = UINT32_MAX;
  struct Best {
    double score = 0;
    uint32_t from = nowhere, id = no_token;
  };
  static void reach(Best& end, double score, size_t from, uint32_t id) {
    if (end.from == nowhere || score > end.score) end = {score, static_cast<uint32_t>(from), id};
  }

  /// Appends tokens in the reverse order.
  void put(std::string_view word, size_t begin, size_t end, uint32_t id, std::vector<WordToken>& to) const {
    const auto b = static_cast<uint32_t>(begin), e = static_cast<uint32_t>(end);
    if (id != unknown_) return to.push_back({id, b, e});
    const std::string_view run = word.substr(begin, end - begin);
    if (const uint32_t known = vocabulary_.find(run); known != no_token) return to.push_back({known, b, e});
    if (byte_fallback_) {
      const size_t before = to.size();
      for (size_t i = run.size(); i-- > 0;) {
        const uint32_t byte = vocabulary_.find(byte_token(static_cast<uint8_t>(run[i])));
        if (byte == no_token) break;
        to.push_back({byte, b, e});
      }
      if (to.size() - before == run.size()) return;
      to.resize(before);  // all bytes or none
    }
    to.push_back({unknown_, b, e, true});
  }

  std::vector<double> scores_;
  double unknown_score_ = 0;
  uint32_t unknown_;
  bool byte_fallback_;
  Trie trie_;
};

/// Takes greedily the longest known beginning of the rest of a word; parts behind the first have a prefix.
class WordPiece : public Model {
 public:
  WordPiece(Vocabulary v, std::string unknown, std::string_view prefix, size_t longest_word)
      : Model(std::move(v)), unknown_(std::move(unknown)), longest_word_(longest_word) {
    unknown_id_ = vocabulary_.find(unknown_);
    for (const Vocabulary::Entry& e : vocabulary_.entries()) trie_.add(vocabulary_.text_of(e), e.id);
    continuing_ = trie_.walk(prefix);
  }

  void tokenize(std::string_view word, std::vector<WordToken>& to) const override {
    const size_t before = to.size();
    if (static_cast<size_t>(std::ranges::count_if(word, begins_character)) <= longest_word_ &&
        split(word, to))
      return;
    to.resize(before);
    if (unknown_id_ == no_token) throw UnknownWord{unknown_};
    to.push_back({unknown_id_, 0, static_cast<uint32_t>(word.size())});
  }

 private:
  bool split(std::string_view word, std::vector<WordToken>& to) const {
    for (size_t at = 0; at < word.size();) {
      uint32_t node = at ? continuing_ : Trie::root, id = no_token;
      size_t end = at;
      for (size_t k = at; k < word.size() && node != Trie::none; ++k) {
        node = trie_.next(node, word[k]);
        if (node == Trie::none) break;
        const bool whole = k + 1 == word.size() || begins_character(word[k + 1]);
        if (whole && trie_.value(node) != no_token) id = trie_.value(node), end = k + 1;
      }
      if (id == no_token) return false;
      to.push_back({id, static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
      at = end;
    }
    return true;
  }

  std::string unknown_;
  size_t longest_word_;
  uint32_t unknown_id_ = no_token, continuing_ = Trie::root;
  Trie trie_;
};

/// Takes whole words.
class WordLevel : public Model {
 public:
  WordLevel(Vocabulary v, std::string unknown) : Model(std::move(v)), unknown_(std::move(unknown)) {
    unknown_id_ = vocabulary_.find(unknown_);
  }
  void tokenize(std::string_view word, std::vector<WordToken>& to) const override {
    uint32_t id = vocabulary_.find(word);
    if (id == no_token) id = unknown_id_;
    if (id == no_token) throw UnknownWord{unknown_};
    to.push_back({id, 0, static_cast<uint32_t>(word.size())});
  }

 private:
  std::string unknown_;
  uint32_t unknown_id_ = no_token;
};

}  // namespace

ModelPtr unigram_model(Vocabulary v, std::vector<double> scores, uint32_t unknown, bool byte_fallback) {
  return std::make_unique<Unigram>(std::move(v), std::move(scores), unknown, byte_fallback);
}
ModelPtr word_piece_model(Vocabulary v, std::string unknown, std::string_view prefix, size_t longest_word) {
  return std::make_unique<WordPiece>(std::move(v), std::move(unknown), prefix, longest_word);
}
ModelPtr word_level_model(Vocabulary v, std::string unknown) {
  return std::make_unique<WordLevel>(std::move(v), std::move(unknown));
}

}  // namespace lathe::text
