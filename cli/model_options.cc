#include "model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <set>

#include "command.h"

namespace lathe::cli {
namespace {

int64_t parse_size(std::string_view text, const std::string& whole) {
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (fault != std::errc() || end != text.data() + text.size() || n < 0)
    refuse_argument("--shape SYMBOL=SIZE or INPUT=2x3x4, sizes not negative", "'" + whole + "'");
  return n;
}

/// "1x3x224x224", also with commas and within brackets.
Shape parse_shape(std::string_view text, const std::string& whole) {
  Shape shape;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("x,"), text.size());
    shape.push_back(parse_size(text.substr(0, end), whole));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

/// The sizes that shapes of inputs give to plain symbols: input [batch, 3] with shape [4, 3] says batch = 4.
/// Refuses a shape that the input cannot have, or that says otherwise than another --shape.
void learn(const IoInfo& io, const Shape& shape, std::map<std::string, int64_t>& symbols) {
  if (!io.shape) return;
  bool fits = io.shape->size() == shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
    const Dim& declared = (*io.shape)[axis];
    if (const auto name = declared.symbol_name())
      fits = symbols.emplace(*name, shape[axis]).first->second == shape[axis];
    else
      fits = !declared.is_constant() || declared.constant() == shape[axis];
  }
  if (fits) return;
  std::string known;
  for (const auto& [name, size] : symbols)
    known += (known.empty() ? " with " : ", ") + name + "=" + std::to_string(size);
  refuse_argument("--shape " + io.name + "=… for " + describe(*io.shape) + known, describe(shape));
}

}  // namespace

void ModelOptions::add_to(CLI::App* sub, bool takes_plans) {
  sub->add_option("MODEL", model,
                  takes_plans ? "An .onnx file, ONNX text (.onnxtxt), or a .lathe plan"
                              : "An .onnx file, or ONNX text (.onnxtxt)")
      ->required()
      ->type_name("FILE");
  sub->add_flag("--untrusted", untrusted, "Read files into private memory instead of mapping them");
  sub->add_option("--allow-links", link_roots,
                  "A directory whose files may be reached through links (may be repeated)")
      ->type_name("DIR");
}

bool begins_with(const std::filesystem::path& file, std::string_view magic) {
  std::error_code failed;  // opening a pipe would take from it what it has
  if (!std::filesystem::is_regular_file(file, failed)) return false;
  std::string beginning(magic.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) && beginning == magic;
}

bool is_plan(const std::filesystem::path& file) {
  return file.extension() == ".lathe" || begins_with(file, "LATHEPLN");
}

bool ModelOptions::is_plan() const { return cli::is_plan(model); }

onnx::LoadOptions ModelOptions::load_options() const {
  onnx::LoadOptions o;
  o.untrusted = untrusted;
  o.link_roots = link_roots;
  return o;
}

void ShapeOptions::add_to(CLI::App* sub) {
  sub->add_option("--shape", shapes,
                  "A symbol's size, batch=1, or an input's shape, x=1x3x224x224 (may be repeated)")
      ->type_name("NAME=SIZE");
}

Sizes ShapeOptions::parse() const {
  Sizes sizes;
  for (const std::string& text : shapes) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) parse_size("?", text);
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    if (value.find_first_of("x,[") == std::string::npos && !value.empty()) {
      sizes.symbols[name] = parse_size(value, text);
      continue;
    }
    sizes.inputs[name] = parse_shape(value, text);
  }
  return sizes;
}

std::vector<ShapeProfile> parse_profiles(const std::vector<std::string>& ranges) {
  std::vector<ShapeProfile> profiles;
  for (const std::string& text : ranges) {
    const size_t equals = text.rfind('='), at = std::min(text.find('@'), equals);
    const size_t opt = text.find(':', std::min(equals, text.size())),
                 max = text.find(':', std::min(opt, text.size() - 1) + 1);
    if (equals == std::string::npos || equals == 0 || opt == std::string::npos || max == std::string::npos)
      refuse_argument("--range [PROFILE@]INPUT=MIN:OPT:MAX, shapes as 1x3x224x224", "'" + text + "'");
    const bool named = at < equals;
    const std::string profile = named ? text.substr(0, at) : "default";
    const std::string input = named ? text.substr(at + 1, equals - at - 1) : text.substr(0, equals);
    auto known = std::ranges::find(profiles, profile, &ShapeProfile::name);
    if (known == profiles.end()) known = profiles.insert(profiles.end(), {profile, {}});
    known->inputs[input] = {parse_shape(text.substr(equals + 1, opt - equals - 1), text),
                            parse_shape(text.substr(opt + 1, max - opt - 1), text),
                            parse_shape(text.substr(max + 1), text)};
  }
  return profiles;
}

std::vector<StatePair> parse_states(const std::vector<std::string>& states) {
  std::vector<StatePair> pairs;
  for (const std::string& text : states) {
    const size_t equals = text.find('=');
    if (text != "auto" && (equals == std::string::npos || equals == 0 || equals + 1 == text.size()))
      refuse_argument("--states INPUT=OUTPUT or auto", "'" + text + "'");
    pairs.push_back(text == "auto" ? StatePair{"auto", ""}
                                   : StatePair{text.substr(0, equals), text.substr(equals + 1)});
  }
  return pairs;
}

void add_memory_limit(CLI::App* sub, uint64_t& limit) {
  const auto read = [&limit](const std::string& text) {
    const char* const end = text.data() + text.size();
    uint64_t n = 0;
    const auto [stop, fault] = std::from_chars(text.data(), end, n);
    std::string unit(stop, end);
    for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (unit.ends_with('B')) unit.pop_back();
    if (unit.size() == 2 && unit[1] == 'I') unit.pop_back();
    constexpr std::string_view units = "KMGT";
    const size_t at = unit.empty() ? 0 : units.find(unit), power = unit.empty() ? 0 : at + 1;
    if (fault != std::errc() || n == 0 || unit.size() > 1 || at == units.npos ||
        n > UINT64_MAX >> (10 * power))
      throw CLI::ValidationError("--memory-limit", "'" + text + "', which is no size such as 512M or 2GiB");
    limit = n << (10 * power);
  };
  sub->add_option_function<std::string>(
         "--memory-limit", read,
         "Refuse runs that hold more memory: bytes, or 512M, 2GiB; else what the control group allows")
      ->type_name("SIZE");
}

void EngineOptions::add_to(CLI::App* sub) {
  sub->add_option("--threads", threads, "Threads to use; 0: as `lathe info` says")->check(not_negative);
  add_memory_limit(sub, memory_limit);
  sub->add_option("--backend", backend, "cpu, reference, or one that a plug-in brings")
      ->capture_default_str();
  sub->add_option("--isa", isa, "The best instruction set that may be used: generic, avx2, avx512");
  sub->add_option("--plugin", plugins,
                  "A shared library that brings a backend or operators (may be repeated)")
      ->type_name("FILE");
  const std::vector<std::pair<std::string_view, Precision>> choices{
      {"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}, {"bf16", Precision::bfloat16}};
  of_builds_.push_back(
      add_choice(sub, "--precision", precision, choices,
                 "What products with constant weights are calculated in: float32, bfloat16 or "
                 "bf16 (opt-in: less exact)"));
  of_builds_.push_back(
      add_choice(sub, "--numerics", numerics, all_numerics,
                 "normal; strict: each item of a batch comes out as it would alone, bit by bit"));
  of_builds_.push_back(
      sub->add_option("--range", ranges,
                      "Shapes that an input may have, x=1x3:4x3:8x3: smallest, usual, greatest; PROFILE@x=… "
                      "for more than one profile (may be repeated)")
          ->type_name("INPUT=MIN:OPT:MAX"));
  of_builds_.push_back(
      sub->add_option("--states", states,
                      "Inputs that stay where they are from run to run, and the outputs that are "
                      "their next values: 'past_key_values.*=present.*', or auto (may be repeated)")
          ->type_name("INPUT=OUTPUT")
          ->allow_extra_args(false));
  of_builds_.push_back(
      sub->add_option("--state-capacity", state_capacity, "The greatest length of states that grow")
          ->check(positive)
          ->capture_default_str());
  of_builds_.push_back(
      sub->add_flag("--refit", refit, "Weights may be exchanged later: rewrite nothing by what they hold"));
  sub->add_flag("--verify-weights", verify_weights,
                "Of a plan: hold its stored arrays against their checksums");
  sub->add_flag("--flush-denormals", flush_denormals, "Take denormal numbers for zero");
  add_level(sub);
}

void EngineOptions::add_level(CLI::App* sub) {
  const std::initializer_list<const CLI::Option*> all{
      add_choice(sub, "--level", level, optimization_levels,
                 "How much to optimize: none, basic, extended, all"),
      sub->add_option("--fold-limit", fold_limit, "Bytes that constant folding may add; 0: fold nothing")
          ->capture_default_str(),
      sub->add_flag("--fix-defaults", fix_defaults, "Inputs that have a default are constants"),
      sub->add_option("--passes", passes, "Single passes on or off: +NAME,-NAME (`lathe info` lists them)")
          ->delimiter(',')};
  of_builds_.insert(of_builds_.end(), all);
}

BuildOptions EngineOptions::build_options(const ModelOptions& model) const {
  if (model.is_plan()) refuse_for_plan(of_builds_, model.model);
  BuildOptions o;
  o.threads = threads;
  o.memory_limit = memory_limit;
  o.backend = backend;
  o.isa = isa;
  o.plugins = plugins;
  o.fold_limit = fold_limit;
  o.fix_defaults = fix_defaults;
  o.precision = precision;
  o.numerics = numerics;
  o.profiles = parse_profiles(ranges);
  o.states = parse_states(states);
  o.state_capacity = state_capacity;
  o.refit = refit;
  o.verify_weights = verify_weights;
  o.flush_denormals = flush_denormals;
  o.level = level;
  o.passes = passes;
  o.load = model.load_options();
  return o;
}

std::map<std::string, int64_t> known_symbols(const std::vector<IoInfo>& inputs, const Sizes& sizes) {
  std::map<std::string, int64_t> symbols = sizes.symbols;
  std::set<std::string> declared;
  for (const IoInfo& io : inputs) {
    if (io.shape)
      for (const Dim& d : *io.shape)
        for (const std::string& name : d.symbols()) declared.insert(name);
    if (const auto at = sizes.inputs.find(io.name); at != sizes.inputs.end()) learn(io, at->second, symbols);
  }
  const auto refuse = [](const std::string& name) {
    refuse_argument("--shape for a symbol (name=8) or an input (name=8x3) of the model", "'" + name + "'",
                    "`lathe inspect` lists both");
  };
  for (const auto& [name, size] : sizes.symbols)
    if (!declared.contains(name)) refuse(name);
  for (const auto& [name, shape] : sizes.inputs)
    if (std::none_of(inputs.begin(), inputs.end(), [&](const IoInfo& io) { return io.name == name; }))
      refuse(name);
  return symbols;
}

NamedShapes complete_shapes(const std::vector<IoInfo>& inputs, const Sizes& sizes,
                            std::vector<std::string>* assumed) {
  std::map<std::string, int64_t> symbols = known_symbols(inputs, sizes);
  NamedShapes shapes;
  for (const IoInfo& io : inputs) {
    if (io.element_type == DataType::undefined) continue;
    if (const auto at = sizes.inputs.find(io.name); at != sizes.inputs.end()) {
      shapes[io.name] = at->second;
      continue;
    }
    if (!io.shape) refuse_argument("--shape " + io.name + "=2x3, since its rank is not declared", "none");
    Shape shape;
    for (const Dim& d : *io.shape) {
      for (const std::string& name : d.symbols())
        if (symbols.emplace(name, 1).second && assumed) assumed->push_back(name);
      shape.push_back(d.evaluate([&](std::string_view name) -> std::optional<int64_t> {
                         return symbols.at(std::string(name));
                       }).value_or(1));
    }
    shapes[io.name] = shape;
  }
  return shapes;
}

onnx::Model ModelOptions::load() const {
  if (is_plan())
    refuse_argument("a model", model.string() + ", a plan", "give the .onnx file that it was made from");
  return onnx::Model::load(model, load_options());
}

void refuse_for_plan(const std::vector<const CLI::Option*>& options, const std::filesystem::path& plan) {
  for (const CLI::Option* o : options)
    if (o->count() > 0)
      refuse_argument("a model for " + o->get_name(), plan.string() + ", a plan, which is built already",
                      "build it again with that option, or leave it out");
}

Engine make_engine(const ModelOptions& model, const BuildOptions& options) {
  return model.is_plan() ? Engine::load(model.model, options) : Engine::build(model.model, options);
}

std::string defaults_text(const std::vector<IoInfo>& inputs) {
  const auto n = std::ranges::count(inputs, true, &IoInfo::optional);
  if (n == 0) return "";
  return fmt::format(
      "{} of the inputs {} a default that a run may replace: nothing that follows from one is computed or "
      "packed "
      "beforehand (--fix-defaults makes constants of them)\n",
      n, n == 1 ? "has" : "have");
}

}  // namespace lathe::cli
