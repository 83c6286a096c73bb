// `lathe inspect`: what a model is: inputs, outputs, operators, size, work, memory. Of a checkpoint, its
// tensors, and of GGUF its metadata.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "checkpoint.h"
#include "command.h"
#include "generation_options.h"
#include "json.h"
#include "mapped_fault.h"
#include "model_options.h"
#include "progress.h"
#include "text.h"
#include "tune_options.h"

namespace lathe::cli {
namespace {

struct InspectArguments {
  ModelOptions model;
  ShapeOptions shape;
  EngineOptions engine;
  TuneOptions tune;
  bool text = false, dot = false, steps = false;
};

std::string shape_text(const std::optional<SymShape>& shape) { return shape ? describe(*shape) : "[…]"; }

/// Memory of one run, when every size is known.
std::optional<MemoryInfo> memory_of(const onnx::Model& model, const ModelSummary& summary, const Sizes& sizes,
                                    const InspectArguments& o) {
  std::vector<std::string> assumed;
  for (const IoInfo& io : summary.inputs)
    if (!io.shape && !sizes.inputs.contains(io.name)) return std::nullopt;
  const NamedShapes shapes = complete_shapes(summary.inputs, sizes, &assumed);
  if (!assumed.empty()) return std::nullopt;
  BuildOptions build = o.engine.build_options(o.model);
  build.load = model.options;
  return Engine::build(model, build).memory(shapes);
}

Json summary_json(const ModelSummary& s, const std::optional<MemoryInfo>& memory) {
  Json opsets = Json::object(), operators = Json::object(), inputs = Json::array(), outputs = Json::array();
  for (const auto& [domain, version] : s.opsets) opsets[domain.empty() ? "ai.onnx" : domain] = version;
  for (const auto& [name, count] : s.operators) operators[name] = count;
  for (const IoInfo& io : s.inputs) inputs.push_back(to_json(io));
  for (const IoInfo& io : s.outputs) outputs.push_back(to_json(io));
  Json j{{"graph", s.graph_name},
         {"producer", s.producer},
         {"ir_version", s.ir_version},
         {"opsets", opsets},
         {"inputs", inputs},
         {"outputs", outputs},
         {"symbols", s.symbols},
         {"nodes", s.nodes},
         {"functions", s.functions},
         {"operators", operators},
         {"parameters", s.parameters},
         {"parameter_bytes", s.parameter_bytes},
         {"flops", s.flops.is_constant() ? Json(s.flops.constant()) : Json(s.flops.str())},
         {"flops_unknown_nodes", s.flops_unknown},
         {"memory", nullptr}};
  if (memory)
    j["memory"] = {{"weights", memory->weights},
                   {"activations", memory->activations},
                   {"workspace", memory->workspace},
                   {"outputs", memory->outputs},
                   {"data_dependent", memory->data_dependent},
                   {"uncounted", memory->uncounted},
                   {"records", memory->records},
                   {"states", memory->states},
                   {"total", memory->total()}};
  return j;
}

void print_values(const char* title, const std::vector<IoInfo>& list) {
  fmt::print("{}\n", title);
  Table t;
  for (const IoInfo& io : list)
    t.add({io.name, io.type, io.element_type == DataType::undefined ? "" : shape_text(io.shape),
           !io.state.empty() ? "a state: " + io.state
           : io.optional     ? "has a default"
                             : ""});
  t.print();
}

void print_text(const ModelSummary& s, const std::optional<MemoryInfo>& memory) {
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : s.opsets)
    opsets.push_back(fmt::format("{} {}", domain.empty() ? "ai.onnx" : domain, version));
  fmt::print("graph '{}', opset {}, IR version {}{}\n", s.graph_name, join(opsets, ", "), s.ir_version,
             s.producer.empty() ? "" : ", made by " + s.producer);
  print_values("inputs", s.inputs);
  print_values("outputs", s.outputs);
  fmt::print("{}", defaults_text(s.inputs));
  if (!s.symbols.empty()) fmt::print("symbols\n  {}\n", join(s.symbols, ", "));
  fmt::print("operators ({}{})\n", counted(s.nodes, "node"),
             s.functions ? fmt::format(", {} functions", s.functions) : "");
  std::vector<std::pair<std::string, int64_t>> by_count(s.operators.begin(), s.operators.end());
  std::stable_sort(by_count.begin(), by_count.end(), [](auto& a, auto& b) { return a.second > b.second; });
  Table t;
  for (const auto& [name, count] : by_count) t.add({name, std::to_string(count)});
  t.print();
  fmt::print("parameters\n  {} ({})\n", count_text(static_cast<double>(s.parameters)),
             bytes_text(s.parameter_bytes));
  fmt::print(
      "work of one run\n  {} floating-point operations{}\n",
      s.flops.is_constant() ? count_text(static_cast<double>(s.flops.constant())) : s.flops.str(),
      s.flops_unknown ? fmt::format(", without {} of unknown shape", counted(s.flops_unknown, "node")) : "");
  if (memory) {
    fmt::print(
        "memory\n  {}{} ({} weights, {} activations, {} workspace, {} outputs{})\n",
        memory->data_dependent ? "at most " : "", bytes_text(memory->total()), bytes_text(memory->weights),
        bytes_text(memory->activations), bytes_text(memory->workspace), bytes_text(memory->outputs),
        memory->data_dependent ? ", " + bytes_text(memory->data_dependent) + " as the data decide" : "");
    fmt::print("  and {} of records for each context\n", bytes_text(memory->records));
    if (memory->states > 0)
      fmt::print("  and {} of states, which the caller owns\n", bytes_text(memory->states));
    if (!memory->uncounted.empty()) fmt::print("  and of unknown size: {}\n", join(memory->uncounted, ", "));
  } else {
    fmt::print("memory\n  known once sizes are: --shape {}=1\n", s.symbols.empty() ? "INPUT" : s.symbols[0]);
  }
}

/// Prints the steps of the engine.
void print_steps(const Engine& e, bool json) {
  const std::vector<StepInfo> steps = e.steps();
  if (json) {
    Json list = Json::array();
    for (const StepInfo& s : steps)
      list.push_back({{"node", s.node},
                      {"op", s.op},
                      {"fused", s.fused},
                      {"kernel", s.kernel},
                      {"tunables", s.tunables},
                      {"timings", to_json(s.timings)},
                      {"backend", s.backend},
                      {"origin", s.origin},
                      {"refusals", s.refusals},
                      {"unfused", s.unfused},
                      {"memory", s.memory},
                      {"strict", s.strict}});
    return print({{"steps", list}});
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepInfo& s = steps[i];
    std::vector<std::string> operators = s.fused;
    if (s.op != "Pointwise") operators.insert(operators.begin(), s.op);
    std::vector<std::string> values;
    for (int64_t t : s.tunables) values.push_back(std::to_string(t));
    fmt::print("{:4} {}  {}{}  {}\n", i, join(operators, " + "), s.kernel,
               values.empty() ? "" : " [" + join(values, ", ") + "]", s.node);
    if (!s.memory.empty()) fmt::print("       memory: {}\n", s.memory);
    if (!s.timings.empty()) fmt::print("       measured: {}\n", text_of(s.timings));
    if (!s.strict.empty()) fmt::print("       strict: {}\n", s.strict);
    for (const std::string& why : s.unfused) fmt::print("       not fused: {}\n", why);
    for (const std::string& why : s.refusals) fmt::print("       not taken: {}\n", why);
  }
}

Json profiles_json(const Engine& e) {
  Json all = Json::object();
  for (const ShapeProfile& p : e.profiles())
    for (const auto& [input, r] : p.inputs)
      for (const auto& [bound, shape] : {std::pair{"min", &r.min}, {"opt", &r.opt}, {"max", &r.max}})
        all[p.name][input][bound] = std::vector<int64_t>(shape->begin(), shape->end());
  return all;
}

void print_profiles(const Engine& e) {
  if (e.profiles().empty()) return;
  fmt::print("profiles\n");
  Table t;
  for (const ShapeProfile& p : e.profiles())
    for (const auto& [input, r] : p.inputs)
      t.add({p.name, input, describe(r.min) + " to " + describe(r.max), "mostly " + describe(r.opt)});
  t.print();
}

/// Opens a plan as the language model that it is; nothing for others.
std::optional<Generator> language_model(const InspectArguments& o, const Engine& e) {
  if (!is_language_model(e)) return std::nullopt;
  try {
    return Generator::load(o.model.model, {.build = o.engine.build_options(o.model)});
  } catch (const Error&) {  // only its input has that name
    return std::nullopt;
  }
}

/// Prints all that a plan still knows of its model, and its processor.
int inspect_plan(const InspectArguments& o, bool json) {
  if (o.text || o.dot)
    refuse_argument("a model", "a plan, which has no graph any more", "--steps lists what it does");
  o.tune.refuse_for_plan(o.model.model);
  const Engine e = Engine::load(o.model.model, o.engine.build_options(o.model));
  if (o.steps) {
    print_steps(e, json);
    return success;
  }
  const TargetInfo target = e.target();
  const std::optional<Generator> model = language_model(o, e);
  if (json) {
    Json inputs = Json::array(), outputs = Json::array();
    for (const IoInfo& io : e.inputs()) inputs.push_back(to_json(io));
    for (const IoInfo& io : e.outputs()) outputs.push_back(to_json(io));
    Json j{{"plan", o.model.model.string()},
           {"isa", target.isa},
           {"built_for", target.built_for},
           {"section", target.section},
           {"device", target.device},
           {"inputs", inputs},
           {"outputs", outputs},
           {"symbols", e.symbols()},
           {"numerics", name_of(e.numerics())},
           {"profiles", profiles_json(e)},
           {"steps", e.steps().size()}};
    if (model)
      j["language_model"] = {{"context_length", model->context_length()},
                             {"vocabulary_size", model->vocabulary_size()},
                             {"tokenizer", model->has_tokenizer()},
                             {"chat_template", model->has_chat_template()}};
    print(j);
    return success;
  }
  fmt::print("a plan for {} built for {}, opened for {} from its {} section; {}, {} numerics\n",
             target.device, target.built_for, target.isa, target.section, counted(e.steps().size(), "step"),
             name_of(e.numerics()));
  if (model)
    fmt::print(
        "a language model: contexts of {} tokens, a vocabulary of {}, {} tokenizer, {} chat template\n",
        model->context_length(), model->vocabulary_size(), model->has_tokenizer() ? "a" : "no",
        model->has_chat_template() ? "a" : "no");
  print_values("inputs", e.inputs());
  print_values("outputs", e.outputs());
  print_profiles(e);
  return success;
}

int run_inspect(const InspectArguments& o, bool json) {
  report_mapped_faults(o.model.model, json);
  if (is_checkpoint(o.model.model)) {
    if (o.text || o.dot || o.steps)
      refuse_argument("a model", "a checkpoint, which has tensors but no graph", "leave the option out");
    return inspect_checkpoint(o.model.model, o.model.untrusted, json);
  }
  if (o.model.is_plan()) return inspect_plan(o, json);
  if (o.dot && json) refuse_argument("--dot or --json", "both", "--text --json prints the graph as JSON");
  const Sizes requested = o.shape.parse();
  Progress progress("inspecting " + o.model.model.string());
  const onnx::Model model = o.model.load();
  const auto& plugins = o.engine.plugins;
  ModelSummary summary = inspect(model, {}, plugins);
  const auto symbols = known_symbols(summary.inputs, requested);
  if (o.text || o.dot) {
    const auto format = o.dot ? GraphFormat::dot : json ? GraphFormat::json : GraphFormat::text;
    fmt::print("{}\n", describe_graph(model, format, symbols, plugins));
    return success;
  }
  if (!symbols.empty()) summary = inspect(model, symbols, plugins);
  if (o.steps) {
    BuildOptions build = o.engine.build_options(o.model);
    build.shapes = symbols;
    o.tune.apply(build, progress);
    print_steps(Engine::build(model, build), json);
    return success;
  }
  const auto memory = memory_of(model, summary, {{}, requested.inputs}, o);
  json ? print(summary_json(summary, memory)) : print_text(summary, memory);
  return success;
}

}  // namespace

void add_inspect(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "inspect",
              "Tell what a model is: inputs, outputs, operators, parameters, work and memory; of a "
              "checkpoint, its tensors, and of a GGUF file its metadata",
              "  lathe inspect model.onnx\n  lathe inspect model.onnx --shape batch=8 --json\n"
              "  lathe inspect model.onnx --steps --level extended\n"
              "  lathe inspect model.onnx --steps --effort normal --tune-seconds 10\n"
              "  lathe build model.onnx\n  lathe inspect model.lathe\n"
              "  lathe inspect model.onnx --text\n  lathe inspect model.onnx --dot\n"
              "  lathe inspect model.safetensors\n"
              "  lathe inspect model.gguf\n");
  auto options = std::make_shared<InspectArguments>();
  options->model.add_to(sub, true);
  sub->get_option("MODEL")->description(
      "An .onnx file, ONNX text (.onnxtxt), a .lathe plan, or a checkpoint: a directory, .safetensors, .gguf "
      "(of a split one any part), .bin, .pt, .pth, .npz, .npy, or an .index.json of shards");
  options->shape.add_to(sub);
  CLI::Option* text = sub->add_flag("--text", options->text,
                                    "Print the graph after import, a line a node (with --json: as JSON)");
  CLI::Option* dot =
      sub->add_flag("--dot", options->dot, "Print the graph after import for Graphviz")->excludes(text);
  sub->add_flag(
         "--steps", options->steps,
         "Print the steps that the engine takes: operators that became one, kernels, and why not others")
      ->excludes(text)
      ->excludes(dot);
  options->engine.add_to(sub);
  options->tune.add_to(sub);
  sub->callback([&command, options] {
    command.run = [&command, options] { return run_inspect(*options, command.json); };
  });
}

}  // namespace lathe::cli
