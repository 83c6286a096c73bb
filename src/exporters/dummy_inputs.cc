// Code that all generators of inputs share: names, and tensors drawn from a seed.
#include "lathe/exporters/dummy_inputs.h"

#include <algorithm>
#include <cstring>

#include "lathe/error.h"
#include "tensor/element.h"

namespace lathe::exporters {

DummyInputGenerator::DummyInputGenerator(std::string task, NormalizedConfig config, const DummyShapes& shapes)
    : task_(std::move(task)), config_(std::move(config)), shapes_(shapes), state_(shapes.seed) {}
DummyInputGenerator::~DummyInputGenerator() = default;

bool DummyInputGenerator::supports_input(std::string_view name) const {
  return std::ranges::any_of(supported_input_names(),
                             [&](const std::string& start) { return name.starts_with(start); });
}

/// SplitMix64 (Steele, Lea, Flood 2014): the standard library's distributions differ between compilers.
uint64_t DummyInputGenerator::draw() {
  uint64_t x = state_ += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Tensor DummyInputGenerator::random_int_tensor(const Shape& shape, int64_t high, int64_t low, DataType type) {
  Tensor t(type, shape);
  const auto range = static_cast<uint64_t>(std::max<int64_t>(high - low, 1));
  for (int64_t i = 0; i < t.size(); ++i) store_int(t, i, low + static_cast<int64_t>(draw() % range));
  return t;
}

Tensor DummyInputGenerator::random_mask_tensor(const Shape& shape, DataType type) {
  Tensor t(type, shape);
  const int64_t length = shape.empty() ? 1 : shape.back();
  const int64_t masked =
      length < 2 ? 0 : 1 + static_cast<int64_t>(draw() % static_cast<uint64_t>(length - 1));
  for (int64_t i = 0; i < t.size(); ++i) {
    const int64_t at = i % length;
    const bool on = shapes_.padding_side == PaddingSide::none ||
                    (shapes_.padding_side == PaddingSide::right ? at < length - masked : at >= masked);
    store_int(t, i, on);
  }
  return t;
}

Tensor DummyInputGenerator::random_float_tensor(const Shape& shape, double low, double high, DataType type) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.size(); ++i)
    store_double(t, i, low + (high - low) * (static_cast<double>(draw() >> 11) * 0x1p-53));
  return t;
}

Tensor DummyInputGenerator::constant_tensor(const Shape& shape, double value, DataType type) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.size(); ++i)
    if (is_float(type))
      store_double(t, i, value);
    else
      store_int(t, i, static_cast<int64_t>(value));
  return t;
}

Tensor DummyInputGenerator::concat_inputs(const std::vector<Tensor>& inputs, size_t axis) {
  const auto refuse = [](std::string expected, std::string got) {
    throw Error(Code::bad_argument, "export", std::move(expected), std::move(got));
  };
  if (inputs.empty()) refuse("inputs to concatenate", "none");
  Shape shape = inputs[0].shape();
  if (axis >= shape.size()) refuse("an axis of " + describe(inputs[0]), std::to_string(axis));
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape other = inputs[i].shape();
    if (other.size() == shape.size()) other[axis] = inputs[0].dim(axis);
    if (inputs[i].type() != inputs[0].type() || other != inputs[0].shape())
      refuse("inputs that differ on one axis only", describe(inputs[0]) + " and " + describe(inputs[i]));
    shape[axis] += inputs[i].dim(axis);
  }
  Tensor t(inputs[0].type(), shape);
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= shape[i];
  auto* to = static_cast<char*>(t.data());
  for (int64_t row = 0; row < outer; ++row)
    for (const Tensor& from : inputs) {
      const size_t bytes = from.bytes() / static_cast<size_t>(std::max<int64_t>(outer, 1));
      std::memcpy(to, static_cast<const char*>(from.data()) + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
  return t;
}

Tensor DummyInputGenerator::pad_input_on_dim(const Tensor& t, size_t axis, int64_t length, double value) {
  if (axis < t.rank() && t.dim(axis) >= length) return t;
  Shape rest = t.shape();
  if (axis < rest.size()) rest[axis] = length - t.dim(axis);
  return concat_inputs({t, constant_tensor(rest, value, t.type())}, axis);
}

}  // namespace lathe::exporters
