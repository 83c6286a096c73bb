// Writes the C++ source of all cases' networks, for network_test to compile and compare with the networks
// themselves.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "network/cases.h"

// write_cpp SOURCE FOLDER: into the folder go the constants of networks that are printed with such a file.
int main(int, char** arguments) {
  std::ofstream file(arguments[1]);
  const std::filesystem::path folder = arguments[2];
  std::filesystem::create_directories(folder);
  std::string list, beside;
  for (const auto& c : lathe::network_cases::all_cases()) {
    file << c.network().cpp({.function = "printed_" + c.name}) << "\n";
    list += "    {\"" + c.name + "\", printed_" + c.name + "},\n";
    if (c.printed_with_weights()) {
      const std::string name = "weights_" + c.name;
      file << c.network().cpp(
                  {.function = name, .weights = folder / (c.name + ".safetensors"), .inline_elements = 0})
           << "\n";
      beside += "    {\"" + c.name + "\", " + name + "},\n";
    }
    if (!c.printed_as_read()) continue;
    const std::string read = "read_" + c.name;
    file << lathe::Parser().parse(c.network().to_model()).cpp({.function = read}) << "\n";
    list += "    {\"" + read + "\", " + read + "},\n";
  }
  file << "#include \"network/printed.h\"\nconst std::map<std::string, lathe::Network (*)()> "
          "printed_networks = {\n"
       << list
       << "};\nconst std::map<std::string, lathe::Network (*)(const std::filesystem::path&)> "
          "printed_with_weights = {\n"
       << beside << "};\nconst std::filesystem::path printed_weights = " << folder << ";\n";
  return file.good() ? 0 : 1;
}
