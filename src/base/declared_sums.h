// Sizes that a model declares of its inputs as expressions over others: "past + seq". Exporters write them,
// nothing checks them, and there are models that run with other sizes than declared. So nothing may rely on
// them: in graphs and plans such a size is a symbol of its own, with the expression as its name, and a run
// requires that all its occurrences have one size. The expression itself is used only to make inputs, and in
// messages.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lathe/dim.h"

namespace lathe {

/// Expressions by the names of symbols, which are their texts.
using DeclaredSums = std::map<std::string, Dim, std::less<>>;

/// Returns those names that can be parsed as expressions over others of them.
DeclaredSums declared_sums(const std::vector<std::string>& names);

/// Returns the size without relying on sums: numbers and symbols as they are; an expression becomes a symbol
/// with its text.
Dim of_its_own(const Dim& declared);

}  // namespace lathe
