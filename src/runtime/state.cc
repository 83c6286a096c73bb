#include "lathe/state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

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

const State::Impl& in_one_piece(const std::shared_ptr<State::Impl>& i) {
  if (!checked(i).in_blocks()) return *i;
  throw Error(Code::bad_argument, "state", "a state whose memory is in one piece", "one in blocks",
              "State::tensor() copies its elements");
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
      std::make_shared<State::Impl>(v.type.elem, std::move(shape), state.axis, capacity, state.block));
}

}  // namespace

void copy_growing(DataType type, const Shape& shape, int32_t axis, const GrowingMemory& from,
                  const GrowingMemory& to) {
  size_t row = static_cast<size_t>(bits_of(type)) / 8;  // bytes of one index along the axis
  for (size_t a = static_cast<size_t>(axis + 1); a < shape.size(); ++a) row *= static_cast<size_t>(shape[a]);
  if (axis < 0) return void(std::memcpy(to.data, from.data, row));
  const int64_t length = shape[static_cast<size_t>(axis)];
  int64_t outer = 1;
  for (int32_t a = 0; a < axis; ++a) outer *= shape[static_cast<size_t>(a)];
  // Returns where an index is, and how many follow it there.
  const auto at = [&](const GrowingMemory& m, int64_t o, int64_t i) {
    const int64_t rows = m.blocks ? m.blocks->rows : m.capacity, first = m.blocks ? i % rows : i;
    void* const data = m.blocks ? m.blocks->data[i / rows] : m.data;
    return std::pair(static_cast<char*>(data) + row * static_cast<size_t>(o * rows + first), rows - first);
  };
  for (int64_t o = 0; row > 0 && o < outer; ++o)
    for (int64_t i = 0; i < length;) {
      const auto [source, readable] = at(from, o, i);
      const auto [target, writable] = at(to, o, i);
      const int64_t n = std::min({readable, writable, length - i});
      std::memcpy(target, source, row * static_cast<size_t>(n));
      i += n;
    }
}

Tensor dense_copy(DataType type, const Shape& shape, int32_t axis, const GrowingMemory& from) {
  Tensor to(type, shape);
  if (to.size() > 0)
    copy_growing(type, shape, axis, from, {to.data(), axis < 0 ? 0 : shape[static_cast<size_t>(axis)]});
  return to;
}

State::Impl::Impl(DataType t, Shape s, int32_t a, int64_t most, int64_t block)
    : type(t), shape(std::move(s)), axis(a), capacity(a < 0 ? 0 : most) {
  const Shape whole = at_capacity(shape, axis, block > 0 ? block : capacity);
  reserved = bytes_for(type, static_cast<size_t>(checked_count(whole, type, "a state")));
  if (block > 0) {
    blocks.rows = block;
    return;
  }
  memory = reserve_pages(reserved);
  if (!memory)
    throw Error(Code::run_out_of_memory, "state", std::to_string(reserved) + " bytes of address space",
                "none left");
}

void State::Impl::take(const Tensor& t) {
  if (in_blocks()) {
    shape[static_cast<size_t>(axis)] = 0;
    drop_blocks_behind(0);
    reserve(t.dim(static_cast<size_t>(axis)));
  }
  shape = t.shape();
  if (t.size() > 0)
    copy_growing(type, shape, axis,
                 {const_cast<void*>(t.data()), axis < 0 ? 0 : shape[static_cast<size_t>(axis)]}, growing());
}

void State::Impl::reserve(int64_t length) {
  if (!in_blocks()) return;
  const auto make = [&] {
    void* const made = reserved > 0 ? std::aligned_alloc(64, (reserved + 63) / 64 * 64) : nullptr;
    if (reserved > 0 && !made)
      throw Error(Code::run_out_of_memory, "state", std::to_string(reserved) + " bytes for a block",
                  "none left");
    return std::shared_ptr<void>(made, std::free);
  };
  const int64_t rows = blocks.rows, now = shape[static_cast<size_t>(axis)];
  const auto written = static_cast<size_t>(now / rows),
             wanted = static_cast<size_t>((length + rows - 1) / rows);
  // What other owners did with blocks before they gave them up has happened once this one is the only owner.
  for (size_t i = written; i < owners.size(); ++i) {
    if (owners[i].use_count() == 1) continue;
    const bool begun = i == written && now % rows > 0;
    std::shared_ptr<void> own = make();
    if (begun) std::memcpy(own.get(), owners[i].get(), reserved);
    owners[i] = std::move(own);
    addresses[i] = owners[i].get();
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  while (owners.size() < wanted) {
    owners.push_back(make());
    addresses.push_back(owners.back().get());
  }
  blocks.data = addresses.data();
}

void State::Impl::drop_blocks_behind(int64_t length) {
  if (!in_blocks()) return;
  const auto kept = static_cast<size_t>((length + blocks.rows - 1) / blocks.rows);
  if (kept >= owners.size()) return;
  owners.resize(kept);
  addresses.resize(kept);
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
  auto made = std::make_shared<Impl>(i.type, i.shape, i.axis, i.capacity, i.blocks.rows);
  if (i.in_blocks()) {
    made->owners = i.owners;
    made->addresses = i.addresses;
    made->blocks.data = made->addresses.data();
    made->drop_blocks_behind(length());
  } else {
    copy_growing(i.type, i.shape, i.axis, i.growing(), made->growing());
  }
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
int64_t State::block() const { return checked(impl_).blocks.rows; }
Shape State::strides() const {
  const Impl& i = in_one_piece(impl_);
  return row_major(at_capacity(i.shape, i.axis, i.capacity));
}
void* State::data() const { return in_one_piece(impl_).memory.get(); }
uint64_t State::bytes() const {
  const Impl& i = checked(impl_);
  return i.in_blocks() ? i.reserved * i.owners.size()
                       : bytes_for(i.type, static_cast<size_t>(count_of(i.shape)));
}
Tensor State::tensor() const {
  const Impl& i = checked(impl_);
  return dense_copy(i.type, i.shape, i.axis, i.growing());
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
  impl_->drop_blocks_behind(length);
}

void State::clear() {
  const Impl& i = checked(impl_);
  if (i.axis >= 0) impl_->shape[static_cast<size_t>(i.axis)] = 0;
  if (i.in_blocks())
    impl_->drop_blocks_behind(0);
  else
    return_pages(i.memory.get(), i.reserved);
  impl_->changed_by_failed_run = false;
}

}  // namespace lathe
