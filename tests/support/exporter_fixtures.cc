#include "support/exporter_fixtures.h"

#include <algorithm>
#include <fstream>
#include <ostream>
#include <sstream>

namespace lathe::testing {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

/// Sizes of an axis in each run.
using Axis = std::vector<int64_t>;

std::string symbol(const Axis& sizes) {
  std::string name = "d";
  for (int64_t n : sizes) name += "_" + std::to_string(n);
  return name;
}

std::vector<Axis> axes_of(const std::vector<RecordedRun>& runs, const std::string& input) {
  std::vector<Axis> axes(runs[0].inputs.find(input)->second.tensor().rank());
  for (const RecordedRun& run : runs)
    for (size_t a = 0; a < axes.size(); ++a)
      axes[a].push_back(run.inputs.find(input)->second.tensor().dim(a));
  return axes;
}

bool is_constant(const Axis& sizes) {
  return std::ranges::all_of(sizes, [&](int64_t n) { return n == sizes[0]; });
}

/// A mask is as long as the past and the new tokens together: the sum of two other axes, where there are
/// such.
Size size_of(const Axis& sizes, const std::vector<Axis>& all) {
  if (is_constant(sizes)) return Size(sizes[0]);
  for (const Axis& a : all)
    for (const Axis& b : all) {
      Axis sum = a;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
      if (sum == sizes && !is_constant(a) && !is_constant(b)) return Size(symbol(a) + " + " + symbol(b));
    }
  return Size(symbol(sizes));
}

}  // namespace

std::ostream& operator<<(std::ostream& to, const ExporterFixture& f) { return to << f.name; }

std::vector<ExporterFixture> exporter_fixtures() {
  std::vector<ExporterFixture> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(LATHE_SOURCE_DIR) + "/tests/data/exporter")) {
    const auto facts = ModelConfig::open(entry.path() / "case.json");
    all.push_back({entry.path().filename(), facts.get<std::string>("model_type"),
                   facts.get<std::string>("task"), facts.get<std::vector<std::string>>("files"), entry.path(),
                   facts.get<std::string>("exported_type", ""), facts.get<bool>("padding_counts", true),
                   facts.get<std::string>("config_folder", "")});
  }
  std::ranges::sort(all, {}, &ExporterFixture::name);
  return all;
}

std::vector<ExporterFixture> architecture_fixtures() {
  std::vector<ExporterFixture> all = exporter_fixtures();
  std::erase_if(all, [](const ExporterFixture& f) { return !f.exported_type.empty(); });
  return all;
}

ModelConfig ExporterFixture::config() const {
  if (exported_type.empty()) return ModelConfig::open(folder);
  std::ifstream in(folder / config_folder / "config.json");
  std::string text(std::istreambuf_iterator<char>(in), {});
  text.insert(text.find('{') + 1, "\"export_model_type\": \"" + exported_type + "\",");
  return ModelConfig::parse(text);
}

std::vector<RecordedRun> ExporterFixture::runs(const std::string& file) const {
  std::vector<RecordedRun> all;
  for (int n = 0;; ++n) {
    const auto path = folder / (file + ".io-" + std::to_string(n) + ".safetensors");
    if (!std::filesystem::exists(path)) return all;
    const auto recorded = Checkpoint::open(path);
    RecordedRun run;
    run.input_names = split(recorded.metadata().at("inputs"));
    run.output_names = split(recorded.metadata().at("outputs"));
    for (const std::string& name : run.input_names) run.inputs.emplace(name, recorded.tensor(name));
    for (const std::string& name : run.output_names) run.outputs.emplace(name, recorded.tensor(name));
    all.push_back(std::move(run));
  }
}

NamedValues without_padding(const RecordedRun& run, const NamedValues& outputs) {
  const Tensor& mask = run.inputs.at("attention_mask").tensor();
  NamedValues all;
  for (const auto& [name, value] : outputs) {
    // Keys and values [batch, heads, positions, size] have all positions; other outputs [batch, positions, …]
    // have the last ones.
    const Tensor from = value.tensor();
    const size_t axis = name.starts_with("present.") ? 2 : 1;
    const int64_t batch = from.dim(0), positions = from.dim(axis), heads = axis == 2 ? from.dim(1) : 1,
                  size = from.size() / std::max<int64_t>(batch * heads * positions, 1);
    Tensor to(DataType::float32, from.shape());
    for (int64_t i = 0; i < from.size(); ++i) {
      const int64_t row = i / (heads * positions * size), at = i / size % positions;
      const bool counts =
          mask.as<int64_t>()[static_cast<size_t>((row + 1) * mask.dim(1) - positions + at)] != 0;
      to.as<float>()[static_cast<size_t>(i)] = counts ? from.as<float>()[static_cast<size_t>(i)] : 0;
    }
    all.emplace(name, to);
  }
  return all;
}

Network network_of(const ExporterFixture& fixture, const std::string& file) {
  return network_of(fixture, file, ModelConfig::open(fixture.folder));
}

Network network_of(const ExporterFixture& fixture, const std::string& file, const ModelConfig& config) {
  const auto model = nn::ModelRegistry::builtin().make(config, fixture.task);
  model->bind(Checkpoint::open(fixture.folder));

  const std::vector<RecordedRun> runs = fixture.runs(file);
  Network network(fixture.name);
  std::vector<Axis> all;
  for (const std::string& name : runs[0].input_names)
    if (!name.ends_with("mask")) std::ranges::copy(axes_of(runs, name), std::back_inserter(all));
  nn::Inputs inputs;
  for (const std::string& name : runs[0].input_names) {
    Sizes sizes;
    for (const Axis& axis : axes_of(runs, name))
      sizes.push_back(size_of(axis, name.ends_with("mask") ? all : std::vector<Axis>{}));
    const DataType type = runs[0].inputs.find(name)->second.tensor().type();
    inputs.set(name, network.add_input(name, type, sizes));
  }
  const nn::Emission emission(network, *model);
  nn::Outputs outputs;
  if (const auto* pair = dynamic_cast<const nn::Seq2SeqModel*>(model.get()); pair && file != "model")
    outputs = file == "encoder_model" ? pair->encode(network, inputs) : pair->decode(network, inputs);
  else
    outputs = model->forward(network, inputs);
  for (const std::string& name : runs[0].output_names) network.mark_output(outputs.at(name), name);
  return network;
}

}  // namespace lathe::testing
