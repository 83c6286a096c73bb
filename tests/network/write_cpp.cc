// Writes the C++ source of all cases' networks, for network_test to compile and hold against the networks
// themselves.
#include <cstdio>
#include <fstream>

#include "network/cases.h"

int main(int, char** arguments) {
  std::ofstream file(arguments[1]);
  std::string list;
  for (const auto& c : lathe::network_cases::all_cases()) {
    file << c.network().cpp({.function = "printed_" + c.name}) << "\n";
    list += "    {\"" + c.name + "\", printed_" + c.name + "},\n";
    if (!c.printed_as_read()) continue;
    const std::string read = "read_" + c.name;
    file << lathe::Parser().parse(c.network().to_model()).cpp({.function = read}) << "\n";
    list += "    {\"" + read + "\", " + read + "},\n";
  }
  file << "#include \"network/printed.h\"\nconst std::map<std::string, lathe::Network (*)()> "
          "printed_networks = {\n"
       << list << "};\n";
  return file.good() ? 0 : 1;
}
