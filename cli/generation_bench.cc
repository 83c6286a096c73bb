#include "generation_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "command.h"
#include "progress.h"
#include "text.h"

namespace lathe::cli {
namespace {

constexpr size_t fewest_rounds = 3;

double median_of(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

/// Tokens in an order that follows no text: what they are has no influence on the time.
std::vector<int32_t> any_tokens(const Generator& g, int64_t n) {
  std::vector<int32_t> all;
  uint64_t state = 1;
  for (int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    all.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(g.vocabulary_size())));
  }
  return all;
}

}  // namespace

int run_generation_bench(const GeneratorArguments& model, const GenerationBench& given, bool json) {
  GenerationBench o = given;
  const auto begun = Clock::now();
  const Generator g = model.open();
  const double opened = seconds_since(begun);
  if (o.fits && o.prompt + o.generate > g.context_length()) {
    o.prompt = g.context_length() * 3 / 4;
    o.generate = g.context_length() / 4;
  }
  if (o.prompt + o.generate > g.context_length())
    refuse_argument("at most " + std::to_string(g.context_length()) + " tokens, the length of the context",
                    std::to_string(o.prompt + o.generate));
  Progress progress("generating");
  std::vector<double> prompt, generate;
  const auto start = Clock::now();
  do {
    // A text of one token where only generating is measured.
    auto answer =
        g.generate(g.sequence(any_tokens(g, std::max<int64_t>(o.prompt, 1))),
                   {.config = GenerationConfig{.max_new_tokens = std::max<int64_t>(o.generate, 1) + 1},
                    .ignore_eos = true});
    const auto first = Clock::now();
    answer.next();
    prompt.push_back(seconds_since(first));
    const auto rest = Clock::now();
    for (int64_t i = 0; i < o.generate; ++i) answer.next();
    generate.push_back(seconds_since(rest));
  } while (prompt.size() < fewest_rounds || seconds_since(start) < o.seconds);
  const GeneratorMemory memory = g.memory(1, std::max<int64_t>(o.prompt + o.generate, 1));
  const double of_prompt = static_cast<double>(o.prompt) / median_of(prompt),
               of_generate = static_cast<double>(o.generate) / median_of(generate);
  if (json) {
    Json j{{"model", model.model.string()},
           {"threads", g.engine().threads()},
           {"open_seconds", opened},
           {"rounds", prompt.size()}};
    if (o.prompt > 0)
      j["prompt"] = {{"tokens", o.prompt}, {"seconds", median_of(prompt)}, {"tokens_per_second", of_prompt}};
    if (o.generate > 0)
      j["generate"] = {
          {"tokens", o.generate}, {"seconds", median_of(generate)}, {"tokens_per_second", of_generate}};
    j["memory"] = {{"weights", memory.weights}, {"context", memory.context}, {"sequence", memory.sequences}};
    print(j);
    return success;
  }
  Table t("");
  t.add({"open", time_text(opened)});
  if (o.prompt > 0)
    t.add({"prompt", fmt::format("{:.1f} tokens a second ({}, {} to the first token)", of_prompt, o.prompt,
                                 time_text(median_of(prompt)))});
  if (o.generate > 0)
    t.add({"generate", fmt::format("{:.1f} tokens a second ({})", of_generate, o.generate)});
  t.add({"memory", fmt::format("{} of weights, {} to work, {} of keys and values", bytes_text(memory.weights),
                               bytes_text(memory.context), bytes_text(memory.sequences))});
  t.print();
  fmt::print("medians of {}, {}\n", counted(prompt.size(), "round"),
             counted(static_cast<uint64_t>(g.engine().threads()), "thread"));
  return success;
}

}  // namespace lathe::cli
