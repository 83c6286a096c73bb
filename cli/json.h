// How the public structures look as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "lathe/lathe.h"

// Compiled once, in json.cc, which halves the compile time of every command.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lathe::cli {

using Json = nlohmann::ordered_json;

Json to_json(const Diagnostic& d);
Json to_json(const IoInfo& io);
/// Numbers where they are known, else the expression as text; null for an unknown rank.
Json to_json(const std::optional<SymShape>& shape);
Json to_json(const Shape& shape);
Json to_json(std::optional<uint64_t> number);
/// Type, shape, statistics and first elements.
Json summary(const Value& v);

/// Prints to standard output, indented. Names in a model may be any bytes: those that are not UTF-8 are
/// replaced.
void print(const Json& j);

}  // namespace lathe::cli
