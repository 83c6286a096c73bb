// The public interface of verification, and the files that it writes.
#include "lathe/verify.h"

#include "base/file.h"
#include "io/npy.h"
#include "lathe/io.h"
#include "verify/verify_model.h"

namespace lathe {
namespace {

void write(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void save_value(std::filesystem::path path, const std::string& name, const Value& v) {
  for (const char* ending : {".npy", ".pb", ".json"})
    std::filesystem::remove(path.replace_extension(ending));  // of an earlier reproduction
  // Others would come back from .npy as wider types.
  const bool plain =
      v.is_tensor() && v.tensor().type() != DataType::string && !is_missing_in_numpy(v.tensor().type());
  if (plain)
    save_npy(path.replace_extension(".npy"), v.tensor());
  else if (v.is_tensor())
    write(path.replace_extension(".pb"), onnx::serialize(onnx::from_tensor(v.tensor(), name)));
  else
    write(path.replace_extension(".json"), to_json(v));
}

}  // namespace

VerifyReport verify(const onnx::Model& model, const VerifyOptions& options) {
  return verify_model(model, options);
}

void save_reproduction(const VerifyReport::Fault& fault, const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed)
    throw file_error(Code::file_write_failed, directory, "a directory that can be made", failed.message(),
                     "give another with --output");
  const auto numbered = [&](const char* role, size_t i) {
    return directory / (std::string(role) + "_" + std::to_string(i));
  };
  for (size_t i = 0; i < fault.inputs.size(); ++i)
    save_value(numbered("input", i), fault.inputs[i].first, fault.inputs[i].second);
  for (size_t i = 0; i < fault.expected.size(); ++i)
    save_value(numbered("expected", i), fault.expected[i].first, fault.expected[i].second);
  onnx::SaveOptions whole;
  whole.data = onnx::SaveOptions::Data::single_file;
  onnx::save(fault.reproduction, directory / "reproduce.onnx", whole);
}

std::string_view name_of(VerifyReport::Fault::Kind kind) {
  constexpr std::string_view names[] = {"pass", "kernel", "fusion", "memory"};
  return names[static_cast<size_t>(kind)];
}

}  // namespace lathe
