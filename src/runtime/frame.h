// Executes one graph of a program: the main one of a context, or a body inside a step. A frame keeps its
// memory between runs, so that a run with shapes it has seen allocates nothing. Steps are executed in
// frame.cc; where values lie is in frame_memory.cc.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ticks.h"
#include "lathe/run_control.h"
#include "lathe/step_info.h"
#include "runtime/memory.h"
#include "runtime/memory_plan.h"
#include "runtime/profile_reserve.h"
#include "runtime/profiler.h"
#include "runtime/scratch.h"
#include "runtime/state_impl.h"

namespace lathe {

/// A state in one run.
struct StateMemory {
  State::Impl* state = nullptr;
  Shape shape;  // before the run; after it, that of the new value
  GrowingMemory memory() const { return state->growing(); }
};

/// The state that all frames of a context share. Used by one thread.
struct RunState {
  explicit RunState(const Program& p) : program(p), account(p.options().memory_limit) {
    for (size_t s = 0; s < p.spaces(); ++s) {
      blocks.emplace_back(p.device(static_cast<MemorySpace>(s)), account);
      queues.push_back(s == host_memory ? nullptr : queue_of(p.device(static_cast<MemorySpace>(s))));
    }
    account.on_shortage([this] {
      for (BlockCache& b : blocks) b.trim();
    });
  }
  const Program& program;
  MemoryAccount account;
  std::vector<BlockCache> blocks;              // by memory space
  std::vector<std::unique_ptr<Queue>> queues;  // by memory space; none for the host
  std::vector<StateMemory> states;             // by state of the plan: those of this run
  RunControl* control = nullptr;
  std::function<void(std::string_view, const Value&)> tap;
  std::function<void(const StepRun&)> step_listener;
  std::unique_ptr<Profiler> profiler;  // null until there is something to record
  bool profiling = false;              // has it been started?
  bool recording = false;              // does it record this run?
  const TickClock* clock = nullptr;    // there when steps are timed
  uint64_t in_bodies = 0;              // ticks: of the step that is timed, what its bodies' steps took

  bool timed() const { return recording || step_listener; }

  void poll() const {
    if (control) control->check();
  }
  /// Called after a failure: waits until devices have finished, so that their memory can be reused.
  void drain() noexcept {
    for (auto& q : queues) {
      try {
        if (q) q->wait();
      } catch (const std::exception&) {  // the run has failed already, and says why
      }
    }
  }
};

/// The memory and state of one thread that runs steps.
struct Lane {
  explicit Lane(MemoryAccount& account) : workspace(host_backend(), account), scratch(account) {}
  void release() noexcept {
    workspace.release();
    scratch.release();
  }
  Buffer workspace;
  Scratch scratch;
  std::vector<bool> ready;   // by output of the step that runs: does it have memory?
  std::exception_ptr error;  // why it stopped
  uint32_t failed = 0;       // at which step
};

/// Strings too; their memory may overlap.
void copy_elements(const Tensor& from, Tensor& to);

class StepContext;
class BodyFrame;

class Frame {
 public:
  /// `parent`: of a body, the frame it captures from.
  Frame(RunState& state, size_t graph, const PlanBody* body, Frame* parent);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Runs with inputs by position. `bound`: by output, memory of the caller to be used if it is defined;
  /// empty: none. `found`: what memory_plan_for gave for these inputs just before; null: it is looked up.
  /// Throws Error with the node; the frame can run again.
  void run(std::span<const Value> inputs, std::span<const Tensor> bound, MemoryPlan* found = nullptr);
  /// Returns an output after a run; valid until the next run (of a body: until the end of the next).
  const Value& output(size_t i) const { return results_[buffer_index_][i]; }
  /// Returns the memory plan for these inputs: from the last few that are cached, else made now.
  MemoryPlan& memory_plan_for(std::span<const Value> inputs);
  /// Called between runs: releases all memory except that of `inputs`. Memory plans stay.
  void release_idle(std::span<const Value> inputs);
  /// Takes the memory now that runs with these shapes need, outputs apart. Throws as runs do.
  void prepare(ShapeKey key);
  /// Takes the memory now that runs of a profile need. Throws run_memory_limit, run_out_of_memory.
  void reserve(ProfileReserve reserve);
  void trim();
  /// Bytes of the heap that a frame of this graph keeps, memory plans and bodies apart.
  static size_t records(const ProgramGraph& graph);

 private:
  friend class StepContext;
  friend class BodyFrame;
  using Block = BlockCache::Block;

  MemoryPlan& find_memory_plan();
  void make_key(std::span<const Value> inputs);
  void ensure_memory(std::span<const Value> inputs);
  bool takes_memory_as_it_runs() const;
  void prepare_memory(std::span<const Value> inputs, std::span<const Tensor> bound);
  void take_memory(std::span<const Value> inputs, std::span<const Tensor> bound);
  void prepare_lanes(std::span<const size_t> workspaces);
  void ensure_device_workspaces(std::span<const size_t> bytes);
  void* device_workspace(MemorySpace space, size_t bytes);
  void check_bound(size_t i, const Tensor& bound, DataType type, const Shape& shape) const;
  void execute();
  void execute_timed();
  void execute(size_t step);
  void execute(const Branches& branches);
  void run_lane(const std::vector<uint32_t>& steps, Lane& lane);
  void compute(size_t step, Lane& lane, bool alone);
  void report_taps(const ProgramStep& s);
  void record_time(size_t step, uint64_t start, uint64_t end);
  void count_costs();
  void count_cost_of_run(size_t step);
  void run_kernel(size_t step, Lane& lane, bool alone);
  void copy_between_spaces(const ProgramStep& s);
  void end_step(const ProgramStep& s);
  void finish(std::span<const Tensor> bound);
  void finish_output(size_t i, const Tensor* bound);
  void finish_state(size_t i);
  void make_room_in_state(size_t state, const Shape& shape) const;
  void release(Block& b, MemorySpace space);
  void release_blocks();
  bool tapped() const { return !taps_.empty() && state_.tap; }
  void report_tap(uint32_t v);

  const Value& value(uint32_t v) const { return graph_.constants[v] ? *graph_.constants[v] : values_[v]; }
  void infer(const ProgramStep& s, std::vector<bool>& ready);
  /// Memory for the outputs whose shapes the memory plan knows; false where there are others.
  bool bind_outputs(const ProgramStep& s, std::vector<bool>& ready);
  Shape shape_now(uint32_t v) const;
  bool is_free(size_t output, const Tensor& bound, std::span<const Value> inputs) const;
  const Tensor* directly(uint32_t v) const {
    const int32_t o = graph_.output[v];
    return o < 0 ? nullptr : written_directly_[static_cast<size_t>(o)];
  }
  /// Throws run_bad_shape where an operand of the epilogue behind a device's kernel cannot be broadcast to
  /// its output.
  void check_epilogue(const ProgramStep& s, const Shape& output) const;
  /// The epilogue of a step whose output has memory.
  StepEpilogue& bind_epilogue(size_t step);
  /// Points a value at its memory for this shape; allocates where the memory plan could not.
  Tensor& bind(uint32_t v, DataType type, const Shape& shape);
  KernelBody& body(size_t step, size_t i);

  RunState& state_;
  size_t index_;  // of the graph in the program
  const ProgramGraph& graph_;
  Frame* parent_;
  std::vector<uint32_t> captured_from_;  // by captured value: its id in the parent
  std::vector<Value> values_;
  std::vector<Block> blocks_;                         // by value: what the run allocated for it
  std::vector<Buffer> arenas_;                        // by memory space
  std::vector<Buffer> device_workspaces_;             // by memory space, unless the graph runs in host memory
  Lane main_;                                         // of the thread that runs the frame
  std::vector<std::unique_ptr<Lane>> lanes_;          // of branches
  std::vector<std::pair<uint64_t, uint64_t>> times_;  // by step of branches: ticks when it began and ended
  std::vector<Buffer> output_buffers_;                // by generation: a body's results outlive its next run
  std::vector<std::vector<Block>> kept_;              // by generation and output
  std::vector<std::vector<Value>> results_;           // by generation and output
  size_t buffer_index_ = 0;
  std::vector<char*> output_memory_;  // by output, for this run
  /// By output, for this run: memory that it is bound to and that it may be made in, if it has this shape.
  std::vector<const Tensor*> written_directly_;
  std::vector<std::unique_ptr<MemoryPlan>> memory_plans_;
  MemoryPlan* memory_plan_ = nullptr;
  /// The memory plan of the previous run, if that succeeded and nothing has moved since. Values in the arena
  /// are then bound already; for small steps, binding takes longer than computing.
  const MemoryPlan* bound_ = nullptr;
  bool rebinding_ = true;                                 // in this run
  std::vector<std::unique_ptr<StepEpilogue>> epilogues_;  // by step, made when first wanted
  std::optional<ProfileReserve> reserved_;
  StepCost cost_of_run_;  // of the step that ran last, where the memory plan does not know it
  uint64_t clock_ = 0, live_blocks_ = 0;
  ShapeKey key_, ran_;                                           // ran_: of the last run under a limit
  ShapeKey exact_;                                               // key_ before its lengths are rounded up
  std::vector<std::vector<std::unique_ptr<BodyFrame>>> bodies_;  // by step and body, made on first use
  std::vector<Fact<int64_t>> in_facts_, out_facts_;
  Growth::Sizes sizes_;                              // of the symbols in this run, if states have lengths
  std::vector<std::vector<std::string_view>> taps_;  // by value; empty where none are wanted, of none
};

}  // namespace lathe
