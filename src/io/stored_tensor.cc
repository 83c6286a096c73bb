#include "io/stored_tensor.h"

#include <cstring>

#include "base/error_about.h"
#include "base/json_text.h"
#include "tensor/alignment.h"

namespace lathe {
namespace {

/// Copies a strided view, innermost axis in the inner loop.
void gather(const StoredTensor& t, size_t element, size_t axis, const char* from, char*& to) {
  const auto size = static_cast<size_t>(t.info.shape[axis]);
  const size_t step = static_cast<size_t>(t.strides[axis]) * element;
  if (axis + 1 < t.info.shape.size()) {
    for (size_t i = 0; i < size; ++i) gather(t, element, axis + 1, from + i * step, to);
    return;
  }
  if (step == element) {
    std::memcpy(to, from, size * element);
    to += size * element;
    return;
  }
  for (size_t i = 0; i < size; ++i, to += element) std::memcpy(to, from + i * step, element);
}

}  // namespace

std::string in_quotes(std::string_view name) {
  constexpr size_t longest = 120;
  return "'" + valid_utf8(name.substr(0, longest)) + (name.size() > longest ? "…'" : "'");
}

Error checkpoint_error(Code code, const std::filesystem::path& file, std::string_view tensor,
                       std::string expected, std::string got, std::string remedy) {
  return error_about(code, "read checkpoint",
                     file.string() + (tensor.empty() ? "" : ": " + in_quotes(tensor)), std::move(expected),
                     std::move(got), std::move(remedy));
}

int64_t checked_elements(const Shape& shape, DataType type, const std::filesystem::path& file,
                         std::string_view tensor) {
  try {
    return checked_count(shape, type, "tensor");
  } catch (const Error& e) {
    throw checkpoint_error(e.code(), file, tensor, e.diagnostic().expected, e.diagnostic().got);
  }
}

void complete(StoredTensor& t) {
  t.info.bytes = bytes_for(t.info.type, static_cast<size_t>(count_of(t.info.shape)));
  t.info.file = t.file->path();
  t.info.mapped = !t.load && t.strides.empty() && is_aligned(t.info.type, t.data());
}

Tensor load(const StoredTensor& t) {
  if (t.load) return t.load();
  if (t.info.mapped)
    return Tensor::view(t.info.type, t.info.shape, const_cast<char*>(t.data()),
                        std::const_pointer_cast<FileBytes>(t.file));
  Tensor out(t.info.type, t.info.shape);
  if (out.size() == 0) return out;
  auto* to = static_cast<char*>(out.data());
  if (t.strides.empty())
    std::memcpy(to, t.data(), t.info.bytes);
  else
    gather(t, t.info.bytes / static_cast<size_t>(out.size()), 0, t.data(), to);
  return out;
}

}  // namespace lathe
