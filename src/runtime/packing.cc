#include "runtime/packing.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/pages.h"
#include "plan/weight_use.h"
#include "runtime/memory.h"
#include "tensor/alignment.h"

namespace lathe {
namespace {

/// Smaller arrays are not released: to fold them again, or to bring back the pages around them for the next
/// one, would take longer than they are worth.
constexpr size_t small = size_t{1} << 16;
/// An array of at least so many bytes is packed by all threads together; smaller ones are packed side by
/// side.
constexpr size_t large = size_t{1} << 20;

/// Arrays that nobody reads once they are packed: folded ones, which can be folded again, and all where the
/// plan is not portable. They are released as early as possible, so that packed arrays reuse their memory.
class Passing {
 public:
  explicit Passing(Plan& plan) : plan_(plan), passes_(plan.weights.size(), false) {
    if (plan.refit) return;
    passes_ = plan.portable ? can_be_folded(plan) : std::vector<bool>(plan.weights.size(), true);
    for (size_t i = 0; i < passes_.size(); ++i) {
      const Value& v = plan.weights[i].value;
      if (!v.is_tensor() || v.tensor().type() == DataType::string || v.tensor().bytes() < small)
        passes_[i] = false;
    }
    each_read(plan, [&](const PlanStep*, size_t, uint32_t w) { passes_[w] = false; });
  }
  /// Notes that one more job reads the weight.
  void want(uint32_t weight) {
    if (passes_[weight]) ++waiting_[weight];
  }
  bool is_waited_for(uint32_t weight) const { return waiting_.contains(weight); }
  void packed(uint32_t weight) {
    const auto at = waiting_.find(weight);
    if (at == waiting_.end() || --at->second > 0) return;
    waiting_.erase(at);
    let_go(weight);
  }
  /// Releases all arrays that no job waits for.
  void let_go() {
    for (uint32_t i = 0; i < passes_.size(); ++i)
      if (!is_waited_for(i)) let_go(i);
  }

 private:
  void let_go(uint32_t weight) {
    Weight& w = plan_.weights[weight];
    if (!passes_[weight] || !w.stored) return;
    const Tensor form = w.value.tensor();
    const std::shared_ptr<void> zeros = zero_pages(form.bytes());
    if (!zeros) return;
    w.value = Tensor::view(form.type(), form.shape(), zeros.get(), zeros);
    w.stored = false;
  }

  Plan& plan_;
  std::vector<bool> passes_;
  std::map<uint32_t, size_t> waiting_;
};

/// The caller's thread alone, which looks whether it should stop.
class OneWorker final : public Workers {
 public:
  explicit OneWorker(RunControl* control) : control_(control) {}
  void parallel(int64_t n, int64_t, FunctionRef<void(int64_t, int64_t)> f) override {
    poll();
    if (n > 0) f(0, n);
  }
  void poll() override {
    if (control_) control_->check();
  }

 private:
  RunControl* control_;
};

/// The threads of a pool.
class PoolWorkers final : public Workers {
 public:
  PoolWorkers(ThreadPool& pool, RunControl* control) : pool_(pool), control_(control) {}
  void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) override {
    poll();
    if (n > 0) pool_.run(n, grain, false, f);
  }
  int threads() const override { return pool_.threads(); }
  void poll() override {
    ThreadPool::wake_if_late();
    if (control_) control_->check();
  }

 private:
  ThreadPool& pool_;
  RunControl* control_;
};

std::shared_ptr<void> pages_of(uint64_t bytes) {
  std::shared_ptr<void> memory(allocate_pages(bytes), std::free);
  if (!memory)
    throw Error(Code::run_out_of_memory, "build", std::to_string(bytes) + " bytes for packed weights",
                "none left", "give the process more memory");
  supply_small_pages(memory.get(), bytes);
  return memory;
}

Tensor in_own_pages(const PackedForm& form) {
  const auto count = static_cast<size_t>(checked_count(form.shape, form.type, "packed weights"));
  const std::shared_ptr<void> memory = pages_of(bytes_for(form.type, count));
  return Tensor::view(form.type, form.shape, memory.get(), memory);
}

}  // namespace

void Packing::add(Plan& plan, const PlanGraph& graph, PlanStep& step, const Kernel& kernel,
                  std::shared_ptr<const void> op, const std::vector<bool>* stale) {
  const std::vector<int32_t> before = std::exchange(step.packed, {});
  if (!kernel.packed_form) return;
  const StepQuery query(plan, graph, step);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!query.kernel_query().inputs[i].constant) continue;
    std::optional<PackedForm> form = kernel.packed_form(op.get(), query.kernel_query(), i);
    if (!form) continue;
    if (kernel.compact_form)
      if (auto compact = kernel.compact_form(op.get(), query.kernel_query(), i)) form = std::move(compact);
    const auto from = static_cast<uint32_t>(graph.values[static_cast<size_t>(step.inputs[i])].weight);
    if (stale && !(*stale)[from] && i < before.size() && before[i] >= 0) {
      step.packed.resize(step.inputs.size(), -1);
      step.packed[i] = before[i];
      continue;
    }
    if (!plan.weights[from].stored)
      throw Error(Code::plan_target, "load", "an array to pack for this machine",
                  "one that is not in the plan", "build the plan again with its portable section");
    checked_count(form->shape, form->type, "packed weights");
    if (const Job* shared = find_shared(plan, from, *form)) {
      step.packed.resize(step.inputs.size(), -1);
      step.packed[i] = static_cast<int32_t>(shared->weight);
      continue;
    }
    Weight w{plan.weights[from].name, {}, Tensor::view(form->type, std::move(form->shape), nullptr)};
    w.recipe.kind = WeightRecipe::Kind::pack;
    w.recipe.from = {from};
    w.recipe.op = step.op;
    w.recipe.domain = step.domain;
    w.recipe.kernel = kernel.name;
    w.recipe.attributes = step.attributes;
    w.recipe.output = static_cast<uint32_t>(i);
    step.packed.resize(step.inputs.size(), -1);
    step.packed[i] = static_cast<int32_t>(put(plan, std::move(w), i < before.size() ? before[i] : -1));
    auto query = std::make_unique<StepQuery>(plan, graph, step);
    query->forget_epilogue();
    jobs_.push_back({std::move(query), &kernel, op, static_cast<uint32_t>(i),
                     static_cast<uint32_t>(step.packed[i]), step.node, step.op, from,
                     std::move(form->arrangement)});
  }
}

const Packing::Job* Packing::find_shared(const Plan& plan, uint32_t from, const PackedForm& form) const {
  if (form.arrangement.empty()) return nullptr;
  const auto found = std::ranges::find_if(jobs_, [&](const Job& j) {
    const Tensor& made = plan.weights[j.weight].value.tensor();
    return j.from == from && j.arrangement == form.arrangement && made.type() == form.type &&
           made.shape() == form.shape;
  });
  return found == jobs_.end() ? nullptr : &*found;
}

/// In the place of a packed array, or else at the end. Plans come from files: two steps may name the same
/// place.
uint32_t Packing::put(Plan& plan, Weight w, int64_t place) {
  const bool free = place >= 0 &&
                    plan.weights[static_cast<size_t>(place)].recipe.kind == WeightRecipe::Kind::pack &&
                    std::ranges::none_of(jobs_, [&](const Job& j) { return j.weight == place; });
  if (!free) {
    plan.weights.push_back(std::move(w));
    return static_cast<uint32_t>(plan.weights.size() - 1);
  }
  plan.weights[static_cast<size_t>(place)] = std::move(w);
  return static_cast<uint32_t>(place);
}

/// All arrays are in one allocation, so that small ones are in huge pages too.
uint64_t Packing::give_memory(Plan& plan) const {
  uint64_t bytes = 0;
  const auto place = [&](const Job& j) {
    const uint64_t at = bytes;
    bytes = aligned_size(bytes + plan.weights[j.weight].value.tensor().bytes());
    return at;
  };
  std::vector<uint64_t> places;
  for (const Job& j : jobs_) places.push_back(place(j));
  const std::shared_ptr<void> memory = pages_of(bytes);
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Value& value = plan.weights[jobs_[i].weight].value;
    const Tensor form = value.tensor();
    value = Tensor::view(form.type(), form.shape(), static_cast<char*>(memory.get()) + places[i], memory);
  }
  return bytes;
}

/// Returns a buffer for copies of large weights of these sizes, and whether copying all of them pays.
Packing::Copies Packing::copies_of(std::span<const size_t> sizes) {
  constexpr size_t often = 8;
  size_t largest = 0, together = 0;
  for (const size_t n : sizes) {
    if (n > ReadBuffer::max_bytes) continue;
    largest = std::max(largest, n);
    together += n;
  }
  return {ReadBuffer(largest), together >= often * largest};
}

void Packing::make(const Job& job, Tensor& to, Workers& workers) {
  const KernelQuery& query = job.query->kernel_query();
  const Kernel& kernel = *job.kernel;
  if (kernel.compact_form && kernel.compact_form(job.op.get(), query, job.input)) {
    if (kernel.pack_compact(job.op.get(), query, job.input, to, workers)) return;
    to = in_own_pages(*kernel.packed_form(job.op.get(), query, job.input));
  }
  kernel.pack(job.op.get(), query, job.input, to, workers);
}

void Packing::pack(const Job& job, Tensor& to, Copies* copies, MappedPages& read, Workers& workers) {
  const Tensor& source = *job.query->kernel_query().inputs[job.input].constant;
  const bool odd = !is_aligned(source) && job.kernel->any_alignment != static_cast<int>(job.input);
  std::optional<Tensor> copy;
  if (copies && (odd || copies->pay)) copy = copies->buffer.copy(source, &workers);
  const bool from_mapping = !copy && source.bytes() >= small;
  if (odd && !copy) copy = source.clone();
  try {
    if (copy) job.query->replace_constant(job.input, &*copy);
    make(job, to, workers);
    if (copy) job.query->replace_constant(job.input, &source);
  } catch (const Error& e) {
    throw e.at("build", job.node, job.op_name);
  }
  if (from_mapping) read.drop_soon(source.data(), source.bytes());
}

void Packing::run(Plan& plan, int threads, const std::shared_ptr<Executor>& executor, RunControl* control) {
  const auto to = [&](const Job& j) -> Tensor& { return plan.weights[j.weight].value.tensor(); };
  const auto from = [](const Job& j) { return j.from; };
  Passing passing(plan);
  for (const Job& j : jobs_) passing.want(from(j));
  passing.let_go();
  if (jobs_.empty()) return;
  const uint64_t bytes = give_memory(plan);
  const auto small_ones =
      std::partition(jobs_.begin(), jobs_.end(), [&](const Job& j) { return to(j).bytes() >= large; });
  // Jobs after which memory is released come first, and of the others the largest, whose mapped pages are
  // then released before others are read.
  std::stable_sort(jobs_.begin(), small_ones, [&](const Job& a, const Job& b) {
    const auto rank = [&](const Job& j) { return std::pair(passing.is_waited_for(from(j)), to(j).bytes()); };
    return rank(a) > rank(b);
  });
  std::vector<size_t> sizes;
  for (auto j = jobs_.begin(); j != small_ones; ++j)
    sizes.push_back(plan.weights[from(*j)].value.tensor().bytes());
  Copies copies = copies_of(sizes);
  MappedPages read;
  const auto pack_large = [&](Workers& workers) {
    for (auto j = jobs_.begin(); j != small_ones; ++j) {
      pack(*j, to(*j), &copies, read, workers);
      passing.packed(from(*j));
    }
  };
  OneWorker one(control);
  const auto pack_small = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) pack(small_ones[i], to(small_ones[i]), nullptr, read, one);
  };
  const int64_t small_jobs = jobs_.end() - small_ones;
  if ((threads > 1 || executor) && bytes >= large) {  // else it is done before the threads have started
    ThreadPool pool(threads, executor);
    PoolWorkers all(pool, control);
    pack_large(all);
    if (small_jobs > 0) pool.run(small_jobs, 1, false, pack_small);
  } else {
    pack_large(one);
    pack_small(0, small_jobs);
  }
  for (auto j = small_ones; j != jobs_.end(); ++j) passing.packed(from(*j));
  jobs_.clear();
}

}  // namespace lathe
