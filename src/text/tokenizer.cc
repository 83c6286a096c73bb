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

void pad(Encoding& e, size_t length, const Padding& p) {
  if (e.size() >= length) return;
  const auto fill = [&](auto& list, const auto& with) {
    list.insert(p.left ? list.begin() : list.end(), length - list.size(), with);
  };
  fill(e.ids, *p.id), fill(e.type_ids, p.type_id), fill(e.attention_mask, 0), fill(e.tokens, p.token);
  fill(e.offsets, std::pair<size_t, size_t>()), fill(e.sequence, -1), fill(e.special_mask, 1);
}

Encoding encode_one(const Pipeline& p, const std::optional<Truncation>& cut, const TextInput& text,
                    bool special_tokens) {
  PostProcessing done;
  done.special_tokens = special_tokens;
  done.texts.push_back(text.text);
  if (text.pair) done.texts.push_back(*text.pair);
  for (std::string_view t : done.texts) {
    if (!is_utf8(t)) p.fail(Code::wire_bad_utf8, "text in UTF-8", "other bytes");
    if (t.size() > longest_text)
      p.fail(Code::run_too_large, "a text of at most " + std::to_string(longest_text) + " bytes",
             std::to_string(t.size()));
    const int number = static_cast<int>(done.encodings.size());
    // As in the Rust library, what is cut off at the end is not even made; the first of two texts included.
    const bool limited = cut && (cut->from != Truncation::From::only_second || number == 1);
    done.encodings.push_back(
        p.encode(t, number, limited ? static_cast<size_t>(cut->max_length) : SIZE_MAX, limited && cut->left));
  }
  if (cut) {
    const int64_t extra =
        special_tokens && p.post_processor ? p.post_processor->added(text.pair.has_value()) : 0;
    const int64_t limit = cut->max_length - extra;
    if (limit < 0)
      p.fail(Code::bad_argument, "room for " + std::to_string(extra) + " special tokens",
             "a maximal length of " + std::to_string(cut->max_length));
    p.truncate(*cut, limit, done.encodings[0], text.pair ? &done.encodings[1] : nullptr);
  }
  if (p.post_processor) p.post_processor->apply(done);
  Encoding all = done.encodings.empty() ? Encoding() : std::move(done.encodings[0]);
  for (size_t i = 1; i < done.encodings.size(); ++i) append(all, done.encodings[i]);
  return all;
}

}  // namespace

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<TextInput>& texts,
                                              bool special_tokens) const {
  std::vector<Encoding> all;
  for (const TextInput& text : texts) all.push_back(encode_one(*state_, truncation_, text, special_tokens));
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

size_t Tokenizer::size() const { return state_->model->vocabulary().size() + state_->added.beyond(); }

std::optional<int64_t> Tokenizer::id_of(std::string_view token) const {
  // Added tokens take precedence over the vocabulary.
  uint32_t id = state_->added.find(token);
  if (id == no_token) id = state_->model->vocabulary().find(token);
  return id == no_token ? std::nullopt : std::optional<int64_t>(id);
}

std::string_view Tokenizer::token_of(int64_t id) const {
  if (id < 0 || id >= no_token) return {};
  const auto known = static_cast<uint32_t>(id);
  if (const AddedToken* t = state_->added.of_id(known)) return t->content;
  return state_->model->vocabulary().text(known).value_or("");
}

namespace {

/// Collects decoded text.
class TextSink : public DecoderSink {
 public:
  explicit TextSink(std::string& to) : to_(to) {}
  void token(std::string_view text) override { to_ += text; }
  void more(std::string_view text) override { to_ += text; }
  void end() override {}

 private:
  std::string& to_;
};

}  // namespace

struct DecodeStream::State {
  std::shared_ptr<const Pipeline> pipeline;
  bool skip_special = true, ended = false;
  std::string text;
  DecoderSinkPtr stages;

  std::string take() { return std::exchange(text, {}); }
};

DecodeStream::DecodeStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
DecodeStream::DecodeStream(DecodeStream&&) noexcept = default;
DecodeStream& DecodeStream::operator=(DecodeStream&&) noexcept = default;
DecodeStream::~DecodeStream() = default;

std::string DecodeStream::append(int64_t id) {
  if (state_->ended) state_->pipeline->fail(Code::bad_argument, "no token behind the end of a stream", "one");
  try {
    if (const auto token = state_->pipeline->decoded(id, state_->skip_special)) state_->stages->token(*token);
  } catch (const PatternFault& f) {
    state_->pipeline->fail(f);
  }
  return state_->take();
}

std::string DecodeStream::finish() {
  if (std::exchange(state_->ended, true)) return {};
  try {
    state_->stages->end();
  } catch (const PatternFault& f) {
    state_->pipeline->fail(f);
  }
  return state_->take();
}

DecodeStream Tokenizer::decode_stream(bool skip_special_tokens) const {
  auto s = std::make_unique<DecodeStream::State>();
  s->pipeline = state_;
  s->skip_special = skip_special_tokens;
  s->stages = state_->decoder->stage(std::make_unique<TextSink>(s->text), false);
  return DecodeStream(std::move(s));
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special_tokens) const {
  DecodeStream stream = decode_stream(skip_special_tokens);
  std::string text;
  for (int64_t id : ids) text += stream.append(id);
  return text + stream.finish();
}

std::vector<std::string> Tokenizer::decode_batch(const std::vector<std::vector<int64_t>>& ids,
                                                 bool skip_special_tokens) const {
  std::vector<std::string> all;
  for (const std::vector<int64_t>& one : ids) all.push_back(decode(one, skip_special_tokens));
  return all;
}

}  // namespace lathe
