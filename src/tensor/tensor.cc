#include "lathe/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/pages.h"
#include "lathe/error.h"
#include "lathe/value.h"

namespace lathe {
namespace {

std::shared_ptr<void> allocate(DataType type, size_t count) {
  if (type == DataType::string) return std::shared_ptr<std::string[]>(new std::string[count]);
  void* p = allocate_pages(bytes_for(type, count));
  if (!p) throw std::bad_alloc();
  return {p, std::free};
}

}  // namespace

int64_t checked_count(std::span<const int64_t> dims, DataType type, std::string_view what) {
  auto refuse = [&](std::string expected, std::string got) -> Error {
    Diagnostic d;
    d.code = Code::tensor_bad_shape;
    d.stage = "check";
    d.node = what;
    d.expected = std::move(expected);
    d.got = std::move(got);
    return Error(std::move(d));
  };
  if (dims.size() > max_rank)
    throw refuse("a rank of at most " + std::to_string(max_rank), std::to_string(dims.size()));
  int64_t n = 1;
  bool zero = false;
  for (int64_t d : dims) {
    if (d < 0) throw refuse("dimensions that are not negative", std::to_string(d));
    if (d == 0)
      zero = true;
    else if (__builtin_mul_overflow(n, d, &n))
      throw refuse("a number of elements that fits 63 bits", describe(Shape(dims)));
  }
  const int64_t unit = type == DataType::string ? static_cast<int64_t>(sizeof(std::string)) : 16;
  int64_t bytes;
  if (__builtin_mul_overflow(n, unit, &bytes))
    throw refuse("a size in bytes that fits 63 bits", describe(Shape(dims)));
  return zero ? 0 : n;
}

Tensor::Tensor(DataType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  size_ = checked_count(shape_, type, "tensor");
  try {
    owner_ = allocate(type, static_cast<size_t>(size_));
  } catch (const std::bad_alloc&) {
    throw Error(Code::run_out_of_memory, "run", "memory for " + describe(*this), "none left",
                "use smaller inputs, or give the process more memory");
  }
  data_ = owner_.get();
}

Tensor Tensor::view(DataType type, Shape shape, void* data, std::shared_ptr<void> owner) {
  Tensor t;
  t.type_ = type;
  t.size_ = count_of(shape);
  t.shape_ = std::move(shape);
  t.data_ = data;
  t.owner_ = std::move(owner);
  return t;
}

size_t Tensor::bytes() const {
  if (type_ == DataType::string) return static_cast<size_t>(size_) * sizeof(std::string);
  return bytes_for(type_, static_cast<size_t>(size_));
}

Tensor Tensor::reshaped(Shape shape) const {
  if (count_of(shape) != size_)
    throw Error(Code::node_bad_shape, "run", "a shape of " + std::to_string(size_) + " elements",
                describe(shape));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor t(type_, shape_);
  if (type_ == DataType::string)
    std::copy(as<std::string>().begin(), as<std::string>().end(), t.as<std::string>().begin());
  else if (bytes())
    std::memcpy(t.data(), data_, bytes());
  return t;
}

std::string describe(const Shape& s) {
  std::string t = "[";
  for (size_t i = 0; i < s.size(); ++i) t += (i ? ", " : "") + std::to_string(s[i]);
  return t + "]";
}

std::string describe(const Tensor& t) { return std::string(name_of(t.type())) + describe(t.shape()); }

Value owned(const Value& v) {
  if (v.is_tensor()) return v.tensor().owned();
  if (v.is_sparse())
    return SparseTensor{v.sparse().values.owned(), v.sparse().indices.owned(), v.sparse().shape};
  return v;  // sequences and maps own their elements
}

std::string describe(const Value& v) {
  if (v.is_tensor()) return describe(v.tensor());
  if (v.is_sparse())
    return "sparse " + std::string(name_of(v.sparse().values.type())) + describe(v.sparse().shape);
  if (v.is_sequence()) {
    const auto& items = *v.sequence().items;
    return "sequence(" + std::to_string(items.size()) +
           (items.empty() ? ")" : " of " + describe(items[0]) + ", …)");
  }
  if (v.is_map()) return "map(" + std::to_string(v.map().keys.size()) + ")";
  return "none";
}

}  // namespace lathe
