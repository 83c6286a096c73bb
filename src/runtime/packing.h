// Packing constants for the kernels that will read them. First the jobs of all steps are collected; then all
// are packed at once, on all threads and into one piece of memory: thousands of small allocations would each
// begin on pages of their own, and none would be in huge pages.
#pragma once

#include <span>
#include <vector>

#include "base/file.h"
#include "lathe/run_control.h"
#include "runtime/program.h"
#include "runtime/read_buffer.h"

namespace lathe {

class Packing {
 public:
  /// Notes the packed forms that `kernel` makes of the constant inputs of its step. The new weights replace
  /// those that were packed for it before; they have type, shape and recipe, and elements after run().
  /// `kernel` and the weights that the step reads must stay until then. `stale`, by weight: if it is given,
  /// packed forms of other weights stay, since the kernel reads only the elements that it packs.
  void add(Plan& plan, const PlanGraph& graph, PlanStep& step, const Kernel& kernel,
           std::shared_ptr<const void> op, const std::vector<bool>* stale = nullptr);

  /// Packs everything. Pages of mapped files that were read for it are released, and so are, unless weights
  /// may be exchanged, folded arrays that no run reads (Weight::stored). Throws run_out_of_memory, cancelled,
  /// deadline, and what a kernel throws, with the node added.
  void run(Plan& plan, int threads, const std::shared_ptr<Executor>& executor, RunControl* control);

 private:
  struct Job {
    std::unique_ptr<StepQuery> query;
    const Kernel* kernel;
    std::shared_ptr<const void> op;
    uint32_t input, weight;
    std::string node, op_name;
    uint32_t from;            // the weight that is packed
    std::string arrangement;  // PackedForm's
  };
  /// Returns the job whose packed array is this one too; null if there is none.
  const Job* find_shared(const Plan& plan, uint32_t from, const PackedForm& form) const;
  uint32_t put(Plan& plan, Weight w, int64_t place);
  /// Copies of weights that are about to be packed: of unaligned ones, and of all if that takes less time
  /// than packing from the mapping.
  struct Copies {
    ReadBuffer buffer;
    bool pay;
  };
  static Copies copies_of(std::span<const size_t> sizes);
  static void pack(const Job& job, Tensor& to, Copies* copies, MappedPages& read, Workers& workers);
  /// Packs in the compact form, or into memory of its own if the elements do not allow that.
  static void make(const Job& job, Tensor& to, Workers& workers);
  /// Returns how many bytes they are together.
  uint64_t give_memory(Plan& plan) const;

  std::vector<Job> jobs_;
};

}  // namespace lathe
