// Writes models to files: streamed, with the data of their tensors inside or outside.
#include "onnx/save.h"

#include <unistd.h>

#include <cstdio>
#include <random>
#include <unordered_map>

#include "base/file.h"
#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/each_tensor.h"
#include "onnx/external.h"
#include "onnx/tensor_data.h"
#include "onnx/wire_writer.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

/// The protos that are written instead of tensors whose data moves.
using Moved = std::unordered_map<const TensorProto*, TensorProto>;

TensorProto without_data(const TensorProto& p) {
  TensorProto q;
  q.dims = p.dims;
  q.data_type = p.data_type;
  q.segment = p.segment;
  q.name = p.name;
  q.doc_string = p.doc_string;
  q.metadata_props = p.metadata_props;
  q.unknown = p.unknown;
  return q;
}

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

bool same_directory(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  return fs::equivalent(a, b, failed) && !failed;
}

std::string external_name(const fs::path& model, const SaveOptions& options) {
  const std::string name =
      options.external_name.empty() ? model.filename().string() + ".data" : options.external_name;
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string("/\\:\0", 4)) != std::string::npos)
    throw file_error(Code::external_bad_path, name, "the name of a file beside the model", "a path",
                     "give a plain file name");
  if (name == model.filename())
    throw file_error(Code::external_bad_path, name, "a file of its own for the data", "the name of the model",
                     "give another name");
  return name;
}

/// Writes bytes that may be larger than memory: the pages of a mapped file are dropped after each piece.
template <class Write>
void write_weights(std::string_view bytes, const SaveListener& listener, const Write& write) {
  constexpr size_t piece = size_t{16} << 20;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    write(part);
    if (part.size() >= piece / 16) drop_mapped_pages(part.data(), part.size());
    if (listener) listener(part.size());
  }
}

/// Writes tensors into one file beside the model.
class DataFile {
 public:
  DataFile(const fs::path& directory, std::string name, const SaveListener& listener)
      : name_(std::move(name)), file_(directory / name_), listener_(listener) {}

  void take_over(std::span<const std::string_view> scratch) { file_.take_over(scratch); }

  TensorProto put(const TensorProto& p, const Bytes& bytes) {
    // Aligned so that it can be mapped and read in place, by vector instructions too.
    constexpr uint64_t page = 4096, line = 64;
    const auto there = file_.place_of(bytes.view());
    if (!there) file_.pad(bytes.size() >= page ? page : line);
    TensorProto q = without_data(p);
    q.data_location = 1;
    const auto entry = [&](const char* key, std::string value) {
      q.external_data.push_back({key, std::move(value), {}});
    };
    entry("location", name_);
    entry("offset", std::to_string(there.value_or(file_.written())));
    entry("length", std::to_string(bytes.size()));
    if (there) {
      if (listener_) listener_(bytes.size());
      return q;
    }
    write_weights(bytes.view(), listener_, [&](std::string_view piece) { file_.write(piece); });
    return q;
  }
  AtomicFile& file() { return file_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  AtomicFile file_;
  const SaveListener& listener_;
};

class Saver {
 public:
  Saver(const Model& m, const fs::path& path, const SaveOptions& options, const SaveListener& listener,
        bool take_scratch)
      : model_(m),
        path_(path),
        options_(options),
        directory_(directory_of(path)),
        listener_(listener),
        take_scratch_(take_scratch) {}

  void save() {
    single_ = AtomicFile::is_stream(path_);
    refuse_two_in_one();
    if (options_.text) text_ = model_.proto;
    move_data(text_ ? *text_ : model_.proto);
    if (text_)
      each_tensor(*text_, [&](TensorProto& t) {
        if (const auto at = moved_.find(&t); at != moved_.end()) t = at->second;
      });
    AtomicFile out(path_);
    write(out);
    commit(out);
  }

 private:
  void move_data(const ModelProto& proto) {
    each_tensor(proto, [&](const TensorProto& t) {
      switch (options_.data) {
        case SaveOptions::Data::keep:
          return single_ ? take_in(t) : keep(t);
        case SaveOptions::Data::single_file:
          return take_in(t);
        case SaveOptions::Data::external:
          return move_out(t, options_.external_threshold);
      }
    });
  }

  void take_in(const TensorProto& t) {
    if (t.is_external()) moved_.emplace(&t, without_data(t)).first->second.raw_data = raw_bytes(t, model_);
  }

  void keep(const TensorProto& t) {
    if (!t.is_external()) return;
    parse_reference(t);
    if (!model_.options.external_data) return;
    if (model_.directory.empty()) {  // built in memory: the data must exist already
      Model there;
      there.directory = directory_;
      check_external(t, there);
    } else if (same_directory(model_.directory, directory_)) {
      check_external(t, model_);
    } else {
      move_out(t, 0);
    }
  }

  void move_out(const TensorProto& t, int64_t threshold) {
    if (!t.data_type || *t.data_type == static_cast<int32_t>(DataType::string)) return;
    const auto bytes = raw_bytes(t, model_);
    if (!bytes) return;
    if (static_cast<int64_t>(bytes->size()) < threshold)
      return take_in(t);  // its former file may not be copied with the model
    if (!data_) open_data();
    moved_.emplace(&t, data_->put(t, *bytes));
  }

  void open_data() {
    data_.emplace(directory_, external_name(path_, options_), listener_);
    if (!take_scratch_) return;
    std::vector<std::string_view> all;
    each_tensor(model_.proto, [&](const TensorProto& t) {
      if (t.raw_data) all.push_back(t.raw_data->view());
    });
    data_->take_over(all);
  }

  void refuse_two_in_one() const {
    if (single_ && options_.data == SaveOptions::Data::external)
      throw file_error(Code::external_bad_path, path_, "a folder for the file of the data",
                       "a device, a pipe or standard output", "write one file, or name a file");
  }

  void write(AtomicFile& out) const {
    if (text_) return out.write(to_text(*text_));
    wire::write(
        model_.proto,
        [&](std::string_view part) {
          write_weights(part, listener_, [&](std::string_view piece) { out.write(piece); });
        },
        [&](const TensorProto& t) -> const TensorProto* {
          const auto at = moved_.find(&t);
          return at == moved_.end() ? nullptr : &at->second;
        });
  }

  /// Places the data first, so that a model never refers to a file that does not exist yet. Nor is an old
  /// model ever beside new data, however the process ends.
  void commit(AtomicFile& model) {
    if (!data_) return model.commit();
    data_->file().finish();
    model.finish();
    std::error_code failed;
    if (fs::exists(path_, failed) && fs::exists(directory_ / data_->name(), failed)) return replace(model);
    const OneStep both;
    data_->file().place();
    model.place();
  }

  /// Keeps the data under a name of its own until the old model is replaced.
  void replace(AtomicFile& model) {
    const std::string usual = data_->name();
    char own[32];
    std::snprintf(own, sizeof own, ".%08x.data", static_cast<unsigned>(std::random_device{}()));
    const std::string other = path_.filename().string().substr(0, 200) + own;
    rename_data(usual, other);
    AtomicFile between(path_);
    write(between);
    between.finish();
    const OneStep all;
    const fs::path own_path = directory_ / other;
    if (!data_->file().place_as(own_path)) {
      // A link leads to another file system: there is no way but to be without a model for a moment.
      forget(path_);
      data_->file().place();
      return model.place();
    }
    try {
      between.place();
    } catch (...) {
      forget(own_path);
      throw;
    }
    // The data has both names only for a moment, because some programs refuse data with two. So slow steps
    // come before.
    const fs::path usual_path = data_->file().target();
    forget(usual_path);
    if (::link(own_path.c_str(), usual_path.c_str()) != 0) return;  // the data keeps its own name
    model.place(false);
    forget(own_path);
    sync(directory_);
  }
  static void forget(const fs::path& file) {
    std::error_code ignored;
    fs::remove(file, ignored);
  }

  void rename_data(const std::string& from, const std::string& to) {
    const auto in = [&](TensorProto& t) {
      if (!t.is_external()) return;
      for (auto& entry : t.external_data)
        if (entry.key == "location" && entry.value == from) entry.value = to;
    };
    for (auto& [tensor, written] : moved_) in(written);
    if (text_) each_tensor(*text_, in);
  }

  const Model& model_;
  const fs::path path_;
  const SaveOptions& options_;
  const fs::path directory_;
  const SaveListener& listener_;
  const bool take_scratch_;
  bool single_ = false;  // there is no file beside the one that is written
  Moved moved_;
  std::optional<ModelProto> text_;
  std::optional<DataFile> data_;
};

}  // namespace

void save(const Model& m, const fs::path& path, const SaveOptions& options) { save(m, path, options, {}); }

void save(const Model& m, const fs::path& path, const SaveOptions& options, const SaveListener& listener,
          bool take_scratch) {
  Saver(m, path, options, listener, take_scratch).save();
}

}  // namespace lathe::onnx
