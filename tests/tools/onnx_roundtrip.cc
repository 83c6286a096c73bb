// For test_format_roundtrip.py: loads files and saves them again.
//   onnx_roundtrip bytes|text|external < lines of "FROM\tTO"
// Prints a line for each: "ok" or the sentence of the error.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "lathe/error.h"
#include "lathe/onnx.h"

namespace {

using namespace lathe::onnx;

void convert(const std::string& how, const std::string& from, const std::string& to) {
  if (from.ends_with(".pb")) {  // a tensor of test data
    std::ifstream in(from, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::ofstream(to, std::ios::binary) << serialize(parse<TensorProto>(bytes));
    return;
  }
  SaveOptions options;
  options.text = how == "text";
  if (how == "external") options.data = SaveOptions::Data::external;
  if (how == "single") options.data = SaveOptions::Data::single_file;
  save(Model::load(from), to, options);
}

}  // namespace

int main(int argc, char** argv) {
  for (std::string line; argc == 2 && std::getline(std::cin, line);) {
    const size_t tab = line.find('\t');
    try {
      convert(argv[1], line.substr(0, tab), line.substr(tab + 1));
      std::cout << "ok" << std::endl;
    } catch (const lathe::Error& e) {
      std::cout << e.what() << std::endl;
    }
  }
}
