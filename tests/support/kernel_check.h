// Compares every fast kernel of every instruction set with the reference kernel of its operator. Workspace is
// exactly what was announced, and memory around outputs and workspace must not change.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "ops/cases.h"

namespace lathe::test {

/// Returns the results of the reference for a case.
std::vector<Value> run_reference(const OpCase& k);
/// Runs one kernel on a case whose results have the types and shapes of `want`; false if it refused. `e`
/// makes the epilogue for the elements of output 0, which are float32 then.
bool run_kernel(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want, int threads,
                std::vector<Value>* results, const Tunables& tunables = {},
                const std::function<Epilogue*(std::span<float>)>& e = {});
/// Returns all tunables of the kernel for a case; the first are empty. Nothing if it refused.
std::vector<Tunables> tunables_of(const Kernel& kernel, const OpCase& k, const std::vector<Value>& want);
/// Returns whether this machine can run the kernel.
bool usable(const Kernel& k);

/// Compares all kernels that take the case with the reference, with an epilogue too if they call one; returns
/// their names.
std::set<std::string> check(const OpCase& k);
/// The same for a case that some kernel of every instruction set must take.
void must(const OpCase& k);

}  // namespace lathe::test
