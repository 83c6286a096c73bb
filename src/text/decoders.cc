#include "text/decoders.h"

#include <functional>
#include <optional>

#include "base/letters.h"
#include "base/utf8.h"
#include "text/normalizers.h"

namespace lathe::text {
namespace {

constexpr std::string_view replacement_character = "\xef\xbf\xbd";

std::string replaced(std::string_view s, std::string_view what, std::string_view by) {
  if (what.empty()) return std::string(s);
  std::string to;
  for (size_t i = 0;;) {
    const size_t at = s.find(what, i);
    to += s.substr(i, at == s.npos ? at : at - i);
    if (at == s.npos) return to;
    to += by;
    i = at + what.size();
  }
}

/// Removes the spaces that English texts do not have, as transformers does.
std::string clean_up(std::string s) {
  constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, by] : rules) s = replaced(s, what, by);
  return s;
}

/// A stage that needs tokens whole: fragments wait for the next token.
class WholeStage : public DecoderSink {
 public:
  WholeStage(DecoderSinkPtr next, bool fragments) : next_(std::move(next)), fragments_(fragments) {}
  void token(std::string_view text) override {
    if (!fragments_) return take(text);
    flush();
    waiting_ = text;
  }
  void more(std::string_view text) override { *waiting_ += text; }
  void end() override {
    flush();
    last();
    next_->end();
  }

 protected:
  virtual void take(std::string_view token) = 0;
  virtual void last() {}
  DecoderSinkPtr next_;

 private:
  void flush() {
    if (!waiting_) return;
    const std::string whole = std::move(*waiting_);
    waiting_.reset();
    take(whole);
  }
  bool fragments_;
  std::optional<std::string> waiting_;
};

/// A decoder whose stage is made by a function.
template <class Stage, class... T>
class StageDecoder : public Decoder {
 public:
  explicit StageDecoder(bool joins, T... options) : options_(std::move(options)...), joins_(joins) {}
  DecoderSinkPtr stage(DecoderSinkPtr next, bool fragments) const override {
    return std::apply(
        [&](const T&... o) { return std::make_unique<Stage>(std::move(next), fragments, o...); }, options_);
  }
  bool fragments(bool) const override { return joins_; }

 private:
  std::tuple<T...> options_;
  bool joins_;
};

/// Bytes that the letters stand for, as text: what is no UTF-8 becomes U+FFFD.
class ByteLevelStage : public DecoderSink {
 public:
  ByteLevelStage(DecoderSinkPtr next, bool fragments) : next_(std::move(next)), whole_(fragments) {}
  void token(std::string_view text) override {
    if (whole_) flush();
    if (!whole_) return take(text);
    waiting_ = text;
  }
  void more(std::string_view text) override { *waiting_ += text; }
  void end() override {
    flush();
    hand_on(true);
    next_->end();
  }

 private:
  void flush() {
    if (waiting_) take(*waiting_);
    waiting_.reset();
  }
  void take(std::string_view text) {
    const size_t before = bytes_.size();
    for (size_t i = 0; i < text.size();) {
      const int b = letter_byte(next_character(text, i));
      if (b < 0) {
        bytes_.resize(before);
        bytes_ += text;
        break;
      }
      bytes_ += static_cast<char>(b);
    }
    hand_on(false);
  }
  /// Returns how many bytes a character that begins at `i` needs, and how many of them are there.
  std::pair<size_t, size_t> character_at(size_t i) const {
    const auto at = [&](size_t k) { return static_cast<unsigned char>(bytes_[k]); };
    const unsigned char b = at(i);
    if (b < 0x80) return {1, 1};
    const size_t needed = b >= 0xc2 && b < 0xe0   ? 2
                          : b >= 0xe0 && b < 0xf0 ? 3
                          : b >= 0xf0 && b < 0xf5 ? 4
                                                  : 0;
    if (!needed) return {0, 1};
    size_t there = 1;
    while (there < needed && i + there < bytes_.size()) {
      const unsigned char c = at(i + there);
      unsigned char low = 0x80, high = 0xbf;
      if (there == 1) {
        if (b == 0xe0) low = 0xa0;
        if (b == 0xed) high = 0x9f;
        if (b == 0xf0) low = 0x90;
        if (b == 0xf4) high = 0x8f;
      }
      if (c < low || c > high) return {0, there};
      ++there;
    }
    return {needed, there};
  }
  void hand_on(bool all) {
    std::string text;
    size_t i = 0;
    while (i < bytes_.size()) {
      const auto [needed, there] = character_at(i);
      if (needed && there < needed && !all) break;  // the rest may come
      if (needed == there)
        text.append(bytes_, i, needed);
      else
        text += replacement_character;
      i += there;
    }
    bytes_.erase(0, i);
    begun_ ? next_->more(text) : next_->token(text);
    begun_ = true;
  }
  DecoderSinkPtr next_;
  bool whole_, begun_ = false;
  std::optional<std::string> waiting_;
  std::string bytes_;
};

/// Runs of tokens such as <0xE2> are text if all of their bytes are; else each is U+FFFD.
class ByteFallbackStage : public WholeStage {
  using WholeStage::WholeStage;
  void take(std::string_view token) override {
    if (const int b = byte_of(token); b >= 0) {
      run_ += static_cast<char>(b);
      return;
    }
    last();
    next_->token(token);
  }
  void last() override {
    if (run_.empty()) return;
    if (is_utf8(run_))
      next_->token(run_);
    else
      for (size_t i = 0; i < run_.size(); ++i) next_->token(replacement_character);
    run_.clear();
  }
  static int byte_of(std::string_view t) {
    if (t.size() != 6 || !t.starts_with("<0x") || t[5] != '>') return -1;
    int value = 0;
    // Rust reads "+F" as a number, too.
    const size_t first = t[3] == '+' ? 4 : 3;
    for (size_t i = first; i < 5; ++i) {
      const char c = t[i], low = static_cast<char>(c | 32);
      if (c >= '0' && c <= '9')
        value = value * 16 + (c - '0');
      else if (low >= 'a' && low <= 'f')
        value = value * 16 + (low - 'a' + 10);
      else
        return -1;
    }
    return value;
  }
  std::string run_;
};

class FuseStage : public DecoderSink {
 public:
  FuseStage(DecoderSinkPtr next, bool) : next_(std::move(next)) {}
  void token(std::string_view text) override { more(text); }
  void more(std::string_view text) override {
    begun_ ? next_->more(text) : next_->token(text);
    begun_ = true;
  }
  void end() override { next_->end(); }

 private:
  DecoderSinkPtr next_;
  bool begun_ = false;
};

/// Removes some characters at the beginning and the end of each token.
class StripStage : public DecoderSink {
 public:
  StripStage(DecoderSinkPtr next, bool, char32_t content, size_t start, size_t stop)
      : next_(std::move(next)), start_(start), stop_(stop) {
    append_utf8(content_, content);
  }
  void token(std::string_view text) override {
    to_cut_ = start_, held_ = 0;  // what is held of the token before is its end
    next_->token(stripped(text));
  }
  void more(std::string_view text) override { next_->more(stripped(text)); }
  void end() override { next_->end(); }

 private:
  std::string stripped(std::string_view text) {
    std::string to;
    for (size_t i = 0; i < text.size();) {
      const size_t bytes = character_bytes(text[i]);
      const std::string_view c = text.substr(i, bytes);
      i += bytes;
      if (c != content_) {
        for (; held_; --held_) to += content_;
        to_cut_ = 0;
        to += c;
      } else if (to_cut_) {
        --to_cut_;
      } else if (held_ < stop_) {
        ++held_;
      } else {
        to += content_;
      }
    }
    return to;
  }
  DecoderSinkPtr next_;
  std::string content_;
  size_t start_, stop_, to_cut_ = 0, held_ = 0;
};

class StripDecoder : public Decoder {
 public:
  StripDecoder(char32_t content, size_t start, size_t stop) : content_(content), start_(start), stop_(stop) {}
  DecoderSinkPtr stage(DecoderSinkPtr next, bool fragments) const override {
    return std::make_unique<StripStage>(std::move(next), fragments, content_, start_, stop_);
  }
  bool fragments(bool in) const override { return in; }

 private:
  char32_t content_;
  size_t start_, stop_;
};

class ReplaceStage : public WholeStage {
 public:
  ReplaceStage(DecoderSinkPtr next, bool fragments, Pattern pattern, std::string by)
      : WholeStage(std::move(next), fragments), pattern_(std::move(pattern)), by_(std::move(by)) {}

 private:
  void take(std::string_view token) override {
    std::vector<PatternPart> parts;
    if (!token.empty()) pattern_.cut(token, parts);
    std::string to;
    for (const PatternPart& p : parts)
      to += p.match ? std::string_view(by_) : token.substr(p.begin, p.end - p.begin);
    next_->token(to);
  }
  Pattern pattern_;
  std::string by_;
};

class MetaspaceStage : public WholeStage {
 public:
  MetaspaceStage(DecoderSinkPtr next, bool fragments, std::string replacement, PrependScheme scheme)
      : WholeStage(std::move(next), fragments), replacement_(std::move(replacement)), scheme_(scheme) {}

 private:
  void take(std::string_view token) override {
    const bool bare = first_ && scheme_ != PrependScheme::never;
    first_ = false;
    next_->token(replaced(token, replacement_, bare ? "" : " "));
  }
  std::string replacement_;
  PrependScheme scheme_;
  bool first_ = true;
};

class WordPieceStage : public WholeStage {
 public:
  WordPieceStage(DecoderSinkPtr next, bool fragments, std::string prefix, bool cleanup)
      : WholeStage(std::move(next), fragments), prefix_(std::move(prefix)), cleanup_(cleanup) {}

 private:
  void take(std::string_view token) override {
    std::string text(token);
    if (!first_) text = token.starts_with(prefix_) ? text.substr(prefix_.size()) : " " + text;
    first_ = false;
    next_->token(cleanup_ ? clean_up(std::move(text)) : text);
  }
  std::string prefix_;
  bool cleanup_, first_ = true;
};

class CtcStage : public WholeStage {
 public:
  CtcStage(DecoderSinkPtr next, bool fragments, std::string pad, std::string delimiter, bool cleanup)
      : WholeStage(std::move(next), fragments),
        pad_(std::move(pad)),
        delimiter_(std::move(delimiter)),
        cleanup_(cleanup) {}

 private:
  void take(std::string_view token) override {
    if (before_ && *before_ == token) return;
    before_ = token;
    std::string text = replaced(token, pad_, "");
    if (cleanup_) text = replaced(clean_up(std::move(text)), delimiter_, " ");
    if (!text.empty()) next_->token(text);
  }
  std::string pad_, delimiter_;
  bool cleanup_;
  std::optional<std::string> before_;
};

/// The suffix of the last token is nothing, that of others a space: each waits for the next.
class BpeStage : public WholeStage {
 public:
  BpeStage(DecoderSinkPtr next, bool fragments, std::string suffix)
      : WholeStage(std::move(next), fragments), suffix_(std::move(suffix)) {}

 private:
  void take(std::string_view token) override {
    if (held_) next_->token(replaced(*held_, suffix_, " "));
    held_ = token;
  }
  void last() override {
    if (held_) next_->token(replaced(*held_, suffix_, ""));
    held_.reset();
  }
  std::string suffix_;
  std::optional<std::string> held_;
};

class SpacesStage : public WholeStage {
  using WholeStage::WholeStage;
  void take(std::string_view token) override {
    next_->token(first_ ? std::string(token) : " " + std::string(token));
    first_ = false;
  }
  bool first_ = true;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPtr> parts) : parts_(std::move(parts)) {}
  DecoderSinkPtr stage(DecoderSinkPtr next, bool in) const override {
    std::vector<bool> comes;
    for (const DecoderPtr& p : parts_) comes.push_back(in), in = p->fragments(in);
    for (size_t i = parts_.size(); i-- > 0;) next = parts_[i]->stage(std::move(next), comes[i]);
    return next;
  }
  bool fragments(bool in) const override {
    for (const DecoderPtr& p : parts_) in = p->fragments(in);
    return in;
  }

 private:
  std::vector<DecoderPtr> parts_;
};

template <class Stage, class... T>
DecoderPtr decoder_of(bool joins, T... options) {
  return std::make_unique<StageDecoder<Stage, T...>>(joins, std::move(options)...);
}

}  // namespace

DecoderPtr byte_level_decoder() { return decoder_of<ByteLevelStage>(true); }
DecoderPtr byte_fallback_decoder() { return decoder_of<ByteFallbackStage>(false); }
DecoderPtr fuse_decoder() { return decoder_of<FuseStage>(true); }
DecoderPtr strip_decoder(char32_t content, size_t start, size_t stop) {
  return std::make_unique<StripDecoder>(content, start, stop);
}
DecoderPtr replace_decoder(Pattern pattern, std::string by) {
  return decoder_of<ReplaceStage>(false, std::move(pattern), std::move(by));
}
DecoderPtr metaspace_decoder(std::string replacement, PrependScheme scheme) {
  return decoder_of<MetaspaceStage>(false, std::move(replacement), scheme);
}
DecoderPtr word_piece_decoder(std::string prefix, bool cleanup) {
  return decoder_of<WordPieceStage>(false, std::move(prefix), cleanup);
}
DecoderPtr ctc_decoder(std::string pad, std::string delimiter, bool cleanup) {
  return decoder_of<CtcStage>(false, std::move(pad), std::move(delimiter), cleanup);
}
DecoderPtr bpe_decoder(std::string suffix) { return decoder_of<BpeStage>(false, std::move(suffix)); }
DecoderPtr decoder_sequence(std::vector<DecoderPtr> parts) {
  return std::make_unique<DecoderSequence>(std::move(parts));
}
DecoderPtr spaces_decoder() { return decoder_of<SpacesStage>(false); }

}  // namespace lathe::text
