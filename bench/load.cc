// How long opening a model of one gigabyte takes once its file is in the page cache, and how much resident
// memory it adds: with the weights inside the file, and beside it. The floor is what mapping costs: the
// kernel writes no page table until a byte is touched, so it does not depend on the size of the weights.
//
//   lathe_bench_load                          the model of one gigabyte, and its plan
//   lathe_bench_load resnet50.onnx bert.onnx  building engines from these, on one thread and on two
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lathe/lathe.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
constexpr int64_t tensors = 256, side = 1024, elements = side * side;  // of 4 MiB each

onnx::ValueInfoProto image(const std::string& name) {
  onnx::ValueInfoProto v;
  v.name = name;
  onnx::TypeProto::Tensor t;
  t.elem_type = static_cast<int32_t>(DataType::float32);
  t.shape.emplace();
  for (int64_t n : {int64_t{1}, side}) t.shape->dim.emplace_back().dim_value = n;
  v.type.emplace().tensor_type = t;
  return v;
}

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
    // Products, one behind the other, so that all are wanted; no two matrices are equal.
    onnx::GraphProto& g = *m.proto.graph;
    g.input.push_back(image("x0"));
    for (int64_t i = 0; i < tensors; ++i) {
      const std::string w = "w" + std::to_string(i);
      const std::vector<float> values(static_cast<size_t>(elements), static_cast<float>(i));
      g.initializer.push_back(onnx::from_tensor(Tensor::from<float>({side, side}, values), w));
      onnx::NodeProto& n = g.node.emplace_back();
      n.op_type = "MatMul";
      n.input = {"x" + std::to_string(i), w};
      n.output = {"x" + std::to_string(i + 1)};
    }
    g.output.push_back(image("x" + std::to_string(tensors)));
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

/// Bytes of this process that are in memory.
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
  state.counters["resident"] =
      benchmark::Counter(grown, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

/// Measures the time from a file to an engine that can run.
void build(benchmark::State& state, const fs::path& model, int threads) {
  double grown = 0;
  for (auto _ : state) {
    const double before = resident();
    const Engine e = Engine::build(model, {.threads = threads});
    grown = std::max(grown, resident() - before);
  }
  state.counters["resident"] =
      benchmark::Counter(grown, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

void open(benchmark::State& state, const fs::path& plan) {
  double grown = 0;
  for (auto _ : state) {
    const double before = resident();
    const Engine e = Engine::load(plan, {.threads = 1});
    grown = std::max(grown, resident() - before);
  }
  state.counters["resident"] =
      benchmark::Counter(grown, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

/// Measures builds of the models that the command line names; other arguments are for the library.
int build_models(int argc, char** argv) {
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i)
    for (int threads : {1, 2})
      benchmark::RegisterBenchmark(
          ("build/" + fs::path(argv[i]).stem().string() + "/threads " + std::to_string(threads)).c_str(),
          build, fs::path(argv[i]), threads)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') return lathe::build_models(argc, argv);
  const lathe::Models models;
  for (const char* name : {"inside.onnx", "beside.onnx"})
    benchmark::RegisterBenchmark(("load 1 GiB/" + std::string(name)).c_str(), lathe::load, models.path(name))
        ->Unit(benchmark::kMillisecond);
  lathe::Engine::build(models.path("inside.onnx"), {.portable = false}).save(models.path("plan.lathe"));
  benchmark::RegisterBenchmark("open 1 GiB/plan.lathe", lathe::open, models.path("plan.lathe"))
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
