// Reads the models of tokenizer.json.

#include "io/stored_tensor.h"
#include "text/json_part.h"

namespace lathe::text {
namespace {

[[noreturn]] void fail_merge(const Part& list, size_t i, const std::string& expected,
                             const std::string& got) {
  list.fail("merge " + std::to_string(i) + ": " + expected, got);
}

ModelPtr read_bpe(const Part& p) {
  const Json& dropout = p["dropout"].json();
  if (!dropout.is_null() && (!dropout.is_number() || dropout.get<double>() != 0))
    p["dropout"].unsupported({"no dropout, which draws other tokens every time"}, dropout.dump());
  BpeOptions o;
  const Part unknown = p["unk_token"];
  o.has_unknown = !unknown.is_null();
  o.unknown = unknown.token("");
  o.prefix = p["continuing_subword_prefix"].token("");
  o.suffix = p["end_of_word_suffix"].token("");
  o.fuse_unknown = p["fuse_unk"].flag(false);
  o.byte_fallback = p["byte_fallback"].flag(false);
  o.ignore_merges = p["ignore_merges"].flag(false);
  Vocabulary v = read_vocabulary(p["vocab"]);
  const Part list = p["merges"];
  if (!list.json().is_array()) list.fail("a list of merges", list.json().type_name());
  std::vector<Merge> merges;
  merges.reserve(list.json().size());
  std::string joined;
  for (size_t i = 0; i < list.json().size(); ++i) {
    const Json& j = list.json()[i];
    std::string left, right;
    if (j.is_string()) {
      const std::string both = j.get<std::string>();
      if (both.starts_with("#version")) continue;
      const size_t space = both.find(' ');
      if (space == both.npos || both.find(' ', space + 1) != both.npos)
        fail_merge(list, i, "two tokens with a space between them", in_quotes(both));
      left = both.substr(0, space), right = both.substr(space + 1);
    } else {
      if (!j.is_array() || j.size() != 2 || !j[0].is_string() || !j[1].is_string())
        fail_merge(list, i, "two tokens", j.type_name());
      left = j[0].get<std::string>(), right = j[1].get<std::string>();
    }
    if (right.size() < o.prefix.size())
      fail_merge(list, i, "a second token with the prefix", in_quotes(right));
    joined = left;
    joined.append(right, o.prefix.size());
    const Merge m{v.find(left), v.find(right), v.find(joined)};
    for (const auto& [id, text] : {std::pair(m.left, &left), {m.right, &right}, {m.result, &joined}})
      if (id == no_token) fail_merge(list, i, "tokens of the vocabulary", in_quotes(*text));
    merges.push_back(m);
  }
  return bpe_model(std::move(v), merges, std::move(o));
}

ModelPtr read_unigram(const Part& p) {
  const Part list = p["vocab"];
  const Json& all = list.json();
  if (!all.is_array()) list.fail("a list of tokens and scores", all.type_name());
  Vocabulary v;
  v.reserve(all.size());
  std::vector<double> scores;
  scores.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Json& j = all[i];
    if (!j.is_array() || j.size() != 2 || !j[0].is_string() || !j[1].is_number())
      list.fail("entry " + std::to_string(i) + ": a token and its score", j.type_name());
    const std::string token = j[0].get<std::string>();
    if (token.size() > longest_token)
      list.too_large("tokens of at most " + std::to_string(longest_token) + " bytes",
                     std::to_string(token.size()));
    v.add(token, static_cast<uint32_t>(i));
    scores.push_back(j[1].get<double>());
  }
  v.finish();
  const Part unknown = p["unk_id"];
  const auto id = unknown.is_null() ? no_token : static_cast<uint32_t>(unknown.id());
  if (id != no_token && id >= scores.size()) unknown.fail("the id of a token", std::to_string(id));
  return unigram_model(std::move(v), std::move(scores), id, p["byte_fallback"].flag(false));
}

/// Old files lack the type: their contents show it.
std::string model_type(const Part& p) {
  if (!p["type"].is_null()) return p.type();
  if (!p["merges"].is_null()) return "BPE";
  if (!p["max_input_chars_per_word"].is_null()) return "WordPiece";
  if (p["vocab"].json().is_array()) return "Unigram";
  if (!p["unk_token"].is_null()) return "WordLevel";
  return p.type();
}

}  // namespace

Vocabulary read_vocabulary(const Part& p) {
  if (!p.json().is_object()) p.fail("an object of tokens with ids", p.json().type_name());
  Vocabulary v;
  v.reserve(p.json().size());
  for (const auto& [token, id] : p.json().items()) {
    if (token.size() > longest_token)
      p.too_large("tokens of at most " + std::to_string(longest_token) + " bytes",
                  std::to_string(token.size()));
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= no_token)
      p.fail(in_quotes(token) + ": an id below 2^32 - 1", id.is_number() ? id.dump() : id.type_name());
    v.add(token, static_cast<uint32_t>(id.get<uint64_t>()));
  }
  v.finish();
  return v;
}

ModelPtr read_model(const Part& p) {
  const std::string type = model_type(p);
  if (type == "BPE") return read_bpe(p);
  if (type == "Unigram") return read_unigram(p);
  if (type == "WordPiece") {
    const Part longest = p["max_input_chars_per_word"];
    const int64_t most = longest.number(int64_t{1} << 32, 100);
    return word_piece_model(read_vocabulary(p["vocab"]), p["unk_token"].token("[UNK]"),
                            p["continuing_subword_prefix"].token("##"), static_cast<size_t>(most));
  }
  if (type == "WordLevel")
    return word_level_model(read_vocabulary(p["vocab"]), p["unk_token"].token("<unk>"));
  p["type"].unsupported({"BPE", "Unigram", "WordLevel", "WordPiece"}, type);
}

}  // namespace lathe::text
