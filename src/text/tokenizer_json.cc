// Reads tokenizer.json of https://github.com/huggingface/tokenizers (that library's output defines the
// format).
#include <algorithm>
#include <unordered_set>

#include "base/file.h"
#include "base/nearest.h"
#include "io/bounded_json.h"
#include "io/stored_tensor.h"
#include "text/pipeline.h"

namespace lathe {

using namespace text;

namespace {

/// A part of the file, with its path in it, and functions that report errors about it.
class Part {
 public:
  Part(const Pipeline& state, const Json& json, std::string path)
      : state_(state), json_(json), path_(std::move(path)) {}

  const Json& json() const { return json_; }
  bool is_null() const { return json_.is_null(); }
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const {
    state_.fail(Code::json_malformed, path_ + ": " + expected, got, "download the file again");
  }
  [[noreturn]] void too_large(const std::string& expected, const std::string& got) const {
    state_.fail(Code::wire_too_large, path_ + ": " + expected, got);
  }

  /// Null if there is none.
  Part operator[](const std::string& key) const {
    static const Json none;
    if (!json_.is_object()) fail("an object", json_.type_name());
    const Json* at = json_.find(key);
    return {state_, at ? *at : none, path_.empty() ? key : path_ + "." + key};
  }
  std::vector<Part> items() const {
    if (!json_.is_array()) fail("a list", json_.type_name());
    std::vector<Part> all;
    for (size_t i = 0; i < json_.size(); ++i)
      all.emplace_back(state_, json_[i], path_ + "[" + std::to_string(i) + "]");
    return all;
  }
  std::string text() const {
    if (!json_.is_string()) fail("a string", json_.type_name());
    return json_.get<std::string>();
  }
  std::string token() const {
    std::string t = text();
    if (t.size() > longest_token)
      too_large("a token of at most " + std::to_string(longest_token) + " bytes", std::to_string(t.size()));
    return t;
  }
  bool flag(bool fallback) const {
    if (is_null()) return fallback;
    if (!json_.is_boolean()) fail("true or false", json_.type_name());
    return json_.get<bool>();
  }
  int64_t number(int64_t most) const {
    if (!json_.is_number_unsigned() || json_.get<uint64_t>() > static_cast<uint64_t>(most))
      fail("a whole number from 0 to " + std::to_string(most),
           json_.is_number() ? json_.dump() : json_.type_name());
    return json_.get<int64_t>();
  }
  int64_t id() const { return number((int64_t{1} << 32) - 1); }
  /// Returns the index of the word in the list; the first if it is null.
  size_t choice(const std::vector<std::string>& known) const {
    if (is_null()) return 0;
    const std::string said = text();
    const auto at = std::ranges::find(known, said);
    if (at == known.end()) unsupported(known, said);
    return static_cast<size_t>(at - known.begin());
  }
  [[noreturn]] void unsupported(const std::vector<std::string>& known, const std::string& got) const {
    std::string all;
    for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
    const auto near = nearest_names(got, known, 1);
    state_.fail(Code::not_supported, path_ + ": one of " + all, in_quotes(got),
                near.empty() ? "" : "near to it: " + near[0]);
  }
  std::string type() const { return (*this)["type"].text(); }

 private:
  const Pipeline& state_;
  const Json& json_;
  std::string path_;
};

void read_normalizer(const Part& p, Normalizer& n) {
  if (p.is_null()) return;
  const std::string type = p.type();
  if (type == "Sequence") {
    for (const Part& inner : p["normalizers"].items()) read_normalizer(inner, n);
    return;
  }
  Normalizer::Step& step = n.steps.emplace_back();
  if (n.steps.size() > max_normalizers)
    p.too_large("at most " + std::to_string(max_normalizers) + " normalizers", "more");
  if (type == "BertNormalizer") {
    step.clean = p["clean_text"].flag(true);
    step.ideographs = p["handle_chinese_chars"].flag(true);
    step.lowercase = p["lowercase"].flag(true);
    step.strip_accents = p["strip_accents"].flag(step.lowercase);
  } else if (type == "Lowercase") {
    step.lowercase = true;
  } else {
    p["type"].unsupported({"BertNormalizer", "Lowercase", "Sequence"}, type);
  }
}

PreTokenizer read_pre_tokenizer(const Part& p) {
  if (p.is_null()) return PreTokenizer::none;
  const std::string type = p.type();
  if (type == "BertPreTokenizer") return PreTokenizer::bert;
  if (type == "WhitespaceSplit") return PreTokenizer::whitespace;
  p["type"].unsupported({"BertPreTokenizer", "WhitespaceSplit"}, type);
}

void read_model(const Part& p, WordPiece& model) {
  // Old files lack the type: their contents show it.
  const std::string type =
      p["type"].is_null() && !p["max_input_chars_per_word"].is_null() ? "WordPiece" : p.type();
  if (type != "WordPiece") p["type"].unsupported({"WordPiece"}, type);
  const Part vocabulary = p["vocab"];
  if (!vocabulary.json().is_object())
    vocabulary.fail("an object of tokens with ids", vocabulary.json().type_name());
  std::vector<Vocabulary::Entry> entries;
  entries.reserve(vocabulary.json().size());
  for (const auto& [token, id] : vocabulary.json().items()) {
    if (token.size() > longest_token)
      vocabulary.too_large("tokens of at most " + std::to_string(longest_token) + " bytes",
                           std::to_string(token.size()));
    entries.push_back({token, vocabulary[token].id()});
  }
  model.vocabulary = Vocabulary(std::move(entries));
  const Part prefix = p["continuing_subword_prefix"];
  model.continuing = model.vocabulary.beginning_with(prefix.is_null() ? "##" : prefix.token());
  model.unknown = p["unk_token"].is_null() ? "[UNK]" : p["unk_token"].token();
  if (const Vocabulary::Entry* w = model.vocabulary.find(model.unknown)) model.unknown_id = w->id;
  const Part longest = p["max_input_chars_per_word"];
  if (!longest.is_null()) model.longest_word = static_cast<size_t>(longest.number(longest_encoding));
}

void read_added_tokens(const Part& p, Pipeline& s) {
  std::vector<AddedToken> raw, normalized;
  std::vector<Vocabulary::Entry> names;
  if (!p.is_null())
    for (const Part& item : p.items()) {
      AddedToken t{item["content"].token(), item["id"].id(), item["single_word"].flag(false),
                   item["lstrip"].flag(false), item["rstrip"].flag(false)};
      if (t.text.empty()) continue;
      // Words of the vocabulary keep their ids, whatever this entry says.
      if (const Vocabulary::Entry* w = s.model.vocabulary.find(t.text)) t.id = w->id;
      names.push_back({t.text, t.id});
      (item["normalized"].flag(!item["special"].flag(false)) ? normalized : raw).push_back(std::move(t));
    }
  s.added = Vocabulary(std::move(names));
  s.raw = AddedTokens(std::move(raw), {});
  s.normalized = AddedTokens(std::move(normalized), s.normalizer);
}

TemplatePiece read_piece(const Part& p, const Part& specials) {
  const Part special = p["SpecialToken"], sequence = p["Sequence"];
  const Part& said = special.is_null() ? sequence : special;
  if (said.is_null()) p.fail("a SpecialToken or a Sequence", p.json().type_name());
  TemplatePiece piece;
  piece.type_id = said["type_id"].is_null() ? 0 : said["type_id"].id();
  const std::string id = said["id"].token();
  if (special.is_null()) {
    if (id != "A" && id != "B") said.fail("the sequence A or B", in_quotes(id));
    piece.sequence = id == "B";
    return piece;
  }
  const Part token = specials[id];
  if (token.is_null()) specials.fail("the special token " + in_quotes(id), "none");
  const std::vector<Part> ids = token["ids"].items(), tokens = token["tokens"].items();
  if (ids.size() != tokens.size() || ids.size() > max_template_pieces)
    token.fail("as many ids as tokens, at most " + std::to_string(max_template_pieces),
               std::to_string(ids.size()) + " and " + std::to_string(tokens.size()));
  for (size_t i = 0; i < ids.size(); ++i) piece.tokens.push_back({tokens[i].token(), ids[i].id()});
  return piece;
}

Template read_template(const Part& p, const Part& specials, bool pair) {
  if (p.json().is_array() && p.json().size() > max_template_pieces)
    p.too_large("at most " + std::to_string(max_template_pieces) + " pieces",
                std::to_string(p.json().size()));
  Template t;
  for (const Part& item : p.items()) {
    t.push_back(read_piece(item, specials));
    if (t.back().sequence == 1 && !pair) item.fail("the sequence A, of a text alone", "B");
  }
  return t;
}

/// Reads an entry such as ["[SEP]", 102].
TemplatePiece read_named(const Part& p) {
  const std::vector<Part> both = p.items();
  if (both.size() != 2) p.fail("a token and its id", std::to_string(both.size()) + " items");
  return {-1, 0, {{both[0].token(), both[1].id()}}};
}

void read_post_processor(const Part& p, Pipeline& s) {
  if (p.is_null()) return;
  const std::string type = p.type();
  if (type == "TemplateProcessing") {
    s.single = read_template(p["single"], p["special_tokens"], false);
    s.pair = read_template(p["pair"], p["special_tokens"], true);
  } else if (type == "BertProcessing") {
    const TemplatePiece begin = read_named(p["cls"]), end = read_named(p["sep"]);
    TemplatePiece end_of_second = end;
    end_of_second.type_id = 1;
    s.single = Template{begin, {0, 0}, end};
    s.pair = Template{begin, {0, 0}, end, {1, 1}, end_of_second};
  } else {
    p["type"].unsupported({"BertProcessing", "TemplateProcessing"}, type);
  }
}

std::optional<Truncation> read_truncation(const Part& p) {
  if (p.is_null()) return std::nullopt;
  using From = Truncation::From;
  constexpr From from[] = {From::longest_first, From::only_first, From::only_second};
  Truncation t;
  t.max_length = p["max_length"].number(longest_encoding);
  t.from = from[p["strategy"].choice({"LongestFirst", "OnlyFirst", "OnlySecond"})];
  t.left = p["direction"].choice({"Right", "Left"}) == 1;
  return t;
}

std::optional<Padding> read_padding(const Part& p) {
  if (p.is_null()) return std::nullopt;
  Padding pad;
  const Part strategy = p["strategy"];
  if (strategy.json().is_object())
    pad.length = strategy["Fixed"].number(longest_encoding);
  else
    strategy.choice({"BatchLongest"});
  if (!p["pad_to_multiple_of"].is_null()) pad.multiple_of = p["pad_to_multiple_of"].number(longest_encoding);
  pad.id = p["pad_id"].is_null() ? 0 : p["pad_id"].id();
  pad.type_id = p["pad_type_id"].is_null() ? 0 : p["pad_type_id"].id();
  if (!p["pad_token"].is_null()) pad.token = p["pad_token"].token();
  pad.left = p["direction"].choice({"Right", "Left"}) == 1;
  return pad;
}

void index_by_id(Pipeline& s) {
  for (const Vocabulary* entries : {&s.added, &s.model.vocabulary})
    s.by_id.insert(s.by_id.end(), entries->entries().begin(), entries->entries().end());
  std::ranges::stable_sort(s.by_id, {}, &Vocabulary::Entry::id);
  const auto again = std::ranges::unique(s.by_id, {}, &Vocabulary::Entry::id);
  s.by_id.erase(again.begin(), again.end());
}

}  // namespace

Tokenizer Tokenizer::parse(std::string_view json, std::string origin) {
  auto s = std::make_shared<State>();
  s->origin = std::move(origin);
  const Json document = parse_bounded_json(json, s->origin);
  const Part file(*s, document, "");
  read_normalizer(file["normalizer"], s->normalizer);
  s->pre_tokenizer = read_pre_tokenizer(file["pre_tokenizer"]);
  read_model(file["model"], s->model);
  read_added_tokens(file["added_tokens"], *s);
  read_post_processor(file["post_processor"], *s);
  index_by_id(*s);
  Tokenizer t(s);
  t.truncation_ = read_truncation(file["truncation"]);
  t.padding_ = read_padding(file["padding"]);
  return t;
}

Tokenizer Tokenizer::open(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = directory ? path / "tokenizer.json" : path;
  return parse(read_file(open_regular(file), file)->view(), file.string());
}

}  // namespace lathe
