// Opens files of tokenizers: which kind one is, its contents say.
#include "text/tokenizer_files.h"

#include <algorithm>
#include <fstream>

#include "base/error_about.h"
#include "base/file.h"
#include "base/plan_magic.h"
#include "io/bounded_json.h"
#include "io/gguf.h"
#include "io/stored_tensor.h"
#include "text/json_part.h"
#include "text/plain_vocabulary.h"
#include "text/sentence_piece.h"
#include "text/tiktoken.h"

namespace lathe::text {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t max_tokenizer_file = uint64_t{64} << 20;
constexpr const char* to_tokenizer_json =
    "save it as tokenizer.json: transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)";

bool has_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string read_bounded(const fs::path& path) {
  File f = open_regular(path);
  if (const uint64_t size = size_of(f, path); size > max_tokenizer_file)
    throw error_about(Code::wire_too_large, "tokenize", path.string(),
                      "at most " + std::to_string(max_tokenizer_file) + " bytes", std::to_string(size));
  return std::string(read_file(std::move(f), path)->view());
}

constexpr const char* config_file = "tokenizer_config.json";
constexpr const char* added_file = "added_tokens.json";
/// Files that alone are a tokenizer, but for what the two above say.
constexpr const char* piece_files[] = {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
                                       "sentencepiece.model"};
constexpr std::string_view rank_extension = ".tiktoken";

/// Returns the names of the files that make the tokenizer, the most important one first; none without one.
/// `ranks`: the names of all files of ranks.
std::vector<std::string> chosen_files(const auto& has, std::vector<std::string> ranks,
                                      const fs::path& folder) {
  std::vector<std::string> names;
  if (has("tokenizer.json")) return {"tokenizer.json"};
  if (has("vocab.json") && has("merges.txt")) names = {"vocab.json", "merges.txt"};
  for (const char* name : piece_files)
    if (names.empty() && has(name)) names = {name};
  if (names.empty() && !ranks.empty()) {
    std::ranges::sort(ranks);
    if (ranks.size() > 1)
      throw error_about(Code::bad_argument, "tokenize", folder.string(), "one file of ranks",
                        std::to_string(ranks.size()),
                        "give the file itself: " + (folder / ranks[0]).string());
    names = std::move(ranks);
  }
  if (names.empty()) return names;
  for (const char* name : {config_file, added_file})
    if (has(name)) names.emplace_back(name);
  return names;
}

/// Reads a token that is given as its text, or as an object.
std::optional<AddedToken> read_token(const Part& p) {
  AddedToken t;
  const bool object = p.json().is_object();
  if (!object && !p.json().is_string()) return std::nullopt;
  t.content = object ? p["content"].token() : p.token();
  if (object) {
    t.special = p["special"].flag(false);
    t.normalized = p["normalized"].flag(!t.special);
    t.single_word = p["single_word"].flag(false);
    t.strip_left = p["lstrip"].flag(false), t.strip_right = p["rstrip"].flag(false);
  }
  return t;
}

uint32_t read_id(const Part& p, const std::string& key) {
  uint32_t id = 0;
  for (char c : key) {
    if (c < '0' || c > '9' || id > 400'000'000) p.fail("ids below 2^32 - 1 as keys", in_quotes(key));
    id = id * 10 + static_cast<uint32_t>(c - '0');
  }
  if (key.empty()) p.fail("ids as keys", "none");
  return id;
}

void add_token(FolderConfig& to, AddedToken t) {
  const auto same = std::ranges::find(to.added, t.content, &AddedToken::content);
  if (same == to.added.end()) to.added.push_back(std::move(t));
}

std::optional<bool> flag_at(const Part& p) {
  return p.is_null() ? std::nullopt : std::optional<bool>(p.flag(false));
}

}  // namespace

FolderConfig read_folder_config(const TextFiles& files, const fs::path& folder) {
  FolderConfig c;
  c.path = folder / config_file;
  if (const auto at = files.find(config_file); at != files.end()) {
    Pipeline about;
    about.origin = c.path.string();
    const Json json = parse_bounded_json(at->second, c.path);
    const Part file(about, json, "");
    if (!file["tokenizer_class"].is_null()) c.tokenizer_class = file["tokenizer_class"].text();
    if (c.tokenizer_class.ends_with("Fast")) c.tokenizer_class.resize(c.tokenizer_class.size() - 4);
    const Part decoder = file["added_tokens_decoder"];
    if (decoder.json().is_object())
      for (const Json::Member& m : decoder.json().items()) {
        std::optional<AddedToken> t = read_token(decoder[m.name]);
        if (!t) decoder.fail("objects with a content", m.value.type_name());
        t->id = read_id(decoder, m.name);
        add_token(c, std::move(*t));
      }
    for (const Json::Member& m : json.items()) {
      if (!m.name.ends_with("_token")) continue;
      if (std::optional<AddedToken> t = read_token(file[m.name])) {
        t->special = true, t->normalized = false;
        c.named[m.name] = std::move(*t);
      }
    }
    c.add_begin = flag_at(file["add_bos_token"]), c.add_end = flag_at(file["add_eos_token"]);
    c.add_prefix_space = flag_at(file["add_prefix_space"]), c.legacy = flag_at(file["legacy"]);
    c.extra_ids = file["extra_ids"].number(longest_encoding, c.extra_ids);
  }
  if (const auto at = files.find(added_file); at != files.end()) {
    Pipeline about;
    about.origin = (folder / added_file).string();
    const Json json = parse_bounded_json(at->second, about.origin);
    const Part file(about, json, "");
    for (const Json::Member& m : json.items()) {
      AddedToken t;
      t.content = m.name;
      t.id = static_cast<uint32_t>(file[m.name].id());
      add_token(c, std::move(t));
    }
  }
  return c;
}

namespace {

/// Throws where an added token has another id than the vocabulary says, or the id of another token.
void require_ids(const FolderConfig& c, const std::vector<AddedToken>& added, const auto& id_of,
                 const auto& token_of) {
  for (const AddedToken& t : added) {
    if (t.id == no_token) continue;
    const auto id = id_of(t.content);
    const auto token = token_of(t.id);
    if (id ? *id != t.id : token && !token->empty())
      throw error_about(Code::json_malformed, "tokenize", c.path.string(),
                        "added tokens with the ids of the vocabulary, or with ids behind it",
                        in_quotes(t.content) + " with " + std::to_string(t.id), to_tokenizer_json);
  }
}

void require_ids(const FolderConfig& c, const std::vector<AddedToken>& added, const Vocabulary& v) {
  const auto id_of = [&](std::string_view text) {
    const uint32_t id = v.find(text);
    return id == no_token ? std::nullopt : std::optional<uint32_t>(id);
  };
  require_ids(c, added, id_of, [&](uint32_t id) { return v.text(id); });
}

[[noreturn]] void refuse_class(const FolderConfig& c, const std::string& known) {
  throw error_about(Code::not_supported, "tokenize", c.path.string(),
                    "a tokenizer_class whose rules are known: " + known, in_quotes(c.tokenizer_class),
                    to_tokenizer_json);
}

NamedToken named_token(const FolderConfig& c, const std::string& key, const std::string& fallback,
                       const Vocabulary& v) {
  const auto said = c.named.find(key);
  NamedToken t{said == c.named.end() ? fallback : said->second.content, 0};
  uint32_t id = v.find(t.text);
  for (const AddedToken& a : c.added)
    if (a.content == t.text && a.id != no_token) id = a.id;
  if (id == no_token)
    throw error_about(Code::json_malformed, "tokenize", c.path.string(),
                      "a token of the vocabulary as " + key, in_quotes(t.text));
  t.id = id;
  return t;
}

std::vector<Merge> read_merges(const Pipeline& p, std::string_view text, const Vocabulary& v) {
  std::vector<Merge> all;
  for (size_t i = 0, number = 1; i < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', i), text.size());
    std::string_view line = text.substr(i, end - i);
    i = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version") || line.empty()) continue;
    const size_t space = line.find(' ');
    const std::string_view left = line.substr(0, space),
                           right = space == line.npos ? "" : line.substr(space + 1);
    const Merge m{v.find(left), v.find(right), v.find(std::string(left) + std::string(right))};
    if (m.left == no_token || m.right == no_token || m.result == no_token)
      p.fail(Code::json_malformed,
             "merges.txt, line " + std::to_string(number) + ": two tokens of the vocabulary", in_quotes(line),
             "take vocab.json and merges.txt of the same model");
    all.push_back(m);
  }
  return all;
}

/// Reads vocab.json and the merges.txt beside it: byte-level BPE that splits as the class does; without one,
/// as GPT-2 does.
Tokenizer open_vocabulary(const fs::path& path, std::string_view vocabulary, std::string_view merges,
                          FolderConfig c) {
  const std::string& kind = c.tokenizer_class;
  const bool roberta = kind == "RobertaTokenizer" || kind == "BartTokenizer" ||
                       kind == "LongformerTokenizer" || kind == "LEDTokenizer";
  const bool qwen = kind == "Qwen2Tokenizer";
  if (!roberta && !qwen && kind != "GPT2Tokenizer" && !kind.empty())
    refuse_class(c,
                 "BartTokenizer, GPT2Tokenizer, LEDTokenizer, LongformerTokenizer, Qwen2Tokenizer, "
                 "RobertaTokenizer");
  auto s = std::make_shared<TokenizerMaker::State>();
  s->origin = path.string();
  const Json document = parse_bounded_json(vocabulary, path, max_tokenizer_file);
  Vocabulary v = read_vocabulary(Part(*s, document, ""));
  const std::vector<Merge> all = read_merges(*s, merges, v);
  const bool prefix_space = c.add_prefix_space.value_or(false);
  if (qwen) {
    s->normalizer = form_normalizer(Form::nfc);
    std::vector<PreTokenizerPtr> parts;
    parts.push_back(pattern_pre_tokenizer(Pattern(Regex::compile(tiktoken_encoding("qwen")->pattern)),
                                          SplitBehavior::isolated, false));
    parts.push_back(byte_level_pre_tokenizer(prefix_space, false));
    s->pre_tokenizer = pre_tokenizer_sequence(std::move(parts));
  } else {
    s->pre_tokenizer = byte_level_pre_tokenizer(prefix_space, true);
  }
  s->decoder = byte_level_decoder();
  if (c.named.empty() && v.find("<|endoftext|>") != no_token) c.named["eos_token"].content = "<|endoftext|>";
  if (roberta) {
    for (const auto& [key, text] : {std::pair("bos_token", "<s>"),
                                    {"eos_token", "</s>"},
                                    {"unk_token", "<unk>"},
                                    {"pad_token", "<pad>"},
                                    {"mask_token", "<mask>"}})
      if (!c.named.contains(key) && v.find(text) != no_token) {
        c.named[key].content = text;
        c.named[key].strip_left = std::string_view(key) == "mask_token";
      }
    s->post_processor = roberta_processor(
        named_token(c, c.named.contains("cls_token") ? "cls_token" : "bos_token", "<s>", v),
        named_token(c, c.named.contains("sep_token") ? "sep_token" : "eos_token", "</s>", v), true,
        prefix_space);
  } else if (c.add_begin.value_or(false)) {
    const NamedToken begin = named_token(c, "bos_token", "<|endoftext|>", v);
    const TemplatePiece piece{-1, 0, {begin}};
    s->post_processor = template_processor({piece, {0, 0}}, {piece, {0, 0}, piece, {1, 0}});
  }
  for (auto& [key, t] : c.named) {
    t.special = true;
    add_token(c, t);
  }
  require_ids(c, c.added, v);
  s->model = bpe_model(std::move(v), all, {});
  s->added = AddedTokens(std::move(c.added), s->model->vocabulary(), s->normalizer.get());
  return TokenizerMaker::of(std::move(s));
}

/// A model of SentencePiece, with what the folder says of its use.
Tokenizer open_pieces(const fs::path& path, std::string_view bytes, FolderConfig c) {
  const std::string& kind = c.tokenizer_class;
  const bool llama = kind == "LlamaTokenizer" || kind == "CodeLlamaTokenizer" || kind == "GemmaTokenizer",
             t5 = kind == "T5Tokenizer";
  if (!llama && !t5 && !kind.empty())
    refuse_class(c, "CodeLlamaTokenizer, GemmaTokenizer, LlamaTokenizer, T5Tokenizer");
  SentencePiece p = read_sentence_piece(bytes, path.string());
  SentencePieceUse use;
  use.add_begin = c.add_begin.value_or(llama), use.add_end = c.add_end.value_or(t5);
  use.prefix_once = !c.legacy.value_or(true);
  const auto count = static_cast<int64_t>(p.pieces.size());
  Vocabulary v;
  for (uint32_t i = 0; i < p.pieces.size(); ++i) v.add(p.pieces[i], i);
  v.finish();
  if (t5 && c.added.empty())
    for (int64_t i = 0; i < c.extra_ids; ++i) {
      AddedToken t;
      t.content = "<extra_id_" + std::to_string(i) + ">", t.special = true;
      t.id = static_cast<uint32_t>(count + c.extra_ids - 1 - i);
      c.added.push_back(std::move(t));
    }
  for (auto& [key, t] : c.named) {
    if (v.find(t.content) != no_token) add_token(c, t);
    if (key == "bos_token") use.begin = t.content;
    if (key == "eos_token") use.end = t.content;
  }
  require_ids(c, c.added, v);
  use.added = std::move(c.added);
  return make_tokenizer(std::move(p), std::move(use), path.string());
}

Tokenizer open_ranks(const fs::path& path, std::string_view bytes, const TokenizerOptions& o,
                     const FolderConfig& c) {
  NamedEncoding e;
  if (o.pattern.empty() ? !o.special_tokens.empty() : !o.encoding.empty())
    throw error_about(Code::bad_argument, "tokenize", path.string(),
                      "an encoding, or a pattern and perhaps special tokens",
                      o.pattern.empty() ? "special tokens without a pattern" : "an encoding and a pattern");
  if (!o.pattern.empty()) {
    e.pattern = o.pattern;
    for (const auto& [text, id] : o.special_tokens) {
      if (id < 0 || id >= no_token || text.empty() || text.size() > longest_token)
        throw error_about(
            Code::bad_argument, "tokenize", path.string(),
            "special tokens of 1 to " + std::to_string(longest_token) + " bytes with ids from 0 to 2^32 - 2",
            in_quotes(text) + " with " + std::to_string(id));
      e.special_tokens.emplace_back(text, static_cast<uint32_t>(id));
    }
  } else {
    std::string name = o.encoding.empty() ? path.stem().string() : o.encoding;
    if (o.encoding.empty() && c.tokenizer_class == "QWenTokenizer") name = "qwen";
    const std::optional<NamedEncoding> known = tiktoken_encoding(name);
    if (!known)
      throw error_about(Code::bad_argument, "tokenize", path.string(),
                        "an encoding among " + tiktoken_encoding_names(), in_quotes(name),
                        "name the encoding that the ranks belong to, or give the pattern that splits texts");
    e = *known;
  }
  for (const AddedToken& t : c.added) {
    const auto same =
        std::ranges::find(e.special_tokens, t.content, &std::pair<std::string, uint32_t>::first);
    if (same == e.special_tokens.end())
      e.special_tokens.emplace_back(t.content, t.id);
    else
      same->second = t.id;
  }
  return read_ranks(bytes, e, path.string());
}

void refuse_options(const fs::path& path, const TokenizerOptions& o) {
  if (o.encoding.empty() && o.pattern.empty() && o.special_tokens.empty()) return;
  throw error_about(Code::bad_argument, "tokenize", path.string(),
                    "no options: only files of ranks (tiktoken) take them", "some");
}

/// Makes a tokenizer of a file's contents, of which `c` says what the folder says.
Tokenizer open_bytes(const fs::path& path, std::string_view bytes, const TokenizerOptions& o,
                     const FolderConfig& c) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool json = first != bytes.npos && (bytes[first] == '{' || bytes[first] == '[');
  if (!json && looks_like_sentence_piece(bytes)) {
    refuse_options(path, o);
    return open_pieces(path, bytes, c);
  }
  if (!json && (looks_like_ranks(bytes) || path.extension() == rank_extension))
    return open_ranks(path, bytes, o, c);
  refuse_options(path, o);
  return Tokenizer::parse(bytes, path.string());
}

Tokenizer open_file(const fs::path& path, const TokenizerOptions& o) {
  char first[plan_magic.size()] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  const std::string_view head(first, sizeof first);
  if (head == plan_magic)
    throw error_about(Code::bad_argument, "tokenize", path.string(), "the file of a tokenizer",
                      "a plan, which may have one in it",
                      "Generator::load opens it, `lathe tokenize` takes it too");
  if (!begins_as_gguf(head)) return open_bytes(path, read_bounded(path), o, {});
  refuse_options(path, o);
  return Tokenizer::from_gguf(Gguf::open(path));
}

Tokenizer open_folder(const fs::path& folder, const TokenizerOptions& o) {
  if (std::optional<Tokenizer> t = tokenizer_of(read_tokenizer_files(folder), folder, o)) return *t;
  throw error_about(Code::file_not_found, "tokenize", folder.string(),
                    "a tokenizer: tokenizer.json, vocab.json with merges.txt, tokenizer.model, spiece.model, "
                    "sentencepiece.bpe.model or *.tiktoken",
                    "none of them", "give the directory of a checkpoint, or the file itself");
}

}  // namespace

TextFiles read_tokenizer_files(const fs::path& folder) {
  std::vector<std::string> ranks;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == rank_extension) ranks.push_back(entry.path().filename().string());
  TextFiles files;
  for (const std::string& name :
       chosen_files([&](const char* n) { return has_file(folder / n); }, std::move(ranks), folder))
    files[name] = read_bounded(folder / name);
  return files;
}

std::optional<Tokenizer> tokenizer_of(const TextFiles& files, const fs::path& folder,
                                      const TokenizerOptions& options) {
  std::vector<std::string> ranks;
  for (const auto& [name, contents] : files)
    if (name.ends_with(rank_extension)) ranks.push_back(name);
  const auto names = chosen_files([&](const char* n) { return files.contains(n); }, std::move(ranks), folder);
  if (names.empty()) return std::nullopt;
  const fs::path path = folder / names[0];
  const std::string& contents = files.at(names[0]);
  if (names[0] == "tokenizer.json") return open_bytes(path, contents, options, {});
  FolderConfig config = read_folder_config(files, folder);
  if (names[0] != "vocab.json") return open_bytes(path, contents, options, config);
  refuse_options(path, options);
  return open_vocabulary(path, contents, files.at("merges.txt"), std::move(config));
}

}  // namespace lathe::text

namespace lathe {

Tokenizer Tokenizer::open(const std::filesystem::path& path, const TokenizerOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return text::open_folder(path, options);
  open_regular(path);  // throws where there is no such file
  return text::open_file(path, options);
}

}  // namespace lathe
