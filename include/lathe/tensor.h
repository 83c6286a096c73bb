// Dense tensors: an element type, a shape, and memory that is owned, shared or borrowed.
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"
#include "lathe/shape.h"
#include "lathe/types.h"

namespace lathe {

/// The two-byte floats, as bits; arithmetic is done in float.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

/// The element type that a C++ type stands for.
template <class T>
inline constexpr DataType type_of = DataType::undefined;
template <>
inline constexpr DataType type_of<float> = DataType::float32;
template <>
inline constexpr DataType type_of<double> = DataType::float64;
template <>
inline constexpr DataType type_of<int8_t> = DataType::int8;
template <>
inline constexpr DataType type_of<uint8_t> = DataType::uint8;
template <>
inline constexpr DataType type_of<int16_t> = DataType::int16;
template <>
inline constexpr DataType type_of<uint16_t> = DataType::uint16;
template <>
inline constexpr DataType type_of<int32_t> = DataType::int32;
template <>
inline constexpr DataType type_of<uint32_t> = DataType::uint32;
template <>
inline constexpr DataType type_of<int64_t> = DataType::int64;
template <>
inline constexpr DataType type_of<uint64_t> = DataType::uint64;
template <>
inline constexpr DataType type_of<bool> = DataType::boolean;
template <>
inline constexpr DataType type_of<std::string> = DataType::string;
template <>
inline constexpr DataType type_of<Float16> = DataType::float16;
template <>
inline constexpr DataType type_of<BFloat16> = DataType::bfloat16;
template <>
inline constexpr DataType type_of<std::complex<float>> = DataType::complex64;
template <>
inline constexpr DataType type_of<std::complex<double>> = DataType::complex128;

/// A dense row-major tensor. Copies share memory (like a shared_ptr); `clone()` copies elements.
/// String tensors hold an array of std::string. Sub-byte types are packed, lowest bits first, as in ONNX.
/// Thread-safety: that of a shared_ptr to plain memory.
class LATHE_API Tensor {
 public:
  Tensor() = default;
  /// Owned memory, 64-byte aligned, uninitialised (strings are empty). Throws Code::run_too_large /
  /// run_out_of_memory.
  Tensor(DataType type, Shape shape);
  /// Memory of somebody else: kept alive by `owner` where that is given, else for the caller to keep.
  static Tensor view(DataType type, Shape shape, void* data, std::shared_ptr<void> owner = {});
  template <class T>
  static Tensor from(Shape shape, std::span<const T> elements) {
    Tensor t(type_of<T>, std::move(shape));
    std::copy(elements.begin(), elements.begin() + t.size(), static_cast<T*>(t.data()));
    return t;
  }
  template <class T>
  static Tensor from(Shape shape, const std::vector<T>& elements) {
    Tensor t(type_of<T>, std::move(shape));
    std::copy(elements.begin(), elements.begin() + t.size(), static_cast<T*>(t.data()));
    return t;
  }
  template <class T>
  static Tensor scalar(T v) {
    Tensor t(type_of<T>, Shape{});
    *static_cast<T*>(t.data()) = std::move(v);
    return t;
  }

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  size_t rank() const { return shape_.size(); }
  int64_t dim(size_t axis) const { return shape_[axis]; }
  int64_t size() const { return size_; }
  /// Bytes of the elements; for strings those of the std::string objects.
  size_t bytes() const;
  bool defined() const { return type_ != DataType::undefined; }
  bool owns() const { return owner_ != nullptr; }
  const std::shared_ptr<void>& owner() const { return owner_; }

  void* data() { return data_; }
  const void* data() const { return data_; }
  template <class T>
  std::span<T> as() {
    return {static_cast<T*>(data_), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(size_)};
  }

  /// The same memory under another shape of the same number of elements.
  Tensor reshaped(Shape shape) const;
  /// A deep copy that owns its memory.
  Tensor clone() const;
  /// Itself when it owns (or shares) its memory, else a deep copy: what outlives a step must be this.
  Tensor owned() const { return owner_ ? *this : clone(); }

  /// For runtimes that plan memory: points the tensor elsewhere without touching an owner's count.
  void rebind(DataType type, const Shape& shape, void* data) {
    type_ = type;
    shape_ = shape;
    size_ = count_of(shape);
    data_ = data;
    if (owner_) owner_.reset();
  }

 private:
  DataType type_ = DataType::undefined;
  Shape shape_;
  int64_t size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

/// Number of elements of a shape, checked: throws Code::tensor_bad_shape on a negative dimension, rank over
/// `max_rank`, or a product (or its size in bytes) that does not fit 63 bits.
LATHE_API int64_t checked_count(std::span<const int64_t> dims, DataType type, std::string_view what);
inline constexpr size_t max_rank = 64;

/// "float32[2, 3]".
LATHE_API std::string describe(const Tensor& t);
LATHE_API std::string describe(const Shape& s);

}  // namespace lathe
