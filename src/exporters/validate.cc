// Validates an exported file: whether it computes what its graph says, for all sizes, and how exactly.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "base/error_about.h"
#include "exporters/reference.h"
#include "exporters/validation.h"
#include "lathe/engine.h"
#include "lathe/model_summary.h"
#include "onnx/each_tensor.h"
#include "onnx/importer.h"
#include "onnx/tensor_data.h"
#include "schema/schema.h"
#include "tensor/element.h"

namespace lathe::exporters {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// An output may be off by this many times what it moves when weights are off by half a unit, and never by
/// more than the other: 1/128 of its largest number in float32.
constexpr double rounding_factor = 8, most_ulps = 65536;

/// Formats numbers the usual way: 1024, 1e-12.
std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

int mantissa_bits(DataType type) {
  switch (type) {
    case DataType::float64:
      return 52;
    case DataType::float16:
      return 10;
    case DataType::bfloat16:
      return 7;
    default:
      return 23;
  }
}

/// Sizes to run the model with, and the label that reports have for them.
struct SizeSet {
  std::string label;
  DummyShapes shapes;
};

/// Limits texts with their past to the number of learned positions.
DummyShapes within_positions(DummyShapes s, const ModelConfig& config) {
  for (const char* key : {"max_position_embeddings", "n_positions", "max_target_positions"}) {
    if (!config.has(key)) continue;
    // Some models count positions from behind the padding token, and both the past and the new tokens are
    // texts.
    const int64_t longest = std::max<int64_t>(1, (config.get<int64_t>(key) - 2) / 2);
    s.sequence_length = std::min(s.sequence_length, longest);
    if (s.past_sequence_length) s.past_sequence_length = std::min(*s.past_sequence_length, longest);
  }
  return s;
}

std::set<std::string> names_of_sizes(const NamedAxes& axes) {
  std::set<std::string> names;
  for (const auto& [input, named] : axes)
    for (const auto& [axis, size] : named) names.insert(size);
  return names;
}

/// Returns the sizes as requested, all 1, and all different, which shows if one size was used for another.
std::vector<SizeSet> size_sets(DummyShapes requested, const OnnxConfig& onnx_config) {
  const ModelConfig& config = onnx_config.config();
  // A token that sees only padding attends to it evenly, except in float16, whose lowest number does not
  // outweigh scores that are added in a wider type. In a decoder these are tokens with only padding before
  // them, and with a sliding window those far behind the text.
  const bool half = onnx_config.options().float_type == DataType::float16;
  if (half && config.has("sliding_window")) requested.padding_side = PaddingSide::none;
  std::vector<SizeSet> all;
  all.push_back({"as asked", within_positions(requested, config)});
  DummyShapes one = requested;
  one.batch_size = 1;
  one.sequence_length = 1;
  one.encoder_sequence_length = 1;
  one.past_sequence_length = 1;
  one.num_choices = 1;
  DummyShapes odd = requested;
  odd.batch_size = 3;
  odd.sequence_length = 7;
  odd.encoder_sequence_length = 5;
  odd.past_sequence_length = 6;
  odd.num_choices = 2;
  const std::set<std::string> named = names_of_sizes(onnx_config.inputs());
  if (named.contains("text_batch_size")) odd.text_batch_size = 4;
  // A reshape by a fixed size cannot divide odd sizes.
  if (named.contains("height"))
    one.height = (requested.height / 2) | 1, odd.height = (requested.height * 5 / 8) | 1;
  if (named.contains("width"))
    one.width = (requested.width / 2 + 2) | 1, odd.width = (requested.width * 7 / 8) | 1;
  all.push_back({"ones", one});
  if (!half)
    odd.padding_side = requested.padding_side == PaddingSide::right ? PaddingSide::left : PaddingSide::right;
  all.push_back({"all different", within_positions(odd, config)});
  return all;
}

using Sizes = std::map<std::string, int64_t, std::less<>>;

/// Returns the sizes of the inputs by the names that the config gives their axes.
Sizes sizes_of(const NamedAxes& axes, const Ordered<Tensor>& inputs) {
  Sizes sizes;
  for (const auto& [name, named] : axes)
    if (const Tensor* t = inputs.find(name))
      for (const auto& [axis, size] : named)
        if (static_cast<size_t>(axis) < t->rank()) sizes.emplace(size, t->dim(static_cast<size_t>(axis)));
  return sizes;
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    if (name.find(' ') == std::string::npos)
      text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

/// Returns the first item of a batch.
Tensor first_of(const Tensor& t, const Axes* axes) {
  Tensor cut = t;
  if (!axes) return cut;
  for (const auto& [axis, name] : *axes) {
    const auto at = static_cast<size_t>(axis);
    if (name.find("batch_size") == std::string::npos || at >= cut.rank() || cut.dim(at) < 1) continue;
    Shape shape = cut.shape();
    shape[at] = 1;
    Tensor part(cut.type(), shape);
    int64_t outer = 1;
    for (size_t i = 0; i < at; ++i) outer *= shape[i];
    const size_t row = part.bytes() / static_cast<size_t>(std::max<int64_t>(outer, 1));
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(static_cast<char*>(part.data()) + static_cast<size_t>(i) * row,
                  static_cast<const char*>(cut.data()) +
                      static_cast<size_t>(i) * row * static_cast<size_t>(cut.dim(at)),
                  row);
    cut = part;
  }
  return cut;
}

class Validator {
 public:
  Validator(const std::filesystem::path& file, const ValidationOptions& options)
      : file_(file.filename().string()),
        model_(onnx::Model::load(file)),
        options_(options),
        engine_(Engine::build(model_, options.build)),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options.seconds))),
        summary_(inspect(model_)) {}

  void branch(const ValidatedBranch& b, const DummyShapes& shapes) {
    take(b);
    check_names();
    if (b.same_weights) check_weights();
    std::set<std::string> seen;
    std::map<std::string, std::set<int64_t>> tried;
    for (const SizeSet& set : size_sets(shapes, *b.config))
      for (int seed = 0; seed < std::max(options_.seeds, 1); ++seed) {
        DummyShapes own = set.shapes;
        own.seed = shapes.seed + static_cast<uint64_t>(seed);
        Ordered<Tensor> inputs;
        try {
          inputs = b.config->file_inputs(own);
        } catch (const Error& e) {
          if (set.label == "as asked") throw;
          skip(set.label, e.what());
          break;
        }
        if (!fits(inputs)) break;  // the file takes one size only, which differs from this one
        std::string sizes;
        for (const auto& [name, t] : inputs) sizes += describe(t.shape());
        if (seed == 0 && !seen.insert(sizes).second) break;
        for (const auto& [name, size] : sizes_of(inputs_, inputs)) tried[name].insert(size);
        compare(inputs, own.seed);
      }
    record_single_sizes(tried);
  }

  ValidationRun recorded(const Ordered<Tensor>& inputs, const NamedValues& want) {
    ValidationRun run{file_, text_of(sizes_of(inputs_, inputs)), 0, {}, false};
    const NamedValues given = values(inputs);
    const NamedValues got = engine_.create_context().run(given);
    const NamedValues plain = reference_->plain(given);
    for (const auto& [name, value] : want) {
      const auto at = got.find(name);
      if (at != got.end()) judge(run, name, at->second.tensor(), plain.at(name).tensor(), value.tensor());
    }
    return run;
  }
  void take_config(const OnnxConfig& config) {
    own_branch_ = {.config = &config};
    take(own_branch_);
  }
  const Engine& engine() const { return engine_; }

  ValidationReport report() { return std::move(report_); }

 private:
  void take(const ValidatedBranch& b) {
    branch_ = &b;
    outputs_ = b.config->outputs();
    inputs_ = b.config->ordered_inputs();
    if (reference_ && !b.reference && !reference_is_of_branch_) return;
    reference_ = std::make_unique<Reference>(b.reference ? b.reference() : model_, options_);
    reference_is_of_branch_ = static_cast<bool>(b.reference);
    if (const std::string& why = reference_->left_out();
        !why.empty() && std::ranges::count(report_.skipped, why) == 0)
      report_.skipped.push_back(why);
  }

  /// Weights are compared bit by bit: a difference counts even if it hardly changes results.
  void check_weights() const {
    std::map<std::string_view, const onnx::TensorProto*> written;
    for (const onnx::TensorProto& t : model_.proto.graph->initializer) written.emplace(*t.name, &t);
    for (const onnx::TensorProto& want : reference_->model().proto.graph->initializer) {
      const auto at = written.find(*want.name);
      if (at == written.end()) continue;
      const auto there = onnx::raw_bytes(*at->second, model_);
      if (!there || at->second->dims != want.dims || at->second->data_type != want.data_type ||
          !want.raw_data || there->view() != want.raw_data->view())
        fail(Code::run_bad_value, *want.name, "the weights that the checkpoint has under that name",
             "others");
    }
  }

  double left() const { return std::chrono::duration<double>(deadline_ - Clock::now()).count(); }

  void skip(const std::string& what, const std::string& why) {
    std::string line = (branch_->label.empty() ? what : branch_->label + ", " + what) + ": " + why;
    if (std::ranges::count(report_.skipped, line) == 0) report_.skipped.push_back(std::move(line));
  }

  /// Records sizes that the file leaves open but that the configuration fixes: other values were not tested.
  void record_single_sizes(const std::map<std::string, std::set<int64_t>>& tried) {
    for (const auto& [name, sizes] : tried) {
      const std::string said = name + "=" + std::to_string(*sizes.begin());
      if (sizes.size() == 1 && is_any_size(name) && std::ranges::count(report_.one_size, said) == 0)
        report_.one_size.push_back(said);
    }
  }
  bool is_any_size(const std::string& symbol) const {
    return std::ranges::any_of(engine_.inputs(), [&](const IoInfo& io) {
      return io.shape && std::ranges::any_of(
                             *io.shape, [&](const Dim& d) { return !d.is_constant() && d.str() == symbol; });
    });
  }

  [[noreturn]] void fail(Code code, const std::string& output, std::string expected, std::string got,
                         std::string remedy = {}) const {
    throw error_about(code, "validate", file_ + ": " + output, std::move(expected), std::move(got),
                      std::move(remedy));
  }

  /// Checks that outputs have the config's names, and that sizes that the config leaves open are not fixed in
  /// the file.
  void check_names() const {
    for (const auto& [name, axes] : outputs_) {
      const auto& all = engine_.outputs();
      const auto at = std::ranges::find(all, name, &IoInfo::name);
      if (at == all.end()) fail(Code::node_bad_shape, name, "an output of that name", "none");
      if (!at->shape) continue;
      for (const auto& [axis, size] : axes)
        if (static_cast<size_t>(axis) >= at->shape->size())
          fail(Code::node_bad_shape, name, "an axis " + std::to_string(axis) + " called '" + size + "'",
               describe(*at->shape));
        else if (any_size() && (*at->shape)[static_cast<size_t>(axis)].is_constant())
          fail(Code::node_bad_shape, name, "any size of axis " + std::to_string(axis) + ", '" + size + "'",
               describe(*at->shape), "a size was taken for all there are");
    }
  }
  /// Returns false if all sizes were fixed (ExportOptions::no_dynamic_axes).
  bool any_size() const {
    return std::ranges::any_of(engine_.inputs(), [](const IoInfo& io) {
      return io.shape && std::ranges::any_of(*io.shape, [](const Dim& d) { return !d.is_constant(); });
    });
  }

  bool fits(const Ordered<Tensor>& inputs) const {
    return std::ranges::all_of(inputs, [&](const auto& input) {
      const auto at = std::ranges::find(engine_.inputs(), input.first, &IoInfo::name);
      if (at == engine_.inputs().end() || !at->shape) return true;
      for (size_t axis = 0; axis < at->shape->size(); ++axis)
        if (const auto size = (*at->shape)[axis].value();
            size && axis < input.second.rank() && *size != input.second.dim(axis))
          return false;
      return true;
    });
  }

  NamedValues values(const Ordered<Tensor>& inputs) const {
    NamedValues all = branch_->extra_inputs;
    for (const auto& [name, t] : inputs) all.insert_or_assign(name, t);
    for (const IoInfo& io : engine_.inputs())
      if (!all.contains(io.name) && !io.optional) all[io.name] = empty(io, inputs);
    return all;
  }
  /// Makes keys and values that a branch does not read: of length 1, as Optimum feeds them.
  Tensor empty(const IoInfo& io, const Ordered<Tensor>& inputs) const {
    if (!io.shape) fail(Code::run_missing_input, io.name, "an input that the config makes", "none");
    const Sizes sizes = sizes_of(inputs_, inputs);
    Shape shape;
    for (const Dim& d : *io.shape) {
      const auto own = sizes.find(d.str());
      shape.push_back(d.value().value_or(own == sizes.end() ? 1 : own->second));
    }
    return DummyInputGenerator::constant_tensor(shape, 0, io.element_type);
  }

  /// Returns a rough estimate of the seconds that plain loops take for one run.
  double estimate(const Ordered<Tensor>& inputs) const {
    const auto flops = summary_.flops.evaluate(sizes_of(inputs_, inputs));
    constexpr double per_second = 4e8;
    return flops ? static_cast<double>(*flops) / per_second : 0;
  }

  void compare(const Ordered<Tensor>& inputs, uint64_t seed) {
    const std::string sizes = text_of(sizes_of(inputs_, inputs));
    if (const double needed = estimate(inputs); left() < needed || left() <= 0)
      return skip(sizes, "no time was left");
    const NamedValues given = values(inputs);
    const NamedValues got = engine_.create_context().run(given);
    check_shapes(given, got);
    const NamedValues plain = reference_->plain(given);
    const NamedValues exact = reference_->is_exact() ? reference_->exact(given) : plain;
    moved_.clear();
    ValidationRun run{file_, (branch_->label.empty() ? "" : branch_->label + ", ") + sizes, seed, {}, false};
    for (const auto& [name, axes] : outputs_)
      judge(run, name, got.at(name).tensor(), plain.at(name).tensor(), exact.at(name).tensor(), &given);
    if (reference_->is_exact() && seed == 0) alone(inputs, exact);
    report_.runs.push_back(std::move(run));
  }

  /// Checks that outputs have the sizes that the file and the config give.
  void check_shapes(const NamedValues& given, const NamedValues& got) const {
    NamedShapes shapes;
    for (const auto& [name, value] : given) shapes[name] = value.tensor().shape();
    const NamedShapes promised = engine_.output_shapes(shapes);
    for (const auto& [name, axes] : outputs_) {
      const Shape& shape = got.at(name).tensor().shape();
      const auto at = promised.find(name);
      if (at != promised.end() && at->second != shape)
        fail(Code::node_bad_shape, name, describe(at->second), describe(shape));
      const Sizes sizes = sizes_of(inputs_, as_ordered(given));
      for (const auto& [axis, size] : axes) {
        if (size.find("batch_size") == std::string::npos && size.find('+') == std::string::npos) continue;
        const auto wanted = Dim::parse(size).evaluate(sizes);
        const auto i = static_cast<size_t>(axis);
        if (wanted && (i >= shape.size() || shape[i] != *wanted))
          fail(Code::node_bad_shape, name,
               "axis " + std::to_string(axis) + " of size " + size + " = " + std::to_string(*wanted),
               describe(shape), "a size was taken for all there are");
      }
    }
  }
  static Ordered<Tensor> as_ordered(const NamedValues& values) {
    Ordered<Tensor> all;
    for (const auto& [name, v] : values) all[name] = v.tensor();
    return all;
  }

  /// Checks that the first item of a batch has the same results alone: no batch size is built in.
  void alone(const Ordered<Tensor>& inputs, const NamedValues& together) {
    if (!any_size()) return;
    Ordered<Tensor> first;
    for (const auto& [name, t] : inputs) first[name] = first_of(t, inputs_.find(name));
    const NamedValues got = reference_->exact(values(first));
    for (const auto& [name, axes] : outputs_) {
      const Tensor want = first_of(together.at(name).tensor(), &axes);
      const Tensor& have = got.at(name).tensor();
      constexpr double some = 1 << 20;  // units of float64: other orders of summation
      if (const double off = ulps_off(have, want); off > some)
        fail(Code::run_bad_value, name, "of the first in a batch what it gives alone",
             describe(have) + " that is off by " + number(off) + " units of float64",
             "a size was taken for all there are");
    }
  }

  /// Returns by how many units of `type` an output moves if weights are off by half a unit, which is what
  /// rounding of sums comes to: the model may amplify that. Infinite numbers say nothing of it.
  double moved_by(const std::string& name, const NamedValues& given, const Tensor& exact, DataType type) {
    constexpr uint64_t draws = 2;
    while (moved_.size() < draws) moved_.push_back(reference_->moved(given, type, moved_.size()));
    double most = 0;
    for (const NamedValues& moved : moved_) {
      const double off = ulps_off(moved.at(name).tensor(), exact);
      if (std::isfinite(off)) most = std::max(most, std::ldexp(off, mantissa_bits(type) - 52));
    }
    return most;
  }
  /// Returns the bound for an output that is `off`: the usual one where that suffices, else the model's own.
  double bound_for(const std::string& name, double off, const NamedValues* given, const Tensor& exact,
                   DataType type) {
    const double usual = ulps_allowed(type, options_);
    if (off <= usual || !std::isfinite(off) || options_.ulps || !given || !reference_->is_exact() ||
        mantissa_bits(type) < 23)
      return usual;
    return std::clamp(rounding_factor * moved_by(name, *given, exact, type), usual, most_ulps);
  }

  void judge(ValidationRun& run, const std::string& name, const Tensor& got, const Tensor& plain,
             const Tensor& exact, const NamedValues* given = nullptr) {
    ValidationRun::Output o;
    o.name = name;
    o.shape = got.shape();
    o.engine_ulps = ulps_off(got, exact, &o.absolute);
    o.reference_ulps = ulps_off(plain, exact);
    const double allowed =
        bound_for(name, std::max(o.engine_ulps, o.reference_ulps), given, exact, got.type());
    o.allowed_ulps = allowed;
    const auto bound_text = [&](double ulps) {
      return number(ulps) + " units (" + run.sizes + ", seed " + std::to_string(run.seed) + ")";
    };
    if (o.engine_ulps > allowed)
      fail(Code::run_bad_value, name,
           "the engine within " + number(allowed) + " units in the last place of float64",
           bound_text(o.engine_ulps), "--ulps (ValidationOptions::ulps) allows more");
    if (o.reference_ulps > allowed)
      fail(Code::run_bad_value, name,
           "the reference within " + number(allowed) + " units in the last place of float64",
           bound_text(o.reference_ulps), "--ulps (ValidationOptions::ulps) allows more");
    const double atol = options_.atol.value_or(branch_->config->atol_for_validation());
    if (!within(got, exact, atol)) {
      if (options_.atol)
        fail(Code::run_bad_value, name, "differences of at most " + number(atol), number(o.absolute),
             "--atol (ValidationOptions::atol) allows more");
      run.beyond_atol = true;
    }
    run.outputs.push_back(std::move(o));
  }

  static bool within(const Tensor& got, const Tensor& want, double atol) {
    constexpr double rtol = 1e-5;
    if (!is_float(got.type())) return true;
    for (int64_t i = 0; i < got.size(); ++i) {
      const double a = load_double(got, i), b = load_double(want, i);
      if (std::isfinite(b) && !(std::abs(a - b) <= atol + rtol * std::abs(b))) return false;
    }
    return true;
  }

  std::string file_;
  onnx::Model model_;
  const ValidationOptions& options_;
  Engine engine_;
  std::unique_ptr<Reference> reference_;
  bool reference_is_of_branch_ = false;
  Clock::time_point deadline_;
  ModelSummary summary_;
  const ValidatedBranch* branch_ = nullptr;
  ValidatedBranch own_branch_;
  NamedAxes inputs_, outputs_;
  ValidationReport report_;
  std::vector<NamedValues> moved_;  // results of the run's inputs with weights that are off
};

}  // namespace

double ulps_allowed(DataType type, const ValidationOptions& options) {
  if (options.ulps) return *options.ulps;
  return type == DataType::float16 || type == DataType::bfloat16 ? 64 : 1024;
}

double ulps_off(const Tensor& got, const Tensor& want, double* absolute) {
  if (absolute) *absolute = 0;
  if (got.shape() != want.shape() || is_float(got.type()) != is_float(want.type())) return infinity;
  if (!is_float(got.type())) {
    for (int64_t i = 0; i < got.size(); ++i)
      if (load_int(got, i) != load_int(want, i)) return infinity;
    return 0;
  }
  double largest = 0, off = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double a = load_double(got, i), b = load_double(want, i);
    if (!std::isfinite(b)) {
      if (std::isnan(b) ? !std::isnan(a) : a != b) return infinity;
      continue;
    }
    largest = std::max(largest, std::abs(b));
    off = std::max(off, std::isfinite(a) ? std::abs(a - b) : infinity);
  }
  if (absolute) *absolute = off;
  if (off == 0) return 0;
  const int exponent = largest > 0 ? std::ilogb(largest) : std::numeric_limits<float>::min_exponent;
  return off / std::ldexp(1.0, exponent - mantissa_bits(got.type()));
}

namespace {

uint64_t declared_bytes(const onnx::Model& m) {
  uint64_t bytes = 0;
  onnx::each_tensor(m.proto, [&](const onnx::TensorProto& t) {
    int64_t count = 1;
    for (int64_t d : t.dims) count *= d;
    if (t.data_type) bytes += bytes_for(static_cast<DataType>(*t.data_type), static_cast<size_t>(count));
  });
  return bytes;
}

/// Checks what is possible without running the file, or reading its weights, which an engine would hold once
/// more.
ValidationReport checked_only(const onnx::Model& model, uint64_t bytes) {
  import_model(model, SchemaCatalog::standard());  // throws; touches no weight
  constexpr uint64_t mib = uint64_t{1} << 20;
  return {{},
          {"nothing but types and shapes were checked: an engine would hold " + std::to_string(bytes / mib) +
           " MiB of weights, more than half of memory_limit (--validation-memory)"},
          {}};
}

}  // namespace

ValidationReport validate_branches(const std::filesystem::path& model,
                                   const std::vector<ValidatedBranch>& branches, const DummyShapes& shapes,
                                   const ValidationOptions& options) {
  {
    const onnx::Model m = onnx::Model::load(model);
    if (const uint64_t bytes = declared_bytes(m); bytes > options.memory_limit / 2)
      return checked_only(m, bytes);
  }
  Validator v(model, options);
  for (const ValidatedBranch& b : branches) v.branch(b, shapes);
  return v.report();
}

ValidationReport validate(const std::filesystem::path& model, const OnnxConfig& config,
                          const DummyShapes& shapes, const ValidationOptions& options) {
  return validate_branches(model, {ValidatedBranch{.config = &config}}, shapes, options);
}

ValidationRun compare_with_recorded(const std::filesystem::path& model, const std::filesystem::path& recorded,
                                    const OnnxConfig& config, const ValidationOptions& options) {
  const Checkpoint tensors = Checkpoint::open(recorded);
  Validator v(model, options);
  v.take_config(config);
  Ordered<Tensor> inputs;
  for (const IoInfo& io : v.engine().inputs()) {
    if (tensors.contains(io.name))
      inputs[io.name] = tensors.tensor(io.name);
    else if (!io.optional)
      throw error_about(Code::run_missing_input, "validate", recorded.string(),
                        "a tensor for every input of " + model.filename().string(),
                        "none for '" + io.name + "'");
  }
  NamedValues want;
  for (const IoInfo& io : v.engine().outputs())
    if (tensors.contains(io.name)) want[io.name] = tensors.tensor(io.name);
  if (want.empty())
    throw error_about(Code::run_missing_input, "validate", recorded.string(),
                      "a tensor for some output of " + model.filename().string(), "none",
                      "outputs are found by their names");
  return v.recorded(inputs, want);
}

}  // namespace lathe::exporters
