// Every fast kernel of every instruction set against the reference kernel of its operator. Workspace is
// exactly what was announced, and what lies around outputs and workspace stays as it was.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "ops/cases.h"

namespace lathe::test {

/// What the reference makes of a case.
std::vector<Value> run_reference(const OpCase& k);
/// Runs one kernel on a case whose results have the types and shapes of `want`; false when it refused. `e`
/// makes the epilogue for the elements of output 0, which are float32 then.
bool run_kernel(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want, int threads,
                std::vector<Value>* results, const Tunables& tunables = {},
                const std::function<Epilogue*(std::span<float>)>& e = {});
/// All that it can be told for a case; nothing comes first. Empty when it refused.
std::vector<Tunables> tunables_of(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want);
/// Can this machine run it?
bool usable(const Kernel& k);

/// Holds all kernels that take the case against the reference, with an epilogue too where they call one;
/// their names.
std::set<std::string> check(const OpCase& k);
/// The same for a case that some kernel of every instruction set must take.
void must(const OpCase& k);

}  // namespace lathe::test
