// `lathe perplexity`: how well a language model predicts a text, and how two models differ on it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "command.h"
#include "generation_options.h"
#include "progress.h"
#include "stop_signals.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct PerplexityArguments {
  GeneratorArguments generator;
  std::filesystem::path text, against;
  int64_t window = 512;
};

struct Sums {
  int64_t predicted = 0, windows = 0, agreed = 0;
  double nll = 0, other_nll = 0, divergence = 0, greatest_divergence = 0;
};

std::string read_all(const std::filesystem::path& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(path, std::ios::binary);
  if (std::error_code ignored; !in || std::filesystem::is_directory(path, ignored))
    throw Error(Code::file_not_found, "command line", "a text file", "'" + path.string() + "'",
                "-: standard input");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The logarithms of all probabilities, as doubles.
std::vector<double> log_probabilities(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (float v : logits) sum += std::exp(v - most);
  const double total = most + std::log(sum);
  std::vector<double> all(logits.size());
  std::ranges::transform(logits, all.begin(), [&](float v) { return v - total; });
  return all;
}

void compare(std::span<const float> a, std::span<const float> b, int32_t next, Sums& sums) {
  const auto p = log_probabilities(a), q = log_probabilities(b);
  double divergence = 0;
  for (size_t i = 0; i < p.size(); ++i)
    if (std::isfinite(p[i])) divergence += std::exp(p[i]) * (p[i] - q[i]);
  sums.divergence += divergence;
  sums.greatest_divergence = std::max(sums.greatest_divergence, divergence);
  sums.other_nll -= q[static_cast<size_t>(next)];
  sums.agreed += std::ranges::max_element(a) - a.begin() == std::ranges::max_element(b) - b.begin();
}

/// A window is a text of its own: nothing before it counts.
void add_window(const Generator& g, const Generator* other, std::span<const int32_t> tokens, Sums& sums) {
  ++sums.windows;
  RunControl& control = stop_on_signals();
  const auto predicted = tokens.first(tokens.size() - 1);
  TokenSequence s = g.sequence(predicted), t = other ? other->sequence(predicted) : TokenSequence();
  g.compute(
      s,
      [&](int64_t position, std::span<const float> logits) {
        const int32_t next = tokens[static_cast<size_t>(position + 1)];
        ++sums.predicted;
        sums.nll -= log_probability(logits, next);
        if (!other) return;
        // The other model follows token by token: the rows of a whole window may be large.
        TokenSequence upto = t;
        upto.rewind(position + 1);
        t = TokenSequence();
        std::vector<float> row;
        other->compute(
            upto, [&](int64_t, std::span<const float> its) { row.assign(its.begin(), its.end()); }, &control);
        compare(logits, row, next, sums);
        upto.append(predicted.subspan(static_cast<size_t>(position + 1)));
        t = std::move(upto);
      },
      &control);
}

int run_perplexity(const PerplexityArguments& o, bool json) {
  const Generator g = o.generator.open();
  std::optional<Generator> other;
  if (!o.against.empty()) {
    GeneratorArguments second = o.generator;
    second.model = o.against;
    second.kv_type.clear();  // keys and values as that model keeps them
    other = second.open();
    if (other->vocabulary_size() != g.vocabulary_size())
      refuse_argument("models of one vocabulary", std::to_string(g.vocabulary_size()) + " and " +
                                                      std::to_string(other->vocabulary_size()) + " tokens");
  }
  const std::vector<int32_t> tokens = g.encode(read_all(o.text));
  if (tokens.size() < 2) refuse_argument("a text of at least two tokens", std::to_string(tokens.size()));
  const auto window = static_cast<size_t>(std::min(o.window, g.context_length()));
  if (window < 2) refuse_argument("windows of at least two tokens", std::to_string(window));
  Progress progress("computing " + counted(tokens.size(), "token"));
  Sums sums;
  for (size_t at = 0; at + 1 < tokens.size(); at += window) {
    progress.stage("", static_cast<double>(at) / static_cast<double>(tokens.size()));
    const size_t n = std::min(window, tokens.size() - at);
    if (n > 1) add_window(g, other ? &*other : nullptr, std::span(tokens).subspan(at, n), sums);
  }
  const auto n = static_cast<double>(sums.predicted);
  const double nll = sums.nll / n;
  if (json) {
    Json j{{"tokens", tokens.size()},
           {"predicted", sums.predicted},
           {"windows", sums.windows},
           {"nll", nll},
           {"perplexity", std::exp(nll)}};
    if (other)
      j["against"] = {{"nll", sums.other_nll / n},
                      {"perplexity", std::exp(sums.other_nll / n)},
                      {"kl_divergence", sums.divergence / n},
                      {"greatest_kl_divergence", sums.greatest_divergence},
                      {"same_first_choice", static_cast<double>(sums.agreed) / n}};
    print(j);
    return success;
  }
  fmt::print("perplexity {:.4f} (nll {:.5f} of {} in {})\n", std::exp(nll), nll,
             counted(static_cast<uint64_t>(sums.predicted), "token"),
             counted(static_cast<uint64_t>(sums.windows), "window"));
  if (other)
    fmt::print(
        "against    {:.4f} (nll {:.5f}), KL divergence {:.6f} (at most {:.4f}), first choice the same {:.2f} "
        "%\n",
        std::exp(sums.other_nll / n), sums.other_nll / n, sums.divergence / n, sums.greatest_divergence,
        100 * static_cast<double>(sums.agreed) / n);
  return success;
}

}  // namespace

void add_perplexity(CLI::App& app, Command& command) {
  CLI::App* sub = declare(app, command, "perplexity", "How well a language model predicts a text",
                          "  lathe perplexity decoder words.txt\n"
                          "  lathe perplexity decoder words.txt --kv-type int8 --against decoder --json\n");
  auto o = std::make_shared<PerplexityArguments>();
  o->generator.add_to(sub);
  sub->add_option("text", o->text, "A text file; -: standard input")->required()->type_name("FILE");
  sub->add_option("--window", o->window, "Tokens that are predicted as a text of their own")
      ->check(positive)
      ->type_name("N");
  sub->add_option("--against", o->against,
                  "Another model of the same tokens: how far the first's probabilities are from its")
      ->type_name("MODEL");
  sub->callback([&command, o] { command.run = [&command, o] { return run_perplexity(*o, command.json); }; });
}

}  // namespace lathe::cli
