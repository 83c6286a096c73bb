// A short vector of plain values that lives in place: shapes and strides never allocate in a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace lathe {

/// Up to `N` elements in place, more on the heap. T is trivially copyable.
template <class T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  InlineVector() = default;
  explicit InlineVector(size_t n, T v = T{}) { assign(n, v); }
  InlineVector(std::initializer_list<T> l) { assign(l.begin(), l.end()); }
  template <class It>
  requires(!std::is_integral_v<It>) InlineVector(It first, It last) { assign(first, last); }
  explicit InlineVector(std::span<const T> s) { assign(s.begin(), s.end()); }
  InlineVector(const InlineVector& o) { assign(o.begin(), o.end()); }
  InlineVector(InlineVector&& o) noexcept { swap(o); }
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& o) noexcept {
    swap(o);
    return *this;
  }

  T* data() { return heap_ ? heap_.get() : local_; }
  const T* data() const { return heap_ ? heap_.get() : local_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }

  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t cap = std::max(n, capacity_ * 2);
    std::unique_ptr<T[]> grown(new T[cap]);
    std::copy(begin(), end(), grown.get());
    heap_ = std::move(grown);
    capacity_ = cap;
  }
  void resize(size_t n, T v = T{}) {
    reserve(n);
    if (n > size_) std::fill(data() + size_, data() + n, v);
    size_ = n;
  }
  void push_back(T v) {
    reserve(size_ + 1);
    data()[size_++] = v;
  }
  void pop_back() { --size_; }
  void assign(size_t n, T v) {
    size_ = 0;
    resize(n, v);
  }
  template <class It>
  requires(!std::is_integral_v<It>) void assign(It first, It last) {
    const size_t n = static_cast<size_t>(std::distance(first, last));
    size_ = 0;
    reserve(n);
    std::copy(first, last, data());
    size_ = n;
  }
  T* insert(const T* at, T v) {
    const size_t i = static_cast<size_t>(at - data());
    push_back(v);
    std::rotate(data() + i, data() + size_ - 1, data() + size_);
    return data() + i;
  }
  T* erase(const T* at) {
    T* p = data() + (at - data());
    std::copy(p + 1, end(), p);
    --size_;
    return p;
  }
  void swap(InlineVector& o) noexcept {
    std::swap(local_, o.local_);
    std::swap(heap_, o.heap_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
  }
  operator std::span<const T>() const { return {data(), size_}; }
  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T local_[N] = {};
  std::unique_ptr<T[]> heap_;
  size_t size_ = 0;
  size_t capacity_ = N;
};

/// Sizes of a tensor's axes, outermost first. Empty: a scalar.
using Shape = InlineVector<int64_t, 6>;

/// Number of elements; the caller has checked that it does not overflow (see `checked_count`).
inline int64_t count_of(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}

}  // namespace lathe
