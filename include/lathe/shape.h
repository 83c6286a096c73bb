// A short vector of plain values that is stored in place: shapes and strides never allocate in a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace lathe {

/// A vector of up to `N` elements in place, and of more on the heap. T is trivially copyable. As thread-safe
/// as std::vector.
template <class T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;  // the type of elements
  /// Makes an empty one.
  InlineVector() = default;
  /// Makes `n` copies of `v`.
  explicit InlineVector(size_t n, T v = T{}) { assign(n, v); }
  /// Makes the elements of a list.
  InlineVector(std::initializer_list<T> l) { assign(l.begin(), l.end()); }
  /// Makes the elements of a range of iterators.
  template <class It>
  requires(!std::is_integral_v<It>) InlineVector(It first, It last) { assign(first, last); }
  /// Makes the elements of a span.
  explicit InlineVector(std::span<const T> s) { assign(s.begin(), s.end()); }
  /// Copies the elements.
  InlineVector(const InlineVector& o) { assign(o.begin(), o.end()); }
  /// Takes the elements of `o`, which is empty afterwards.
  InlineVector(InlineVector&& o) noexcept { swap(o); }
  /// Copies the elements.
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  /// Swaps the elements with those of `o`.
  InlineVector& operator=(InlineVector&& o) noexcept {
    swap(o);
    return *this;
  }

  /// Returns the address of the first element; changed by whatever adds elements.
  T* data() { return heap_ ? heap_.get() : local_; }
  const T* data() const { return heap_ ? heap_.get() : local_; }
  /// Returns the number of elements.
  size_t size() const { return size_; }
  /// Returns whether there are none.
  bool empty() const { return size_ == 0; }
  /// Returns an iterator to the first element.
  T* begin() { return data(); }
  /// Returns an iterator behind the last element.
  T* end() { return data() + size_; }
  /// Returns an iterator to the first element.
  const T* begin() const { return data(); }
  /// Returns an iterator behind the last element.
  const T* end() const { return data() + size_; }
  /// Returns element `i`, which is not checked.
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  /// Returns the last element; there must be one.
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  /// Returns the first element; there must be one.
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }

  /// Removes all elements and keeps the memory.
  void clear() { size_ = 0; }
  /// Allocates memory for `n` elements at least.
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t cap = std::max(n, capacity_ * 2);
    std::unique_ptr<T[]> grown(new T[cap]);
    std::copy(begin(), end(), grown.get());
    heap_ = std::move(grown);
    capacity_ = cap;
  }
  /// Removes elements from the end, or adds copies of `v` there.
  void resize(size_t n, T v = T{}) {
    reserve(n);
    if (n > size_) std::fill(data() + size_, data() + n, v);
    size_ = n;
  }
  /// Adds an element at the end.
  void push_back(T v) {
    reserve(size_ + 1);
    data()[size_++] = v;
  }
  /// Removes the last element; there must be one.
  void pop_back() { --size_; }
  /// Replaces all elements with `n` copies of `v`.
  void assign(size_t n, T v) {
    size_ = 0;
    resize(n, v);
  }
  /// Replaces all elements with those of a range of iterators.
  template <class It>
  requires(!std::is_integral_v<It>) void assign(It first, It last) {
    const size_t n = static_cast<size_t>(std::distance(first, last));
    size_ = 0;
    reserve(n);
    std::copy(first, last, data());
    size_ = n;
  }
  /// Inserts an element before `at`; returns its address.
  T* insert(const T* at, T v) {
    const size_t i = static_cast<size_t>(at - data());
    push_back(v);
    std::rotate(data() + i, data() + size_ - 1, data() + size_);
    return data() + i;
  }
  /// Removes the element at `at`; returns the address of the next one.
  T* erase(const T* at) {
    T* p = data() + (at - data());
    std::copy(p + 1, end(), p);
    --size_;
    return p;
  }
  /// Swaps the elements with those of `o`.
  void swap(InlineVector& o) noexcept {
    std::swap(local_, o.local_);
    std::swap(heap_, o.heap_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
  }
  /// Converts to a view of the elements.
  operator std::span<const T>() const { return {data(), size_}; }
  /// Returns whether the elements are equal.
  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T local_[N] = {};
  std::unique_ptr<T[]> heap_;
  size_t size_ = 0;
  size_t capacity_ = N;
};

/// The sizes of a tensor's axes, outermost first; empty for a scalar.
using Shape = InlineVector<int64_t, 6>;

/// Returns the number of elements; the caller has checked that it does not overflow (see `checked_count`).
inline int64_t count_of(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}

}  // namespace lathe
