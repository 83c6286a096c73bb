// Reads tokenizer.json of https://github.com/huggingface/tokenizers (that library's output defines the
// format).
#include "base/nearest.h"
#include "io/bounded_json.h"
#include "io/stored_tensor.h"
#include "text/json_part.h"
#include "text/score_number.h"

namespace lathe {

using namespace text;

namespace {

constexpr uint64_t max_tokenizer_bytes = uint64_t{64} << 20;

std::vector<AddedToken> read_added_tokens(const Part& p) {
  std::vector<AddedToken> all;
  if (p.is_null()) return all;
  for (const Part& item : p.items()) {
    AddedToken t;
    t.content = item["content"].token();
    item["id"].id();  // is read to be checked alone: AddedTokens says which ids count
    t.special = item["special"].flag(false);
    t.normalized = item["normalized"].flag(!t.special);
    t.single_word = item["single_word"].flag(false);
    t.strip_left = item["lstrip"].flag(false), t.strip_right = item["rstrip"].flag(false);
    all.push_back(std::move(t));
  }
  return all;
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
NamedToken read_named(const Part& p) {
  const std::vector<Part> both = p.items();
  if (both.size() != 2) p.fail("a token and its id", std::to_string(both.size()) + " items");
  return {both[0].token(), both[1].id()};
}

PostProcessorPtr post_processor_at(const Part& p, size_t depth) {
  constexpr size_t max_depth = 8;
  const std::string type = p.type();
  if (type == "TemplateProcessing")
    return template_processor(read_template(p["single"], p["special_tokens"], false),
                              read_template(p["pair"], p["special_tokens"], true));
  if (type == "BertProcessing") return bert_processor(read_named(p["cls"]), read_named(p["sep"]));
  if (type == "RobertaProcessing")
    return roberta_processor(read_named(p["cls"]), read_named(p["sep"]), p["trim_offsets"].flag(true),
                             p["add_prefix_space"].flag(true));
  if (type == "ByteLevel")
    return byte_level_processor(p["trim_offsets"].flag(true), p["add_prefix_space"].flag(true));
  if (type == "Sequence") {
    const Part list = p["processors"];
    if (depth >= max_depth || list.json().size() > max_parts)
      list.too_large(
          "at most " + std::to_string(max_parts) + " parts, " + std::to_string(max_depth) + " deep", "more");
    std::vector<PostProcessorPtr> parts;
    bool placed = false;
    for (const Part& part : list.items()) {
      // Behind it there is no telling which encoding is which text.
      const std::string inner = part.type();
      const bool places =
          inner == "TemplateProcessing" || inner == "BertProcessing" || inner == "RobertaProcessing";
      if (placed && places)
        part["type"].unsupported({"one post-processor with special tokens"}, "a second one");
      placed |= places;
      parts.push_back(post_processor_at(part, depth + 1));
    }
    return post_processor_sequence(std::move(parts));
  }
  p["type"].unsupported(
      {"BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"}, type);
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

}  // namespace

PostProcessorPtr text::read_post_processor(const Part& p) {
  return p.is_null() ? nullptr : post_processor_at(p, 0);
}

Tokenizer Tokenizer::parse(std::string_view json, std::string origin) {
  auto s = std::make_shared<State>();
  s->origin = std::move(origin);
  const Json document = parse_bounded_json(json, s->origin, max_tokenizer_bytes, score_number);
  const Part file(*s, document, "");
  s->normalizer = read_normalizer(file["normalizer"]);
  s->pre_tokenizer = read_pre_tokenizer(file["pre_tokenizer"]);
  s->model = read_model(file["model"]);
  try {
    s->added =
        AddedTokens(read_added_tokens(file["added_tokens"]), s->model->vocabulary(), s->normalizer.get());
  } catch (const PatternFault& f) {
    s->fail(f);
  }
  s->post_processor = read_post_processor(file["post_processor"]);
  s->decoder = read_decoder(file["decoder"]);
  s->finish();
  Tokenizer t(s);
  t.truncation_ = read_truncation(file["truncation"]);
  t.padding_ = read_padding(file["padding"]);
  return t;
}

}  // namespace lathe
