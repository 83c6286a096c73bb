#include "generation_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "command.h"
#include "model_options.h"
#include "progress.h"
#include "stop_signals.h"
#include "text.h"

namespace lathe::cli {
namespace {

/// Answers end after so many tokens where neither the command line nor the model says anything.
constexpr int64_t usual_max_tokens = 512;

template <class T>
void add_number(CLI::App* sub, const char* name, std::optional<T>& value, const char* help) {
  sub->add_option(name, value, help)->check(not_negative)->type_name(std::is_integral_v<T> ? "N" : "X");
}

}  // namespace

bool is_language_model(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) || begins_with(path, "GGUF");
}

bool is_language_model_or_plan(const std::filesystem::path& path) {
  if (is_language_model(path)) return true;
  return is_plan(path) && is_language_model(Engine::load(path, {.threads = 1}));
}

bool is_language_model(const Engine& engine) {
  return std::ranges::any_of(engine.inputs(), [](const IoInfo& i) { return i.name == logits_rows_input; });
}

void add_kv_type(CLI::App* sub, std::string& type) {
  sub->add_option("--kv-type", type, "Type in which keys and values are kept, where it is not the model's")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16", "int8"}))
      ->type_name("TYPE");
}
DataType kv_type_of(const std::string& name) {
  return name.empty() ? DataType::undefined : data_type_from(name).value_or(DataType::undefined);
}

void GeneratorArguments::add_to(CLI::App* sub) {
  sub->add_option("model", model,
                  "A .gguf, a .lathe plan, a directory with a checkpoint or an exported decoder")
      ->required()
      ->type_name("MODEL");
  sub->add_option("--threads", threads, "Threads; 0: as many as the machine gives")
      ->check(not_negative)
      ->type_name("N");
  sub->add_option("--context", context_length,
                  "Tokens of prompt and answer; 0: as many as the model was made for")
      ->check(not_negative)
      ->type_name("N");
  sub->add_option("--prompt-piece", prompt_piece,
                  "Tokens of a prompt that are computed at once; it changes no answer")
      ->check(positive)
      ->type_name("N");
  sub->add_option("--isa", isa, "Best instruction set to use: generic, avx2, avx512")->type_name("WORD");
  add_kv_type(sub, kv_type);
  sub->add_flag("--untrusted", untrusted,
                "Read the file whole before it is used, so that nobody can change it");
}

Generator GeneratorArguments::open() const {
  Progress progress("opening " + model.string());
  GeneratorOptions o;
  o.build.threads = threads;
  o.build.isa = isa;
  o.build.load.untrusted = untrusted;
  o.build.control = &stop_on_signals();
  o.build.progress = [&](std::string_view stage, double fraction) {
    progress.stage(stage, fraction);
    return true;
  };
  o.context_length = context_length;
  o.prompt_piece = prompt_piece;
  o.kv_type = kv_type_of(kv_type);
  Generator g = Generator::open(model, o);
  end_on_signals();
  return g;
}

void SamplingArguments::add_to(CLI::App* sub) {
  add_number(sub, "--max-tokens", max_tokens, "End after so many tokens; by default the model's, or 512");
  add_number(sub, "--min-tokens", min_tokens, "Take no end token before so many tokens");
  CLI::Option* take_likeliest = sub->add_flag("--greedy", greedy, "Take the likeliest token each time");
  add_number(sub, "--temperature", temperature, "Sample, with logits divided by it; 0 is --greedy");
  add_number(sub, "--top-k", top_k, "Sample from so many of the likeliest tokens; 0: all");
  add_number(sub, "--top-p", top_p, "Sample from the likeliest tokens that have this probability");
  add_number(sub, "--min-p", min_p, "Sample from tokens of this share of the greatest probability");
  add_number(sub, "--typical-p", typical_p,
             "Sample from tokens whose information is nearest to the expected");
  add_number(sub, "--seed", seed, "Sample, with random numbers of this seed, which alone decides about them");
  for (const char* sampling : {"--temperature", "--top-k", "--top-p", "--min-p", "--typical-p"})
    take_likeliest->excludes(sub->get_option(sampling));
  add_number(sub, "--repetition-penalty", repetition_penalty, "Divide logits of tokens that the text has");
  add_number(sub, "--presence-penalty", presence_penalty, "Subtract it from logits of tokens of the answer");
  add_number(sub, "--frequency-penalty", frequency_penalty, "The same for each time that they occur");
  add_number(sub, "--no-repeat-ngram", no_repeat_ngram_size, "Let no run of so many tokens occur twice");
  sub->add_option("--stop", stop, "End in front of this text; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  sub->add_flag("--ignore-eos", ignore_eos, "Go on behind end tokens");
}

GenerationConfig SamplingArguments::config(const Generator& g) const {
  GenerationConfig c = g.defaults();
  const auto set = [](auto& to, const auto& from) {
    if (from) to = *from;
  };
  set(c.max_new_tokens, max_tokens);
  if (!c.max_new_tokens && !c.max_length) c.max_new_tokens = usual_max_tokens;
  set(c.min_new_tokens, min_tokens);
  set(c.top_k, top_k), set(c.top_p, top_p), set(c.min_p, min_p), set(c.typical_p, typical_p);
  set(c.repetition_penalty, repetition_penalty), set(c.presence_penalty, presence_penalty);
  set(c.frequency_penalty, frequency_penalty), set(c.no_repeat_ngram_size, no_repeat_ngram_size);
  set(c.seed, seed);
  if (temperature || seed || top_k || top_p || min_p || typical_p) c.do_sample = true;
  if (temperature && *temperature > 0) c.temperature = *temperature;
  if (greedy || (temperature && *temperature == 0)) c.do_sample = false;
  if (c.max_new_tokens && c.min_new_tokens > *c.max_new_tokens)
    refuse_argument("no more --min-tokens than --max-tokens",
                    std::to_string(c.min_new_tokens) + " and " + std::to_string(*c.max_new_tokens));
  if (!stop.empty()) c.stop_strings = stop;
  return c;
}

Json to_json(const GenerationUsage& u) {
  return {{"prompt_tokens", u.prompt_tokens},
          {"cached_tokens", u.cached_tokens},
          {"generated_tokens", u.generated_tokens},
          {"prompt_seconds", u.prompt_seconds},
          {"generate_seconds", u.generate_seconds}};
}

std::string describe(const GenerationUsage& u) {
  std::string text =
      fmt::format("{} of prompt in {}", counted(static_cast<uint64_t>(u.prompt_tokens), "token"),
                  time_text(u.prompt_seconds));
  if (u.cached_tokens > 0) text += fmt::format(" ({} known)", u.cached_tokens);
  text += ", " + counted(static_cast<uint64_t>(u.generated_tokens), "token");
  // The first token comes with the prompt.
  if (u.generated_tokens > 1 && u.generate_seconds > 0)
    text += fmt::format(" at {:.1f} per second",
                        static_cast<double>(u.generated_tokens - 1) / u.generate_seconds);
  return text;
}

}  // namespace lathe::cli
