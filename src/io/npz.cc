// Checkpoints of NumPy's arrays: one .npy, or a zip archive of them.
#include "io/npy.h"
#include "io/pytorch.h"
#include "io/stored_tensor.h"
#include "io/zip.h"
#include "lathe/io.h"

namespace lathe {
namespace {

constexpr std::string_view ending = ".npy";

/// Returns the result of `f`; its errors name the file and the array.
template <class F>
auto with_error_context(const std::filesystem::path& file, std::string_view tensor, F f) {
  try {
    return f();
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    if (!d.node.empty() && d.node.starts_with(file.string())) throw;
    throw checkpoint_error(e.code(), file, tensor, d.expected, d.got, d.remedy);
  }
}

/// An array whose file begins with `beginning` and has `size` bytes. The caller says where its bytes are.
StoredTensor array_of(std::string name, std::string_view beginning, uint64_t size,
                      const std::shared_ptr<const FileBytes>& file, NpyLayout& layout) {
  layout = with_error_context(file->path(), name, [&] { return read_npy_layout(beginning, size); });
  if (layout.type == DataType::string)
    throw checkpoint_error(Code::tensor_bad_type, file->path(), name, "an array of numbers", "one of strings",
                           "load_npy reads it");
  StoredTensor t;
  t.info.name = std::move(name);
  t.info.type = layout.type;
  t.info.shape = layout.shape;
  t.file = file;
  return t;
}

Tensor inflated(const FileBytes& file, const ZipMember& m, const std::string& name) {
  auto bytes = std::make_shared<std::string>();
  try {
    bytes->resize(m.size);
  } catch (const std::exception&) {
    throw checkpoint_error(Code::run_out_of_memory, file.path(), name,
                           "memory for " + std::to_string(m.size) + " bytes", "none left",
                           "write the archive with numpy.savez, uncompressed: it is mapped");
  }
  read_member(file, m, bytes->data());
  return with_error_context(file.path(), name, [&] { return parse_npy(*bytes); });
}

StoredTensor member_array(const std::shared_ptr<const FileBytes>& file, const ZipMember& m) {
  NpyLayout layout;
  std::string name = m.name.substr(0, m.name.size() - ending.size());
  StoredTensor t = array_of(name, member_prefix(*file, m, longest_npy_header), m.size, file, layout);
  t.offset = m.offset;
  if (m.deflated)
    t.load = [file, m, name] { return inflated(*file, m, name); };
  else if (!layout.plain)
    t.load = [file, m, name] {
      return with_error_context(file->path(), name,
                                [&] { return parse_npy(file->view().substr(m.offset, m.stored)); });
    };
  else
    t.offset += layout.start;
  complete(t);
  return t;
}

CheckpointContents read_npz(const std::shared_ptr<const FileBytes>& file,
                            const std::vector<ZipMember>& members) {
  CheckpointContents contents;
  contents.format = CheckpointFormat::npz;
  for (const ZipMember& m : members) {
    if (m.name.size() <= ending.size() || !m.name.ends_with(ending))
      throw checkpoint_error(Code::wire_malformed, file->path(), {},
                             "an archive by numpy.savez (members NAME.npy) or torch.save (a data.pkl)",
                             "a member " + in_quotes(m.name), "write it with one of these");
    contents.tensors.push_back(member_array(file, m));
  }
  return contents;
}

}  // namespace

CheckpointContents read_npy(const std::shared_ptr<const FileBytes>& file) {
  const std::string_view bytes = file->view();
  NpyLayout layout;
  CheckpointContents contents;
  contents.format = CheckpointFormat::npy;
  StoredTensor t = array_of(file->path().stem().string(), bytes, bytes.size(), file, layout);
  t.offset = layout.start;
  if (!layout.plain)
    t.load = [file, name = t.info.name] {
      return with_error_context(file->path(), name, [&] { return parse_npy(file->view()); });
    };
  complete(t);
  contents.tensors.push_back(std::move(t));
  return contents;
}

CheckpointContents read_zip_checkpoint(const std::shared_ptr<const FileBytes>& file) {
  const std::vector<ZipMember> members = read_zip(*file);
  for (const ZipMember& m : members)
    if (m.name == "data.pkl" || m.name.ends_with("/data.pkl")) return read_pytorch(file, members, m);
  return read_npz(file, members);
}

}  // namespace lathe
