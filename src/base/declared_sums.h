// Sizes that a model declares of its inputs as expressions over others: "past + seq". Exporters write them,
// nobody checks them, and there are models that run with other sizes than they say. So nothing may follow
// from them: in graphs and plans such a size is a symbol of its own, with the expression for a name, which a
// run holds to one size wherever it stands. What the name says is for whoever makes up inputs, and for
// people.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lathe/dim.h"

namespace lathe {

/// Expressions, by the names of the symbols that stand for them.
using DeclaredSums = std::map<std::string, Dim, std::less<>>;

/// Those of these names that read as expressions over others of them.
DeclaredSums declared_sums(const std::vector<std::string>& names);

/// The size as it may be believed: numbers and symbols as they are, a symbol with its text for an expression.
Dim of_its_own(const Dim& declared);

}  // namespace lathe
