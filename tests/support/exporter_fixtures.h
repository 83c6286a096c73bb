// Results of transformers, recorded by tools/record_transformers.py: checkpoints with inputs and outputs.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lathe/lathe.h"
#include "lathe/nn.h"

namespace lathe::testing {

/// One run of one exported file.
struct RecordedRun {
  std::vector<std::string> input_names, output_names;  // in the order of Optimum's files
  NamedValues inputs, outputs;
};

/// A folder of tests/data/exporter.
struct ExporterFixture {
  std::string name, model_type, task;
  std::vector<std::string> files;  // "model", or "encoder_model", "decoder_model", …
  std::filesystem::path folder;
  std::string exported_type;   // "export_model_type", where more is exported than the architecture
  bool padding_counts = true;  // what becomes of tokens that the attention mask hides means something
  std::string config_folder;   // where config.json is in a folder of its own

  /// config.json, with what is exported.
  ModelConfig config() const;
  std::vector<RecordedRun> runs(const std::string& file) const;
  friend std::ostream& operator<<(std::ostream& to, const ExporterFixture& f);
};

/// All of them, by name.
std::vector<ExporterFixture> exporter_fixtures();
/// Returns the fixtures that are an architecture and nothing else.
std::vector<ExporterFixture> architecture_fixtures();

/// `outputs` of a run with 0 in the rows of tokens that the attention mask hides.
NamedValues without_padding(const RecordedRun& run, const NamedValues& outputs);

/// The network of one file: inputs with symbols where the runs' sizes differ, the same symbol where they
/// always agree; the model of the fixture, bound; outputs as they were recorded.
Network network_of(const ExporterFixture& fixture, const std::string& file);
/// The same made from another config.json.
Network network_of(const ExporterFixture& fixture, const std::string& file, const ModelConfig& config);

}  // namespace lathe::testing
