#include "lathe/state.h"

#include <algorithm>
#include <cstring>

#include "base/pages.h"
#include "runtime/engine_impl.h"
#include "runtime/state_impl.h"
#include "tensor/strides.h"

namespace lathe {
namespace {

Shape at_capacity(Shape s, int32_t axis, int64_t capacity) {
  if (axis >= 0) s[static_cast<size_t>(axis)] = capacity;
  return s;
}

const State::Impl& checked(const std::shared_ptr<State::Impl>& i) {
  if (i) return *i;
  throw Error(Code::bad_argument, "state", "a state that was made or read", "an undefined one");
}

std::string names_of(const Engine::Impl& engine) {
  std::string names;
  for (const PlanState& s : engine.program.plan().states)
    names += (names.empty() ? "" : ", ") + engine.inputs[s.input].name;
  return names.empty() ? "none" : names;
}

State make(const Engine::Impl& engine, const PlanState& state, const std::map<std::string, int64_t>& sizes,
           int64_t capacity) {
  const PlanGraph& main = engine.program.plan().graphs[0];
  const PlanValue& v = main.values[main.inputs[state.input]];
  if (capacity < 0 || (state.axis >= 0 && capacity > state.capacity))
    throw Error(Code::bad_argument, "state", "a capacity of at most " + std::to_string(state.capacity),
                std::to_string(capacity), "build the engine for a greater one")
        .at("state", v.name, "");
  Shape shape;
  std::string missing;
  const std::map<std::string, int64_t, std::less<>> known(sizes.begin(), sizes.end());
  for (size_t a = 0; a < v.type.shape->size(); ++a) {
    if (static_cast<int32_t>(a) == state.axis) {
      shape.push_back(0);
      continue;
    }
    const auto size = (*v.type.shape)[a].evaluate(known);
    if (size.value_or(-1) < 0) missing += (missing.empty() ? "" : ", ") + (*v.type.shape)[a].str();
    shape.push_back(size.value_or(0));
  }
  if (!missing.empty())
    throw Error(Code::bad_argument, "state", "sizes for all symbols of the shape", "none for " + missing)
        .at("state", v.name, "");
  if (state.axis >= 0 && capacity == 0) capacity = state.capacity;
  return StateAccess::make(
      std::make_shared<State::Impl>(v.type.elem, std::move(shape), state.axis, capacity));
}

}  // namespace

void copy_growing(DataType type, const Shape& shape, int32_t axis, const void* from, int64_t from_capacity,
                  void* to, int64_t to_capacity) {
  // The bytes of one index along the axis, and of all that are copied at once.
  size_t row = static_cast<size_t>(bits_of(type)) / 8;
  for (size_t a = static_cast<size_t>(axis + 1); a < shape.size(); ++a) row *= static_cast<size_t>(shape[a]);
  const size_t bytes = axis < 0 ? row : row * static_cast<size_t>(shape[static_cast<size_t>(axis)]);
  size_t outer = 1;
  for (int32_t a = 0; a < axis; ++a) outer *= static_cast<size_t>(shape[static_cast<size_t>(a)]);
  for (size_t i = 0; bytes > 0 && i < outer; ++i)
    std::memcpy(static_cast<char*>(to) + row * i * static_cast<size_t>(to_capacity),
                static_cast<const char*>(from) + row * i * static_cast<size_t>(from_capacity), bytes);
}

Tensor dense_copy(DataType type, const Shape& shape, int32_t axis, const void* from, int64_t capacity) {
  Tensor to(type, shape);
  copy_growing(type, shape, axis, from, capacity, to.data(), axis < 0 ? 0 : shape[static_cast<size_t>(axis)]);
  return to;
}

State::Impl::Impl(DataType t, Shape s, int32_t a, int64_t most)
    : type(t), shape(std::move(s)), axis(a), capacity(a < 0 ? 0 : most) {
  const Shape whole = at_capacity(shape, axis, capacity);
  reserved = bytes_for(type, static_cast<size_t>(checked_count(whole, type, "a state")));
  memory = reserve_pages(reserved);
  if (!memory)
    throw Error(Code::run_out_of_memory, "state", std::to_string(reserved) + " bytes of address space",
                "none left");
}

void State::Impl::take(const Tensor& t) {
  shape = t.shape();
  copy_growing(type, shape, axis, t.data(), axis < 0 ? 0 : shape[static_cast<size_t>(axis)], memory.get(),
               capacity);
}

State State::create(const Engine& engine, std::string_view input, const std::map<std::string, int64_t>& sizes,
                    int64_t capacity) {
  const auto now = engine.impl();
  for (const PlanState& s : now->program.plan().states)
    if (now->inputs[s.input].name == input) return make(*now, s, sizes, capacity);
  throw Error(Code::bad_argument, "state", "an input that is a state, of " + names_of(*now),
              "'" + std::string(input) + "'", "name it in the states of the build");
}

State State::from(const Engine& engine, std::string_view input, const Tensor& elements, int64_t capacity) {
  const auto now = engine.impl();
  const IoInfo& io = now->inputs[now->input_index(input)];
  std::map<std::string, int64_t> sizes;
  for (size_t a = 0; io.shape && a < io.shape->size() && a < elements.rank(); ++a)
    if (const auto symbol = (*io.shape)[a].symbol_name()) sizes[*symbol] = elements.dim(a);
  State made = create(engine, input, sizes, capacity);
  made.assign(elements);
  return made;
}

NamedStates State::create_all(const Engine& engine, const std::map<std::string, int64_t>& sizes,
                              int64_t capacity) {
  const auto now = engine.impl();
  NamedStates all;
  for (const PlanState& s : now->program.plan().states)
    all.emplace(now->inputs[s.input].name, make(*now, s, sizes, capacity));
  return all;
}

State State::clone() const {
  const Impl& i = checked(impl_);
  auto made = std::make_shared<Impl>(i.type, i.shape, i.axis, i.capacity);
  copy_growing(i.type, i.shape, i.axis, i.memory.get(), i.capacity, made->memory.get(), i.capacity);
  made->changed_by_failed_run = i.changed_by_failed_run;
  return State(std::move(made));
}

DataType State::type() const { return checked(impl_).type; }
const Shape& State::shape() const { return checked(impl_).shape; }
int32_t State::axis() const { return checked(impl_).axis; }
int64_t State::length() const {
  const Impl& i = checked(impl_);
  return i.axis < 0 ? 0 : i.shape[static_cast<size_t>(i.axis)];
}
int64_t State::capacity() const { return checked(impl_).capacity; }
Shape State::strides() const {
  const Impl& i = checked(impl_);
  return row_major(at_capacity(i.shape, i.axis, i.capacity));
}
void* State::data() const { return checked(impl_).memory.get(); }
uint64_t State::bytes() const {
  const Impl& i = checked(impl_);
  return bytes_for(i.type, static_cast<size_t>(count_of(i.shape)));
}
Tensor State::tensor() const {
  const Impl& i = checked(impl_);
  return dense_copy(i.type, i.shape, i.axis, i.memory.get(), i.capacity);
}

void State::assign(const Tensor& from) {
  const Impl& now = checked(impl_);
  Shape wanted = now.shape;
  if (now.axis >= 0 && from.rank() == wanted.size())
    wanted[static_cast<size_t>(now.axis)] = from.dim(static_cast<size_t>(now.axis));
  if (from.type() != now.type || from.shape() != wanted)
    throw Error(Code::bad_argument, "state", std::string(name_of(now.type)) + describe(wanted),
                describe(from));
  if (now.axis >= 0 && wanted[static_cast<size_t>(now.axis)] > now.capacity)
    throw Error(Code::run_state_full, "state",
                "at most " + std::to_string(now.capacity) + " along axis " + std::to_string(now.axis),
                std::to_string(wanted[static_cast<size_t>(now.axis)]), "make a state of a greater capacity");
  impl_->take(from);
  impl_->changed_by_failed_run = false;
}

void State::rewind(int64_t length) {
  const Impl& i = checked(impl_);
  if (i.axis < 0)
    throw Error(Code::bad_argument, "state", "a state that grows along an axis", "one that keeps its shape",
                "keep a clone() to go back to");
  if (length < 0 || length > this->length())
    throw Error(Code::bad_argument, "state", "a length from 0 to " + std::to_string(this->length()),
                std::to_string(length));
  impl_->shape[static_cast<size_t>(i.axis)] = length;
}

void State::clear() {
  const Impl& i = checked(impl_);
  if (i.axis >= 0) impl_->shape[static_cast<size_t>(i.axis)] = 0;
  return_pages(i.memory.get(), i.reserved);
  impl_->changed_by_failed_run = false;
}

}  // namespace lathe
