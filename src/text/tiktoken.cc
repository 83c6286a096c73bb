#include "text/tiktoken.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/letters.h"
#include "io/stored_tensor.h"
#include "text/base64.h"
#include "text/pipeline.h"
#include "text/plain_vocabulary.h"
#include "text/ranked_merges.h"

namespace lathe::text {
namespace {

constexpr size_t max_rank_file_bytes = size_t{64} << 20;

/// Returns the next line, without its end, and moves behind it.
std::string_view next_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

struct RankLine {
  std::string token;
  uint32_t rank = 0;
};
std::optional<RankLine> parse_rank_line(std::string_view line) {
  RankLine r;
  const size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  const auto token = line.substr(0, space), number = line.substr(space + 1);
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), r.rank);
  if (fault != std::errc() || end != number.data() + number.size() || r.rank == no_token) return std::nullopt;
  // The file of Whisper's multilingual models has a line for a token of no bytes.
  const std::optional<std::string> bytes = token == "=" ? std::string() : base64_bytes(token);
  if (!bytes) return std::nullopt;
  r.token = *bytes;
  return r;
}

class RankFile {
 public:
  explicit RankFile(Pipeline& p) : p_(p) {}

  void read(std::string_view bytes) {
    if (bytes.size() > max_rank_file_bytes)
      p_.fail(Code::wire_too_large, "at most " + std::to_string(max_rank_file_bytes) + " bytes",
              std::to_string(bytes.size()));
    std::unordered_set<uint32_t> seen;
    for (size_t number = 1; !bytes.empty(); ++number) {
      const std::string_view line = next_line(bytes);
      if (line.empty()) continue;
      const std::string where = "line " + std::to_string(number) + ": ";
      const std::optional<RankLine> r = parse_rank_line(line);
      if (!r) p_.fail(Code::json_malformed, where + "base64 and a rank below 2^32 - 1", in_quotes(line));
      if (r->token.size() > longest_ranked_token)
        p_.fail(Code::wire_too_large,
                where + "a token of at most " + std::to_string(longest_ranked_token) + " bytes",
                std::to_string(r->token.size()));
      if (!seen.insert(r->rank).second)
        p_.fail(Code::json_malformed, where + "ranks that differ", std::to_string(r->rank) + " twice");
      std::string letters;
      for (char c : r->token) append_utf8(letters, byte_letter(static_cast<uint8_t>(c)));
      if (v_.find(letters) != no_token)
        p_.fail(Code::json_malformed, where + "tokens that differ", "one twice");
      v_.add(letters, r->rank);
    }
    for (int b = 0; b < 256; ++b) {
      std::string letter;
      append_utf8(letter, byte_letter(static_cast<uint8_t>(b)));
      if (v_.find(letter) == no_token)
        p_.fail(Code::json_malformed, "a token for each byte", "none for byte " + std::to_string(b),
                "give the whole file of ranks");
    }
    v_.finish();
  }

  ModelPtr model() {
    // Ranks are ids: the merges need no table of them.
    std::vector<Merge> merges = ranked_merges(v_, [](uint32_t id) { return id; });
    if (merges.size() > most_ranked_merges)
      p_.fail(Code::wire_too_large,
              "tokens that at most " + std::to_string(most_ranked_merges) + " pairs make", "more");
    BpeOptions o;
    o.ignore_merges = true;
    return bpe_model(std::move(v_), merges, std::move(o));
  }

 private:
  Pipeline& p_;
  Vocabulary v_;
};

}  // namespace

bool looks_like_ranks(std::string_view bytes) { return parse_rank_line(next_line(bytes)).has_value(); }

Tokenizer read_ranks(std::string_view bytes, const NamedEncoding& encoding, std::string origin) {
  auto s = std::make_shared<TokenizerMaker::State>();
  s->origin = std::move(origin);
  RankFile file(*s);
  file.read(bytes);
  s->model = file.model();
  std::vector<PreTokenizerPtr> parts;
  try {
    parts.push_back(pattern_pre_tokenizer(Pattern(Regex::compile(encoding.pattern, true)),
                                          SplitBehavior::isolated, false));
  } catch (const PatternFault& f) {
    s->fail(f);
  }
  parts.push_back(byte_level_pre_tokenizer(false, false));
  s->pre_tokenizer = pre_tokenizer_sequence(std::move(parts));
  s->decoder = byte_level_decoder();
  if (encoding.composes) s->normalizer = form_normalizer(Form::nfc);
  std::vector<AddedToken> added;
  std::unordered_set<uint32_t> ids;
  for (const auto& [text, id] : encoding.special_tokens) {
    if (const auto token = s->model->vocabulary().text(id); token && !token->empty())
      s->fail(Code::json_malformed, "an id for " + in_quotes(text) + " that no token of the file has",
              std::to_string(id), "name the encoding that the file belongs to");
    // Of two names of an id the first one is its text.
    AddedToken t;
    t.content = text, t.id = id, t.special = true;
    if (ids.insert(id).second) added.push_back(std::move(t));
  }
  s->added = AddedTokens(std::move(added), s->model->vocabulary(), s->normalizer.get());
  return TokenizerMaker::of(std::move(s));
}

}  // namespace lathe::text
