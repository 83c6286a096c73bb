#include "input_options.h"

#include <algorithm>
#include <initializer_list>

#include "command.h"
#include "generation_options.h"
#include "text.h"
#include "value_files.h"

namespace lathe::cli {
namespace {

const IoInfo& input_named(const Engine& engine, const std::string& name) {
  for (const IoInfo& io : engine.inputs())
    if (io.name == name) return io;
  std::vector<std::string> names;
  for (const IoInfo& io : engine.inputs()) names.push_back(io.name);
  refuse_argument("--input for one of: " + join(names, ", "), "'" + name + "'");
}

}  // namespace

NamedValues InputOptions::from_files(const Engine& engine) const {
  if (!dir.empty() && !std::filesystem::is_directory(dir)) refuse_argument("a directory", dir.string());
  NamedValues values;
  if (!dir.empty())
    for (size_t i = 0; i < engine.inputs().size(); ++i) {
      const IoInfo& io = engine.inputs()[i];
      if (const auto file = find_value(dir, case_name, io, "input", i))
        values[io.name] = read_value(*file, io);
    }
  for (const std::string& text : inputs) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) refuse_argument("--input NAME=FILE", "'" + text + "'");
    const IoInfo& io = input_named(engine, text.substr(0, equals));
    values[io.name] = read_value(text.substr(equals + 1), io);
  }
  for (const IoInfo& io : engine.inputs())
    if (!io.optional && !values.contains(io.name))
      refuse_argument("a file for every input", "none for '" + io.name + "'",
                      "--input " + io.name + "=FILE, or no files at all for synthetic inputs");
  return values;
}

NamedValues InputOptions::made_up(const Engine& engine, std::vector<std::string>& assumed) const {
  NamedValues values;
  uint64_t next_seed = seed;
  const NamedShapes shapes = complete_shapes(engine.inputs(), shape.parse(), &assumed);
  for (const IoInfo& io : engine.inputs()) {
    if (io.optional) continue;
    const auto sizes = shapes.find(io.name);
    if (sizes == shapes.end())
      refuse_argument("a file for an input that is no tensor", io.name + ": " + io.type,
                      "--input " + io.name + "=FILE");
    values[io.name] = random_tensor(io.element_type, sizes->second, next_seed++);
    // The index of a token that there is, however short the text.
    if (io.name == logits_rows_input && io.element_type == DataType::int64)
      std::ranges::fill(values[io.name].tensor().as<int64_t>(), 0);
  }
  return values;
}

NamedValues InputOptions::values(const Engine& engine, std::vector<std::string>& assumed) const {
  return names_files() ? from_files(engine) : made_up(engine, assumed);
}

Error InputOptions::with_assumed_sizes(const Error& e, const std::vector<std::string>& assumed) {
  // Other errors do not come from sizes that do not fit together.
  const std::initializer_list<Code> of_sizes{Code::node_bad_shape, Code::node_bad_value, Code::run_bad_shape,
                                             Code::run_bad_index, Code::run_bad_value};
  if (assumed.empty() || std::ranges::find(of_sizes, e.code()) == of_sizes.end()) return e;
  Diagnostic d = e.diagnostic();
  if (!d.remedy.empty()) d.remedy += "; or ";
  d.remedy += "give sizes that fit together, --shape " + assumed[0] + "=2: " + join(assumed, ", ") +
              (assumed.size() == 1 ? " was" : " were") + " taken as 1";
  return Error(std::move(d));
}

BoundStates::BoundStates(const Engine& engine, Context& context, NamedValues& values) {
  for (const IoInfo& io : engine.inputs()) {
    if (io.state.empty()) continue;
    Tensor before = values.at(io.name).tensor();
    values.erase(io.name);
    State state = State::from(engine, io.name, before);
    context.bind_state(io.name, state);
    states_.push_back({io.state, std::move(state), std::move(before)});
  }
}

void BoundStates::reset() {
  for (Bound& b : states_)
    if (b.state.axis() >= 0)
      b.state.rewind(b.before.dim(static_cast<size_t>(b.state.axis())));
    else
      b.state.assign(b.before);
}

void BoundStates::add_to(NamedValues& outputs) const {
  for (const Bound& b : states_) outputs[b.output] = b.state.tensor();
}

void InputOptions::add_to(CLI::App* sub) {
  sub->add_option("--input", inputs, "An input from a .npy, .json or .pb file (may be repeated)")
      ->type_name("NAME=FILE");
  sub->add_option("--inputs", dir, "A directory with a file for each input: NAME.npy, or input_0.npy or .pb");
  sub->add_option("--case", case_name, "Files in such directories are named CASE_NAME.npy");
  shape.add_to(sub);
  sub->add_option("--seed", seed, "Seed of synthetic inputs")->capture_default_str();
}

}  // namespace lathe::cli
