// For tests/differential: prints the accuracy that every operator declares.
//   numeric_tolerances
// Prints {"domain": {"operator": {"epsilons": 4, "per_reduced": false, "exact": false, "random": false}}}.
#include <iostream>
#include <nlohmann/json.hpp>

#include "schema/schema.h"

int main() {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, schema] : lathe::SchemaCatalog::standard().all()) {
    const lathe::ToleranceSpec& c = schema.tolerance();
    all[schema.domain()][schema.name()] = {
        {"epsilons", c.epsilons}, {"per_reduced", c.per_reduced}, {"exact", c.exact}, {"random", c.random}};
  }
  std::cout << all << "\n";
}
