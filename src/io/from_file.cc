#include "lathe/checkpoint.h"
#include "lathe/error.h"
#include "lathe/io.h"

namespace lathe {

Tensor from_file(const std::filesystem::path& path, std::string_view name) {
  const Checkpoint file = Checkpoint::open(path);
  if (!name.empty()) return file.tensor(name);
  if (file.tensors().size() == 1) return file.tensor(file.tensors()[0].name);
  Diagnostic d;
  d.code = Code::bad_argument;
  d.stage = "io";
  d.node = path.string();
  d.expected = "a file of one tensor";
  d.got = std::to_string(file.tensors().size());
  for (size_t i = 0; i < file.tensors().size() && i < 10; ++i)
    d.got += (i ? ", '" : ": '") + file.tensors()[i].name + "'";
  d.remedy = "say which one";
  throw Error(std::move(d));
}

}  // namespace lathe
