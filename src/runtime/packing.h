// Packing constants for the kernels that will read them. First every step says what it wants; then all of it
// is packed at once, on all threads and into one piece of memory: thousands of small allocations would each
// begin on pages of their own, and none would lie in huge pages.
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
  /// Notes what `kernel` makes of the constant inputs of its step. The new weights take the place of what was
  /// packed for it before; they have type, shape and recipe, and elements once all is run. `kernel` and the
  /// weights that the step reads must stay until then. `stale`, by weight: where it is given, what the kernel
  /// has packed of other weights stays, since it looks at no elements but those that it packs.
  void add(Plan& plan, const PlanGraph& graph, PlanStep& step, const Kernel& kernel,
           std::shared_ptr<const void> op, const std::vector<bool>* stale = nullptr);

  /// Does it. Pages of mapped files that were read for it are let go, and so is, unless weights may be
  /// exchanged, what was folded for it and no run reads (Weight::stored). Throws run_out_of_memory,
  /// cancelled, deadline, and what a kernel throws, told the node.
  void run(Plan& plan, int threads, const std::shared_ptr<Executor>& executor, RunControl* control);

 private:
  struct Job {
    std::unique_ptr<StepRequest> question;
    const Kernel* kernel;
    std::shared_ptr<const void> op;
    uint32_t input, weight;
    std::string node, op_name;
  };
  uint32_t put(Plan& plan, Weight w, int64_t place);
  /// Copies of weights on the way to be packed: of those at odd addresses, and of all where that takes less
  /// time than packing from the mapping.
  struct Copies {
    ReadBuffer buffer;
    bool pay;
  };
  static Copies copies_of(std::span<const size_t> sizes);
  static void pack(const Job& job, Tensor& to, Copies* copies, MappedPages& read, Workers& workers);
  /// In its compact form, or in memory of its own where what it holds does not allow that.
  static void make(const Job& job, Tensor& to, Workers& workers);
  /// Returns how many bytes they are together.
  uint64_t give_memory(Plan& plan) const;

  std::vector<Job> jobs_;
};

}  // namespace lathe
