// Plans as files: a header, the stored arrays each at a multiple of 64 bytes, and the structure as a
// FlatBuffer.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "lathe/error.h"
#include "plan/plan.h"

namespace lathe {

class RunControl;

/// Changes when older readers could misread the file.
inline constexpr uint32_t plan_version = 16;

/// Writes beside the target and renames: no half-written file is ever seen. Of the arrays those are stored
/// that runs read; what packed ones were made of, where the plan is portable; and what others were folded
/// from, where weights may be exchanged. Throws file_write_failed.
void save_plan(const Plan& plan, const std::filesystem::path& path);

/// The bytes of that file.
std::vector<std::byte> bytes_of(const Plan& plan);

/// Maps the file; tensors are views of the mapping, nothing is copied (`untrusted`: reads it into memory
/// instead, so that what happens to the file afterwards does not matter). The structure is checked (checksum,
/// FlatBuffers verifier, indices) before it is used; the arrays' contents are not read. Throws
/// plan_malformed, plan_version, and what opening a file throws.
Plan load_plan(const std::filesystem::path& path, bool untrusted = false);

/// A plan from the bytes of a file, which are copied. Throws as load_plan does.
Plan plan_from_bytes(std::span<const std::byte> bytes);

/// Reads all arrays of a plan that was loaded from `path`, and names (plan_damaged) those that do not match
/// their checksums. Throws cancelled, deadline.
std::vector<Diagnostic> damaged_arrays(const Plan& plan, const std::filesystem::path& path,
                                       RunControl* control = nullptr);

}  // namespace lathe
