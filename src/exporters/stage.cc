#include "exporters/stage.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "base/file.h"
#include "base/json.h"

namespace lathe::exporters {

namespace fs = std::filesystem;

namespace {

Error write_failed(const fs::path& path, const std::error_code& why) {
  return file_error(Code::file_write_failed, path, "a folder that can be written", why.message(),
                    "check that the folder exists and its permissions");
}

/// Files that refer to others come last, so that a model is never there without its weights.
int write_order(const fs::path& file) { return file.extension() == ".onnx" ? 1 : 0; }

void copy_one(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::create_directories(to.parent_path(), failed);
  // Links are followed: Hugging Face's cache consists of them.
  if (!failed) fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  if (failed) throw write_failed(to, failed);
}

}  // namespace

StagedDirectory::StagedDirectory(const fs::path& target) : target_(target.lexically_normal()) {
  if (!target_.has_filename()) target_ = target_.parent_path();
  std::error_code failed;
  if (fs::exists(target_, failed) && !fs::is_directory(target_, failed))
    throw file_error(Code::file_write_failed, target_, "a folder, or nothing yet", "a file", "name a folder");
  staged_ = target_;
  staged_ += "." + std::to_string(std::random_device{}()) + ".tmp";
  failed.clear();
  if (target_.has_parent_path()) fs::create_directories(target_.parent_path(), failed);
  const OneStep known_at_once;
  if (!failed) fs::create_directory(staged_, failed);
  if (!failed) unfinished_.emplace(staged_);
  if (failed) throw write_failed(target_, failed);
}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  fs::remove_all(staged_, ignored);
}

namespace {

/// Moves files one after the other, and undoes that in reverse order unless all succeeded.
class Moves {
 public:
  Moves() = default;
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;
  ~Moves() {
    std::error_code ignored;
    for (auto m = made_.rbegin(); m != made_.rend(); ++m)
      m->from.empty() ? static_cast<void>(fs::remove(m->to, ignored)) : fs::rename(m->to, m->from, ignored);
  }
  void move(const fs::path& from, const fs::path& to) {
    make_directory(to.parent_path());
    std::error_code failed;
    fs::rename(from, to, failed);
    if (failed) throw write_failed(to, failed);
    made_.push_back({from, to});
  }
  void keep() { made_.clear(); }

 private:
  struct Move {
    fs::path from, to;  // from nothing: a directory that was made
  };
  void make_directory(const fs::path& directory) {
    std::error_code failed;
    if (directory.empty() || fs::is_directory(directory, failed)) return;
    make_directory(directory.parent_path());
    fs::create_directory(directory, failed);
    if (failed) throw write_failed(directory, failed);
    made_.push_back({{}, directory});
  }
  std::vector<Move> made_;
};

}  // namespace

void StagedDirectory::commit() {
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(staged_)) sync(entry.path());
  const OneStep step;
  // The folder is renamed at once if the target does not exist (or is an empty folder, which it replaces).
  if (!fs::is_symlink(target_, failed)) {
    fs::rename(staged_, target_, failed);
    if (!failed) return sync(target_.has_parent_path() ? target_.parent_path() : fs::path("."));
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(staged_))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(staged_));
  std::ranges::sort(files, {}, [](const fs::path& f) { return std::pair(write_order(f), f); });
  for (const fs::path& file : files)
    if (fs::is_directory(target_ / file, failed))
      throw file_error(Code::file_write_failed, target_ / file, "a file, or nothing yet", "a folder",
                       "name another folder for the export");
  // Replaced files are moved away first, models before their weights: nobody reads an old model with new
  // weights.
  const fs::path replaced = staged_ / "replaced";
  Moves moves;
  for (auto file = files.rbegin(); file != files.rend(); ++file)
    if (fs::exists(fs::symlink_status(target_ / *file, failed)))
      moves.move(target_ / *file, replaced / *file);
  for (const fs::path& file : files) moves.move(staged_ / file, target_ / file);
  moves.keep();
  sync(target_);
}

void copy_companions(const fs::path& checkpoint, const fs::path& to) {
  constexpr const char* names[] = {"generation_config.json",
                                   "tokenizer.json",
                                   "tokenizer_config.json",
                                   "special_tokens_map.json",
                                   "added_tokens.json",
                                   "vocab.txt",
                                   "vocab.json",
                                   "merges.txt",
                                   "bpe.codes",
                                   "spiece.model",
                                   "sentencepiece.bpe.model",
                                   "sentencepiece.model",
                                   "tokenizer.model",
                                   "source.spm",
                                   "target.spm",
                                   "normalizer.json",
                                   "chat_template.jinja",
                                   "chat_template.json",
                                   "preprocessor_config.json",
                                   "processor_config.json",
                                   "image_processor_config.json",
                                   "modules.json",
                                   "sentence_bert_config.json",
                                   "config_sentence_transformers.json",
                                   "1_Pooling/config.json"};
  for (const char* name : names) {
    std::error_code ignored;
    if (fs::is_regular_file(checkpoint / name, ignored)) copy_one(checkpoint / name, to / name);
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoint, ignored))
    if (entry.path().extension() == ".tiktoken" && entry.is_regular_file(ignored))
      copy_one(entry.path(), to / entry.path().filename());
  for (const auto& entry : fs::directory_iterator(checkpoint / "additional_chat_templates", ignored))
    if (entry.path().extension() == ".jinja" && entry.is_regular_file(ignored))
      copy_one(entry.path(), to / "additional_chat_templates" / entry.path().filename());
}

std::string read_config(const fs::path& checkpoint) {
  ModelConfig::open(checkpoint);  // refuses what is no config.json of reasonable size
  const fs::path file = fs::is_directory(checkpoint) ? checkpoint / "config.json" : checkpoint;
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw file_error(Code::file_unreadable, file, "a file that can be read", "an error", "");
  return text.str();
}

std::string config_text(std::string config, const std::map<std::string, std::string>& overrides) {
  if (overrides.empty()) return config;
  Json json = Json::parse(config);
  for (const auto& [key, value] : overrides) json[key] = Json::parse(value);
  return json.dump(2) + "\n";
}

}  // namespace lathe::exporters
