#include "nn/convert.h"

#include "nn/access.h"
#include "tensor/alignment.h"
#include "tensor/element.h"

namespace lathe::nn {

bool converts_to(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16 ||
         type == DataType::float64;
}

Tensor converted(const Tensor& given, DataType type) {
  if (!converts_to(given.type()) || !converts_to(type))
    throw detail::fault(Code::not_supported, "", "float32, float16, bfloat16 or float64",
                        std::string(name_of(given.type())) + " to " + std::string(name_of(type)));
  const Tensor from = aligned(given);
  Tensor to(type, given.shape());
  for_type(from.type(), float_types, [&]<class From> {
    for_type(type, float_types, [&]<class To> {
      const auto x = from.as<From>();
      const auto y = to.as<To>();
      // By way of the wider of the two: double is rounded once.
      for (size_t i = 0; i < x.size(); ++i)
        y[i] = Element<To>::store(static_cast<Compute<To>>(Element<From>::load(x[i])));
    });
  });
  return to;
}

}  // namespace lathe::nn
