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

/// An IEEE binary16 number as bits; arithmetic is done in float32.
struct Float16 {
  uint16_t bits;  // sign, exponent, fraction
};
/// The upper half of a float32 as bits (bfloat16); arithmetic is done in float32.
struct BFloat16 {
  uint16_t bits;  // sign, exponent, fraction
};

/// The element type that a C++ type stands for; undefined for others.
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

/// A dense row-major tensor. Copies share memory like a shared_ptr; clone() copies the elements. Tensors of
/// strings hold an array of std::string. Types of less than a byte are packed, lowest bits first, as in ONNX.
/// As thread-safe as a shared_ptr to plain memory.
class LATHE_API Tensor {
 public:
  /// Makes an undefined tensor.
  Tensor() = default;
  /// Allocates memory, 64-byte aligned and uninitialized (strings are empty). Throws Code::tensor_bad_shape
  /// as checked_count does, run_out_of_memory.
  Tensor(DataType type, Shape shape);
  /// Makes a tensor of somebody else's memory, which `owner` keeps alive where it is given, otherwise the
  /// caller. Nothing is checked.
  static Tensor view(DataType type, Shape shape, void* data, std::shared_ptr<void> owner = {});
  /// Makes a tensor with a copy of the elements, of which there must be as many as the shape says. Throws as
  /// the constructor does.
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
  /// Makes a tensor of shape [] with one element.
  template <class T>
  static Tensor scalar(T v) {
    Tensor t(type_of<T>, Shape{});
    *static_cast<T*>(t.data()) = std::move(v);
    return t;
  }

  /// Returns the element type.
  DataType type() const { return type_; }
  /// Returns the sizes of the axes.
  const Shape& shape() const { return shape_; }
  /// Returns the number of axes.
  size_t rank() const { return shape_.size(); }
  /// Returns the size of an axis, which is not checked.
  int64_t dim(size_t axis) const { return shape_[axis]; }
  /// Returns the number of elements.
  int64_t size() const { return size_; }
  /// Returns the bytes of the elements; for strings those of the std::string objects.
  size_t bytes() const;
  /// Returns whether it has an element type.
  bool defined() const { return type_ != DataType::undefined; }
  /// Returns whether it keeps its memory alive, alone or with others.
  bool owns() const { return owner_ != nullptr; }
  /// Returns what keeps the memory alive; null for a view without owner.
  const std::shared_ptr<void>& owner() const { return owner_; }

  /// Returns the address of the first element, on the host or on a device.
  void* data() { return data_; }
  const void* data() const { return data_; }
  /// Returns the elements; T must be their type, which is not checked.
  template <class T>
  std::span<T> as() {
    return {static_cast<T*>(data_), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(size_)};
  }

  /// Returns the same memory under another shape. Throws Code::node_bad_shape for another number of elements.
  Tensor reshaped(Shape shape) const;
  /// Returns a deep copy that owns its memory.
  Tensor clone() const;
  /// Returns the tensor itself where it owns or shares its memory, otherwise a deep copy: values that outlive
  /// a step must be this.
  Tensor owned() const { return owner_ ? *this : clone(); }

  /// Points the tensor to other memory without touching an owner's count, for runtimes that plan memory.
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

/// Returns the number of elements of a shape. Throws Code::tensor_bad_shape, which names `what`, for a
/// negative dimension, a rank over `max_rank`, or a number of elements or bytes that does not fit 63 bits.
LATHE_API int64_t checked_count(std::span<const int64_t> dims, DataType type, std::string_view what);
inline constexpr size_t max_rank = 64;  // the most axes of a tensor

/// Returns it as text: "float32[2, 3]", "[2, 3]".
LATHE_API std::string describe(const Tensor& t);
LATHE_API std::string describe(const Shape& s);

}  // namespace lathe
