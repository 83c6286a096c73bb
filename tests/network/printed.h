// Networks that were printed as C++ (write_cpp.cc) and compiled, by the name of their case.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lathe/network.h"

extern const std::map<std::string, lathe::Network (*)()> printed_networks;
/// Functions for cases whose constants are in a file beside the source, NAME.safetensors of a folder.
extern const std::map<std::string, lathe::Network (*)(const std::filesystem::path&)> printed_with_weights;
extern const std::filesystem::path printed_weights;
