// How long opening a model of one gigabyte takes once its file is in the page cache, and how much resident memory
// it adds: with the weights inside the file, and beside it. The floor is what mapping costs: the kernel writes no
// page table until a byte is touched, so it does not depend on the size of the weights.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lathe/onnx.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
constexpr int64_t tensors = 256, elements = int64_t{1} << 20;  // of 4 MiB each

/// A folder of the models, gone at the end.
class Models {
 public:
  Models() : dir_(fs::temp_directory_path() / ("lathe-load-" + std::to_string(getpid()))) {
    fs::create_directory(dir_);
    onnx::Model m;
    m.proto.ir_version = 10;
    m.proto.opset_import.emplace_back().version = 21;
    m.proto.graph.emplace();
    m.proto.graph->name = "weights";
    const std::vector<float> values(static_cast<size_t>(elements), 0.5f);
    for (int64_t i = 0; i < tensors; ++i)
      m.proto.graph->initializer.push_back(
          onnx::from_tensor(Tensor::from<float>({elements}, values), "w" + std::to_string(i)));
    onnx::save(m, dir_ / "inside.onnx", {});
    onnx::SaveOptions beside;
    beside.data = onnx::SaveOptions::Data::external;
    onnx::save(m, dir_ / "beside.onnx", beside);
  }
  ~Models() { fs::remove_all(dir_); }
  fs::path path(const char* name) const { return dir_ / name; }

 private:
  fs::path dir_;
};

/// Bytes of this process that lie in memory.
double resident() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0, in_memory = 0;
  statm >> pages >> in_memory;
  return in_memory * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void load(benchmark::State& state, const fs::path& model) {
  double grown = 0;
  for (auto _ : state) {
    const double before = resident();
    const onnx::Model m = onnx::Model::load(model);
    grown = std::max(grown, resident() - before);
    benchmark::DoNotOptimize(&m);
  }
  state.counters["resident"] = benchmark::Counter(grown, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  const lathe::Models models;
  for (const char* name : {"inside.onnx", "beside.onnx"})
    benchmark::RegisterBenchmark(("load 1 GiB/" + std::string(name)).c_str(), lathe::load, models.path(name))
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
