// Networks that were printed as C++ (write_cpp.cc) and compiled, by the name of their case.
#pragma once

#include <map>
#include <string>

#include "lathe/network.h"

extern const std::map<std::string, lathe::Network (*)()> printed_networks;
