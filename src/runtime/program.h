// A plan made ready to run: kernels found, attributes decoded, lifetimes known, constants where they are
// needed. Immutable, shared by all contexts of an engine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "runtime/extensions.h"
#include "runtime/growth.h"
#include "runtime/prepared_step.h"
#include "runtime/thread_pool.h"

namespace lathe {

struct ProgramStep {
  const PlanStep* plan = nullptr;
  const Kernel* kernel = nullptr;  // null: a copy between memory spaces
  const OpCodec* codec = nullptr;
  std::shared_ptr<const void> op;  // for the shape rule
  std::shared_ptr<const void>
      kernel_op;  // for the kernel: the same, unless it reads attributes in a way of its own
  MemorySpace memory = host_memory;
  std::unique_ptr<const CompiledEpilogue> epilogue;  // null: there is none in host memory
  std::shared_ptr<const PreparedStep> prepared;      // null: its kernel prepares nothing
  std::vector<const Tensor*> packed;                 // per input; empty when none is
  std::vector<Value> shells;   // per input: type and shape of what `packed` replaces, without data
  std::vector<uint32_t> ends;  // roots whose memory nobody needs after this step
};

struct ProgramGraph {
  const PlanGraph* plan = nullptr;
  std::vector<ProgramStep> steps;
  std::vector<uint32_t> root;           // whose memory a value has: itself, or what it is an alias of
  std::vector<uint32_t> captured;       // values with that role
  std::vector<const Value*> constants;  // per value; null for others
  std::vector<int32_t> output;          // per value: the first output of the graph that it is, or -1
  std::vector<int32_t> state;  // per value: the state that it is the new value of, or -1; empty: none
  /// Per output of the main graph: the input whose memory the output may be, since the step that makes it may
  /// write there and nothing reads the input afterwards, or -1.
  std::vector<int32_t> overwritten;
  bool may_overwrite(int32_t v) const {
    const int32_t o = v < 0 ? -1 : output[static_cast<size_t>(v)];
    return o >= 0 && !overwritten.empty() && overwritten[static_cast<size_t>(o)] >= 0;
  }
  bool is_body = false;
  /// How many results are kept: a body with inputs may be given its last results as the next inputs.
  size_t output_buffers() const { return is_body && !plan->inputs.empty() ? 2 : 1; }
};

/// How a run behaves, whatever the plan.
struct ProgramOptions {
  int threads = 1;
  std::shared_ptr<Executor> executor;
  bool flush_denormals = false;
  uint64_t memory_limit = 0;
};

class Program {
 public:
  /// Throws plan_malformed, plan_missing_kernel, plan_target, build_device_absent.
  Program(Plan plan, std::shared_ptr<const Extensions> extensions, const ProgramOptions& options);
  /// For other weights: with the threads, the extensions and the options of another one, and the arrays that
  /// its devices hold already. Throws as above.
  Program(const Program& before, Plan plan);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  const Plan& plan() const { return plan_; }
  const ProgramGraph& graph(size_t i) const { return graphs_[i]; }
  const Extensions& extensions() const { return *extensions_; }
  /// The device of a memory space of the plan; 0 is the host.
  Backend& device(MemorySpace space) const { return *devices_[space]; }
  size_t spaces() const { return devices_.size(); }
  ThreadPool& pool() const { return *pool_; }
  const ProgramOptions& options() const { return options_; }
  /// Bytes of stored arrays, in host and device memory.
  uint64_t weight_bytes() const { return weight_bytes_; }
  /// What grows with the states of the plan.
  const Growth& growth() const { return growth_; }

 private:
  void prepare();
  void prepare(ProgramGraph& g);
  ProgramStep prepare(const PlanGraph& g, const PlanStep& s) const;
  void check_tunables(const PlanGraph& g, const ProgramStep& step) const;
  void check_fit(const PlanGraph& g, const ProgramStep& step) const;
  bool appends_to_its_states(const PlanGraph& g, const ProgramStep& step) const;
  void check_packing(const PlanGraph& g, const ProgramStep& step) const;
  void find_ends(ProgramGraph& g) const;
  void find_overwritten(ProgramGraph& g) const;
  void prepare_devices(const Program* before);
  void prepare_kernels(size_t graph, const Program* before);
  std::vector<bool> replaced_constants(const ProgramGraph& g) const;
  void require_device_memory() const;
  void upload(ProgramGraph& g, const Program* before);
  std::shared_ptr<const Value> upload(const Tensor& t, MemorySpace space) const;

  Plan plan_;
  std::shared_ptr<const Extensions> extensions_;
  ProgramOptions options_;
  std::vector<Backend*> devices_;
  std::vector<ProgramGraph> graphs_;
  std::map<std::pair<int32_t, MemorySpace>, std::shared_ptr<const Value>> uploaded_;  // by weight
  std::map<int32_t, Value> without_data_;  // by weight: type and shape of constants that are not uploaded
  std::shared_ptr<ThreadPool> pool_;
  uint64_t weight_bytes_ = 0;
  Growth growth_;
};

/// The query that a kernel gets about a step: the types that the plan knows of its operands.
class StepQuery {
 public:
  StepQuery(const Plan& plan, const PlanGraph& graph, const PlanStep& step);
  const KernelQuery& kernel_query() const { return query_; }
  /// For queries that outlive the step.
  void forget_epilogue() { query_.epilogue = nullptr; }
  /// Replaces a constant input by the same constant at another address.
  void replace_constant(size_t input, const Tensor* t) { inputs_[input].constant = t; }

 private:
  std::vector<KernelQuery::Operand> inputs_, outputs_, epilogue_operands_;
  KernelQuery query_;
};

}  // namespace lathe
