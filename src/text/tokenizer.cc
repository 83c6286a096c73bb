#include "lathe/tokenizer.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "text/pipeline.h"

namespace lathe {

using namespace text;

const std::optional<Truncation>& Tokenizer::truncation() const { return truncation_; }
const std::optional<Padding>& Tokenizer::padding() const { return padding_; }

Tokenizer Tokenizer::with_truncation(std::optional<Truncation> t) const {
  if (t && (t->max_length < 0 || t->max_length > longest_encoding))
    state_->fail(Code::bad_argument, "a maximal length from 0 to " + std::to_string(longest_encoding),
                 std::to_string(t->max_length));
  Tokenizer other = *this;
  other.truncation_ = t;
  return other;
}

Tokenizer Tokenizer::with_padding(std::optional<Padding> p) const {
  if (p) {
    for (int64_t length : {p->length, p->multiple_of})
      if (length < 0 || length > longest_encoding)
        state_->fail(Code::bad_argument, "a length from 0 to " + std::to_string(longest_encoding),
                     std::to_string(length));
    if (!p->id) p->id = id_of(p->token);
    if (!p->id)
      state_->fail(Code::bad_argument, "a padding token of the vocabulary", "'" + p->token + "'",
                   "give its id, or the token that the model was trained with");
  }
  Tokenizer other = *this;
  other.padding_ = std::move(p);
  return other;
}

Encoding Tokenizer::encode(const TextInput& text, bool special_tokens) const {
  return std::move(encode_batch({text}, special_tokens).front());
}

namespace {

/// Returns a template of the texts alone, which type ids tell apart.
Template bare(bool pair) {
  Template t{{0, 0}};
  if (pair) t.push_back({1, 1});
  return t;
}

void pad(Encoding& e, size_t length, const Padding& p) {
  if (e.size() >= length) return;
  const auto fill = [&](auto& list, const auto& with) {
    list.insert(p.left ? list.begin() : list.end(), length - list.size(), with);
  };
  fill(e.ids, *p.id), fill(e.type_ids, p.type_id), fill(e.attention_mask, 0), fill(e.tokens, p.token);
  fill(e.offsets, std::pair<size_t, size_t>()), fill(e.sequence, -1), fill(e.special_mask, 1);
}

}  // namespace

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<TextInput>& texts,
                                              bool special_tokens) const {
  std::vector<Encoding> all;
  for (const TextInput& text : texts) {
    for (const std::string& t : {text.text, text.pair.value_or("")})
      if (!is_utf8(t)) state_->fail(Code::wire_bad_utf8, "text in UTF-8", "other bytes");
    const auto& own = text.pair ? state_->pair : state_->single;
    const Template shape = own && special_tokens ? *own : bare(text.pair.has_value());
    Pieces first = state_->pieces_of(text.text);
    std::optional<Pieces> second;
    if (text.pair) second = state_->pieces_of(*text.pair);
    if (truncation_) {
      const int64_t limit = truncation_->max_length - special_count(shape);
      if (limit < 0)
        state_->fail(Code::bad_argument,
                     "room for " + std::to_string(special_count(shape)) + " special tokens",
                     "a maximal length of " + std::to_string(truncation_->max_length));
      state_->truncate(*truncation_, limit, first, second ? &*second : nullptr);
    }
    all.push_back(state_->place(shape, first, second ? &*second : nullptr));
  }
  if (padding_) {
    auto length = static_cast<size_t>(padding_->length);
    if (length == 0)
      for (const Encoding& e : all) length = std::max(length, e.size());
    if (const auto m = static_cast<size_t>(padding_->multiple_of)) length = (length + m - 1) / m * m;
    for (Encoding& e : all) pad(e, length, *padding_);
  }
  return all;
}

NamedValues Tokenizer::inputs(const std::vector<TextInput>& texts, bool special_tokens) const {
  const std::vector<Encoding> all = encode_batch(texts, special_tokens);
  const size_t length = all.empty() ? 0 : all[0].size();
  for (const Encoding& e : all)
    if (e.size() != length)
      state_->fail(Code::run_bad_shape, "texts of one length",
                   std::to_string(length) + " and " + std::to_string(e.size()) + " tokens",
                   "use with_padding()");
  const auto stacked = [&](std::vector<int64_t> Encoding::*list) {
    Tensor t(DataType::int64, {static_cast<int64_t>(all.size()), static_cast<int64_t>(length)});
    int64_t* to = t.as<int64_t>().data();
    for (const Encoding& e : all) to = std::ranges::copy(e.*list, to).out;
    return t;
  };
  return {{"input_ids", stacked(&Encoding::ids)},
          {"attention_mask", stacked(&Encoding::attention_mask)},
          {"token_type_ids", stacked(&Encoding::type_ids)}};
}

size_t Tokenizer::size() const { return state_->by_id.size(); }

std::optional<int64_t> Tokenizer::id_of(std::string_view token) const {
  // Added tokens take precedence over the vocabulary.
  const Vocabulary::Entry* w = state_->added.find(token);
  if (!w) w = state_->model.vocabulary.find(token);
  return w ? std::optional(w->id) : std::nullopt;
}

std::string_view Tokenizer::token_of(int64_t id) const {
  const auto at = std::ranges::lower_bound(state_->by_id, id, {}, &Vocabulary::Entry::id);
  return at != state_->by_id.end() && at->id == id ? std::string_view(at->text) : std::string_view();
}

}  // namespace lathe
