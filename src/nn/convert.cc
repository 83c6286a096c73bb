#include "nn/convert.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/scratch_file.h"
#include "nn/access.h"
#include "tensor/alignment.h"
#include "tensor/element.h"

namespace lathe::nn {

bool converts_to(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16 ||
         type == DataType::float64;
}

namespace {

constexpr size_t piece = size_t{1} << 20;  // elements

template <class From, class To>
void convert(std::span<const From> x, std::span<To> y) {
  // The wider type is in between, so that double is rounded once.
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = Element<To>::store(static_cast<Compute<To>>(Element<From>::load(x[i])));
}

/// Writes to disk piece by piece, because a converted checkpoint may be larger than memory. Undefined if the
/// disk is full.
template <class From, class To>
Tensor converted_on_disk(std::span<const From> x, DataType type, const Shape& shape) {
  ScratchFile scratch(x.size() * sizeof(To));
  std::vector<To> y(std::min(piece, x.size()));
  for (size_t begin = 0; begin < x.size(); begin += piece) {
    const auto part = x.subspan(begin, std::min(piece, x.size() - begin));
    convert(part, std::span(y).first(part.size()));
    drop_mapped_pages(part.data(), part.size_bytes());
    if (!scratch.write({reinterpret_cast<const char*>(y.data()), part.size() * sizeof(To)})) return {};
  }
  const std::shared_ptr<char> bytes = scratch.map();
  return bytes ? Tensor::view(type, shape, bytes.get(), bytes) : Tensor();
}

}  // namespace

Tensor converted(const Tensor& given, DataType type) {
  if (!converts_to(given.type()) || !converts_to(type))
    throw detail::fault(Code::not_supported, "", "float32, float16, bfloat16 or float64",
                        std::string(name_of(given.type())) + " to " + std::string(name_of(type)));
  const Tensor from = aligned(given);
  Tensor to;
  for_type(from.type(), float_types, [&]<class From> {
    for_type(type, float_types, [&]<class To> {
      const auto x = from.as<From>();
      if (x.size() >= piece) to = converted_on_disk<From, To>(x, type, given.shape());
      if (to.defined()) return;
      to = Tensor(type, given.shape());
      convert(std::span<const From>(x), to.as<To>());
    });
  });
  return to;
}

}  // namespace lathe::nn
