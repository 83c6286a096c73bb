// The memory of a frame: its cached memory plans, the memory that it takes for a run, and its outputs.
#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/body_frame.h"

namespace lathe {
namespace {

bool overlaps(const Tensor& a, const Tensor& b) {
  const auto *x = static_cast<const char*>(a.data()), *y = static_cast<const char*>(b.data());
  return x < y + b.bytes() && y < x + a.bytes();
}

}  // namespace

void copy_elements(const Tensor& from, Tensor& to) {
  if (from.type() == DataType::string)
    std::ranges::copy(from.as<std::string>(), to.as<std::string>().begin());
  else if (from.bytes() > 0)
    std::memmove(to.data(), from.data(), from.bytes());  // bound memory may overlap an input
}

void Frame::make_key(std::span<const Value> inputs) {
  key_.clear();
  for (const Value& v : inputs) append_to_key(key_, v);
  for (uint32_t outer : captured_from_) append_to_key(key_, parent_->value(outer));
  if (parent_ || state_.program.growth().empty()) return;
  exact_ = key_;
  round_key(state_.program, key_, sizes_);
}

MemoryPlan& Frame::find_memory_plan() {
  ++clock_;
  MemoryPlan* oldest = nullptr;
  for (auto& l : memory_plans_) {
    if (l->key == key_) {
      l->last_used = clock_;
      return *l;
    }
    if (!oldest || l->last_used < oldest->last_used) oldest = l.get();
  }
  bound_ = nullptr;
  MemoryPlan made = plan_run(state_.program, index_, key_, exact_);
  // Smaller sizes may leave larger gaps; then values are placed as for the largest sizes.
  if (reserved_ && !made.fits_in(reserved_->peak))
    if (MemoryPlan without_reuse = plan_run(state_.program, index_, key_, exact_, true);
        without_reuse.place_as(reserved_->peak))
      made = std::move(without_reuse);
  made.last_used = clock_;
  if (memory_plans_.size() < kept_memory_plans)
    oldest = memory_plans_.emplace_back(std::make_unique<MemoryPlan>(std::move(made))).get();
  else
    *oldest = std::move(made);
  return *oldest;
}

void Frame::prepare(ShapeKey key) {
  key_ = std::move(key);
  const MemoryPlan& l = find_memory_plan();
  for (size_t s = 0; s < arenas_.size(); ++s) arenas_[s].ensure(l.arena[s]);
  main_.workspace.ensure(l.workspace);
  main_.scratch.reserve(l.scratch);
  prepare_lanes(l.lanes);
  ensure_device_workspaces(l.device_workspace);
}

void Frame::reserve(ProfileReserve reserve) {
  for (size_t s = 0; s < arenas_.size(); ++s) arenas_[s].ensure(reserve.peak.arena[s]);
  main_.workspace.ensure(reserve.peak.workspace);
  main_.scratch.reserve(reserve.peak.scratch);
  prepare_lanes(reserve.peak.lanes);
  ensure_device_workspaces(reserve.peak.device_workspace);
  for (Buffer& b : output_buffers_) b.ensure(reserve.peak.output_bytes);
  if (!reserved_ || !reserve.peak.fits_in(reserved_->peak)) reserved_ = std::move(reserve);
  memory_plans_.clear();
  memory_plan_ = nullptr;
  bound_ = nullptr;
}

MemoryPlan& Frame::memory_plan_for(std::span<const Value> inputs) {
  make_key(inputs);
  return find_memory_plan();
}

/// Memory that is kept for larger shapes must not be a reason to refuse smaller ones. Allocations during a
/// run cannot release idle memory, so it is released beforehand.
void Frame::ensure_memory(std::span<const Value> inputs) {
  if (key_ == ran_) return;
  if (!reserved_ && takes_memory_as_it_runs()) release_idle(inputs);
  ran_ = key_;
}

bool Frame::takes_memory_as_it_runs() const {
  return memory_plan_->decided_by_runs || std::ranges::any_of(graph_.steps, [](const ProgramStep& s) {
           return !s.plan->bodies.empty() || (s.kernel && s.kernel->backend == "reference");
         });
}

void Frame::prepare_memory(std::span<const Value> inputs, std::span<const Tensor> bound) {
  if (parent_ || !state_.account.is_limited()) return take_memory(inputs, bound);
  try {
    take_memory(inputs, bound);
  } catch (const Error& e) {
    if (e.code() != Code::run_memory_limit) throw;
    release_idle(inputs);
    take_memory(inputs, bound);
  }
}

// Bound memory is written as the run goes, unless it overlaps an input that may still be read when the output
// is made.
void Frame::take_memory(std::span<const Value> inputs, std::span<const Tensor> bound) {
  for (size_t s = 0; s < arenas_.size(); ++s) {
    const char* const before = arenas_[s].data();
    arenas_[s].ensure(memory_plan_->arena[s]);
    if (arenas_[s].data() != before) bound_ = nullptr;
  }
  main_.workspace.ensure(memory_plan_->workspace);
  main_.scratch.reserve(memory_plan_->scratch);
  prepare_lanes(memory_plan_->lanes);
  ensure_device_workspaces(memory_plan_->device_workspace);
  bool buffer_needed = false;
  for (size_t i = 0; i < output_memory_.size(); ++i) {
    output_memory_[i] = nullptr;
    written_directly_[i] = nullptr;
    const Slot& slot = memory_plan_->slots[graph_.plan->outputs[i]];
    if (i < bound.size() && bound[i].defined()) {
      if (slot.known) check_bound(i, bound[i], slot.type, slot.shape);
      if (is_free(i, bound[i], inputs)) {
        written_directly_[i] = &bound[i];
        if (slot.known) output_memory_[i] = static_cast<char*>(const_cast<void*>(bound[i].data()));
      }
    }
    buffer_needed |= !output_memory_[i] && memory_plan_->outputs[i].bytes > 0;
  }
  Buffer& buffer = output_buffers_[buffer_index_];
  if (buffer_needed) buffer.ensure(memory_plan_->output_bytes);
  for (size_t i = 0; i < output_memory_.size(); ++i)
    if (!output_memory_[i]) output_memory_[i] = buffer.data() + memory_plan_->outputs[i].offset;
}

/// Returns whether an output may be made in the memory that it is bound to: that of no input, or of the one
/// that its step may overwrite.
bool Frame::is_free(size_t output, const Tensor& bound, std::span<const Value> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || !overlaps(inputs[i].tensor(), bound)) continue;
    const bool may_overwrite =
        !graph_.overwritten.empty() && graph_.overwritten[output] == static_cast<int32_t>(i);
    const Tensor& in = inputs[i].tensor();
    if (!may_overwrite || in.data() != bound.data() || !(in.shape() == bound.shape())) return false;
  }
  return true;
}

void Frame::prepare_lanes(std::span<const size_t> workspaces) {
  while (lanes_.size() < workspaces.size()) {
    lanes_.push_back(std::make_unique<Lane>(state_.account));
    lanes_.back()->ready.resize(main_.ready.size());
  }
  for (size_t i = 0; i < workspaces.size(); ++i) lanes_[i]->workspace.ensure(workspaces[i]);
  if (times_.empty() && !workspaces.empty()) times_.resize(graph_.steps.size());
}

void Frame::ensure_device_workspaces(std::span<const size_t> bytes) {
  for (size_t space = 1; space < bytes.size(); ++space)
    if (bytes[space] > 0) device_workspace(static_cast<MemorySpace>(space), bytes[space]);
}

/// Work that is queued may use the memory that is replaced by more.
void* Frame::device_workspace(MemorySpace space, size_t bytes) {
  while (device_workspaces_.size() <= space)
    device_workspaces_.emplace_back(
        state_.program.device(static_cast<MemorySpace>(device_workspaces_.size())), state_.account);
  Buffer& buffer = device_workspaces_[space];
  if (bytes > buffer.bytes() && buffer.bytes() > 0) state_.queues[space]->wait();
  buffer.ensure(aligned_size(bytes));
  return buffer.data();
}

void Frame::check_bound(size_t i, const Tensor& bound, DataType type, const Shape& shape) const {
  if (bound.type() == type && bound.shape() == shape) return;
  throw Error(Code::run_bad_shape, "run", std::string(name_of(type)) + describe(shape), describe(bound),
              "bind memory of the shape that this run gives the output")
      .at("run", graph_.plan->values[graph_.plan->outputs[i]].name, "");
}

Tensor& Frame::bind(uint32_t v, DataType type, const Shape& shape) {
  if (!values_[v].is_tensor()) values_[v] = Tensor();
  Tensor& t = values_[v].tensor();
  if (type == DataType::string) {
    const auto count = static_cast<uint64_t>(count_of(shape));
    state_.account.require(count > UINT64_MAX / sizeof(std::string) ? UINT64_MAX
                                                                    : count * sizeof(std::string));
    t = Tensor(type, shape);
    return t;
  }
  const Slot& slot = memory_plan_->slots[v];
  const MemorySpace space = graph_.plan->values[v].memory;
  const size_t bytes = bytes_for(type, static_cast<size_t>(count_of(shape)));
  void* data = nullptr;
  // What a rounded length bounds lies where the memory plan says, unless it is greater after all.
  const bool fits = slot.known || bytes <= slot.bytes();
  if (slot.place == Slot::Place::arena && fits) {
    data = arenas_[space].data() + slot.offset;
  } else if (slot.place == Slot::Place::state) {
    const auto state = static_cast<size_t>(graph_.state[v]);
    make_room_in_state(state, shape);
    data = state_.states[state].state->address();
  } else if (slot.place == Slot::Place::output && fits) {
    data = output_memory_[static_cast<size_t>(graph_.output[slot.home])] + slot.offset;
  } else if (slot.place == Slot::Place::alias && value(slot.home).is_tensor()) {
    const Tensor& home = value(slot.home).tensor();
    if (bytes > home.bytes() || slot.offset > home.bytes() - bytes)
      throw Error(Code::internal, "run", "an alias within " + describe(home),
                  std::to_string(bytes) + " bytes from " + std::to_string(slot.offset) + " on");
    data = static_cast<char*>(const_cast<void*>(home.data())) + slot.offset;
  } else if (const Tensor* const bound = directly(v);
             bound && bound->type() == type && bound->shape() == shape) {
    data = const_cast<void*>(bound->data());
  } else {
    if (!blocks_[v].data) ++live_blocks_;
    if (blocks_[v].bytes < bytes || !blocks_[v].data) {
      if (blocks_[v].data) state_.blocks[space].give(std::exchange(blocks_[v], {}));
      blocks_[v] = state_.blocks[space].take(bytes);
    }
    data = blocks_[v].data;
  }
  t.rebind(type, shape, data);
  return t;
}

/// Refuses the shape of a new value that its state has no memory for, and takes the blocks that it needs.
void Frame::make_room_in_state(size_t state, const Shape& shape) const {
  const StateMemory& s = state_.states[state];
  const int32_t axis = state_.program.plan().states[state].axis;
  const std::string& name =
      graph_.plan->values[graph_.plan->outputs[state_.program.plan().states[state].output]].name;
  bool same = shape.size() == s.shape.size();
  for (size_t a = 0; same && a < shape.size(); ++a)
    same = shape[a] == s.shape[a] || static_cast<int32_t>(a) == axis;
  if (!same)
    throw Error(
        Code::run_bad_shape, "run", "a state of shape " + describe(s.shape), describe(shape),
        axis < 0 ? "this state keeps its shape" : "this state grows along axis " + std::to_string(axis))
        .at("run", name, "");
  const int64_t capacity = s.state->capacity;
  if (axis >= 0 && shape[static_cast<size_t>(axis)] > capacity)
    throw Error(Code::run_state_full, "run",
                "at most " + std::to_string(capacity) + " along axis " + std::to_string(axis),
                std::to_string(shape[static_cast<size_t>(axis)]),
                "make states of a greater capacity, or rewind this one")
        .at("run", name, "");
  if (axis >= 0) s.state->reserve(shape[static_cast<size_t>(axis)]);
}

void Frame::release(Block& b, MemorySpace space) {
  if (!b.data) return;
  state_.blocks[space].give(std::exchange(b, {}));
  if (live_blocks_ > 0) --live_blocks_;
}

/// Releases the blocks that a failed run left behind.
void Frame::release_blocks() {
  if (live_blocks_ == 0) return;
  for (size_t v = 0; v < blocks_.size(); ++v) release(blocks_[v], graph_.plan->values[v].memory);
}

void Frame::finish(std::span<const Tensor> bound) {
  // Inputs that pass through first: memory that another output is bound to may overlap them.
  for (const bool passing : {true, false})
    for (size_t i = 0; i < output_memory_.size(); ++i)
      if (passing == (graph_.plan->values[graph_.plan->outputs[i]].role == ValueRole::input))
        finish_output(i, i < bound.size() && bound[i].defined() ? &bound[i] : nullptr);
  // References to the caller's inputs are dropped.
  for (uint32_t v : graph_.plan->inputs)
    if (!values_[v].is_tensor() || values_[v].tensor().owns()) values_[v] = Value();
}

void Frame::finish_output(size_t i, const Tensor* bound) {
  const uint32_t v = graph_.plan->outputs[i];
  const Value& made = value(v);
  if (!parent_ && graph_.plan->values[v].state >= 0) return finish_state(i);
  Value& result = results_[buffer_index_][i];
  const Slot& slot = memory_plan_->slots[v];
  if (bound) {
    if (!made.is_tensor())
      throw Error(Code::run_bad_input, "run", "a tensor to be bound", describe(made))
          .at("run", graph_.plan->values[v].name, "");
    check_bound(i, *bound, made.tensor().type(), made.tensor().shape());
    result = *bound;
    if (made.tensor().data() != bound->data()) copy_elements(made.tensor(), result.tensor());
  } else if (graph_.is_body && graph_.plan->values[v].role == ValueRole::input) {
    if (slot.known && memory_plan_->outputs[i].bytes > 0) {
      if (!result.is_tensor()) result = Tensor();
      result.tensor().rebind(slot.type, slot.shape, output_memory_[i]);
      copy_elements(made.tensor(), result.tensor());
    } else {
      result = owned(made);
    }
  } else {
    result = made;
    if (blocks_[v].data) {
      kept_[buffer_index_][i] = std::exchange(blocks_[v], {});
    }
  }
}

/// Notes the shape of a new state, and copies it where it was not made in the state's memory.
void Frame::finish_state(size_t i) {
  const uint32_t v = graph_.plan->outputs[i];
  const auto state = static_cast<size_t>(graph_.plan->values[v].state);
  const Tensor& made = value(v).tensor();
  StateMemory& s = state_.states[state];
  if (made.data() != s.state->address()) {
    make_room_in_state(state, made.shape());
    copy_growing(made.type(), made.shape(), -1, {const_cast<void*>(made.data())}, s.memory());
  }
  s.shape = made.shape();
}

void Frame::release_idle(std::span<const Value> inputs) {
  const auto is_read = [&](const void* from, size_t bytes) {
    return std::ranges::any_of(inputs, [&](const Value& v) {
      const auto* const at = v.is_tensor() ? static_cast<const char*>(v.tensor().data()) : nullptr;
      return at && at >= from && at < static_cast<const char*>(from) + bytes;
    });
  };
  release_blocks();
  for (auto& buffers : kept_)
    for (Block& b : buffers)
      if (!is_read(b.data, b.bytes)) release(b, host_memory);
  for (auto& buffers : results_)
    for (Value& v : buffers) v = Value();
  for (Buffer& b : arenas_) b.release();
  for (Buffer& b : device_workspaces_) b.release();
  for (Buffer& b : output_buffers_)
    if (!is_read(b.data(), b.bytes())) b.release();
  main_.release();
  for (auto& lane : lanes_) lane->release();
  for (auto& step : bodies_)
    for (auto& b : step)
      if (b) b->trim();
  for (BlockCache& b : state_.blocks) b.trim();
}

void Frame::trim() {
  release_idle({});
  bound_ = nullptr;
  memory_plans_.clear();
  memory_plan_ = nullptr;
  reserved_.reset();
}

}  // namespace lathe
