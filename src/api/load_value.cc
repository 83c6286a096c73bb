#include "io/file.h"
#include "lathe/error.h"
#include "lathe/io.h"
#include "lathe/onnx.h"

namespace lathe {

Value load_value(const std::filesystem::path& path, DataType wanted) {
  if (path.extension() == ".npy") return load_npy(path, wanted);
  const std::string bytes = read_file(path);
  try {
    if (path.extension() == ".json") return parse_value_json(bytes);
    if (path.extension() == ".pb") return onnx::to_tensor(onnx::parse<onnx::TensorProto>(bytes)).owned();
  } catch (const Error& e) {
    throw e.at("", path.string(), "");
  }
  throw Error(Code::bad_argument, "read", "a file that ends in .npy, .json or .pb", path.string(),
              "convert it with numpy.save");
}

}  // namespace lathe
