#include <algorithm>
#include <chrono>

#include "generate/generator_impl.h"
#include "lathe/error.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

}  // namespace

struct Generation::State {
  State(std::shared_ptr<const Generator::Impl> g, TokenSequence s, GenerationRequest r)
      : generator(std::move(g)),
        sequence(std::move(s)),
        request(std::move(r)),
        prompt(sequence.size()),
        sampler(config_of(*generator, request, prompt), generator->decoder.vocabulary_size()),
        stops(sampler.config().stop_strings) {
    if (generator->tokenizer) stream.emplace(generator->tokenizer->decode_stream());
    usage.prompt_tokens = prompt;
    usage.cached_tokens = sequence.cached();
  }

  /// Returns what is asked for, with the end tokens of the model, and with an end at the end of the context.
  static GenerationConfig config_of(const Generator::Impl& g, const GenerationRequest& r, int64_t prompt) {
    GenerationConfig c = r.config ? *r.config : g.defaults;
    if (c.eos_token_id.empty()) c.eos_token_id = g.defaults.eos_token_id;
    if (r.ignore_eos) c.eos_token_id.clear();
    if (!c.stop_strings.empty() && !g.tokenizer)
      throw Error(Code::bad_argument, "generate", "a tokenizer for stop strings", "none",
                  "it is read from tokenizer.json beside the model");
    c.max_length = std::min(c.length_limit(prompt).value_or(g.context_length), g.context_length);
    c.max_new_tokens.reset();
    return c;
  }

  std::optional<GeneratedToken> next() {
    if (finished != FinishReason::none) return std::nullopt;
    const GenerationConfig& c = sampler.config();
    if (sequence.size() >= *c.max_length) return end_without_token();
    const auto started = Clock::now();
    const bool first = sequence.size() == prompt;
    GeneratedToken made = choose();
    (first ? usage.prompt_seconds : usage.generate_seconds) += seconds_since(started);
    ++usage.generated_tokens;
    std::string text = stream && !is_end(made.token) ? stream->append(made.token) : std::string();
    made.text = stops.append(text);
    finished = reason_after(made.token);
    if (finished != FinishReason::none && finished != FinishReason::stop_string) made.text += rest();
    made.finish_reason = finished;
    return made;
  }

  /// The text ends where the prompt does.
  std::optional<GeneratedToken> end_without_token() {
    if (prompt >= generator->context_length)
      throw Error(Code::run_state_full, "generate",
                  "a prompt of fewer than " + std::to_string(generator->context_length) +
                      " tokens, the length of the context",
                  std::to_string(prompt), "shorten it, or open the model with a greater context_length");
    finished = FinishReason::length;
    return std::nullopt;
  }

  bool is_end(int32_t token) const {
    return std::ranges::find(sampler.config().eos_token_id, token) != sampler.config().eos_token_id.end();
  }
  FinishReason reason_after(int32_t token) {
    if (is_end(token)) return FinishReason::eos;
    if (stops.found()) return FinishReason::stop_string;
    if (request.stopping_criterion && request.stopping_criterion(sequence.tokens()))
      return FinishReason::criterion;
    return sequence.size() >= *sampler.config().max_length ? FinishReason::length : FinishReason::none;
  }
  /// Returns the text that was held back. A stop string may end with it.
  std::string rest() {
    std::string text = stream ? stops.append(stream->finish()) : std::string();
    if (stops.found())
      finished = finished == FinishReason::eos ? finished : FinishReason::stop_string;
    else
      text += stops.finish();
    return text;
  }

  GeneratedToken choose() {
    // The logits behind a prompt that was computed before are computed again.
    if (sequence.cached() == sequence.size()) {
      const std::vector<int32_t> all(sequence.tokens().begin(), sequence.tokens().end());
      sequence.rewind(sequence.size() - 1);
      sequence.append(std::span(all).last(1));
    }
    const Decoder::Lent run(generator->decoder);
    generator->compute(
        *run, sequence, 1,
        [&](int64_t, std::span<const float> rows) { logits.assign(rows.begin(), rows.end()); },
        request.control, sequence.size() == prompt ? request.prompt_progress : nullptr);
    GeneratedToken made;
    if (request.logprobs || request.top_logprobs > 0) raw = logits;
    sampler.process(sequence.tokens(), prompt, logits);
    if (request.logits_processor) request.logits_processor(sequence.tokens(), logits);
    made.token = sampler.choose(logits, sequence.size(), request.answer);
    if (request.logprobs || request.top_logprobs > 0) made.logprob = log_probability(raw, made.token);
    if (request.top_logprobs > 0) made.top = top_log_probabilities(raw, request.top_logprobs);
    sequence.append(std::span(&made.token, 1));
    return made;
  }

  std::shared_ptr<const Generator::Impl> generator;
  TokenSequence sequence;
  GenerationRequest request;
  int64_t prompt;
  Sampler sampler;
  std::optional<DecodeStream> stream;
  StopStrings stops;
  std::vector<float> logits, raw;
  FinishReason finished = FinishReason::none;
  GenerationUsage usage;
};

Generation::Generation(std::unique_ptr<State> s) : state_(std::move(s)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<GeneratedToken> Generation::next() { return state_->next(); }
std::string Generation::text() {
  std::string all;
  while (const auto t = next()) all += t->text;
  return all;
}
FinishReason Generation::finish_reason() const { return state_->finished; }
const TokenSequence& Generation::sequence() const { return state_->sequence; }
GenerationUsage Generation::usage() const { return state_->usage; }

Generation Generator::generate(TokenSequence sequence, GenerationRequest request) const {
  const auto& cache = TokenSequenceAccess::cache(sequence);
  if (!cache || cache->generator != impl_)
    throw Error(Code::bad_argument, "generate", "a sequence of this generator", "another",
                "make it with Generator::sequence");
  if (sequence.size() == 0)
    throw Error(Code::bad_argument, "generate", "at least one token", "an empty sequence",
                "begin with the token that the model begins texts with");
  return Generation(std::make_unique<Generation::State>(impl_, std::move(sequence), std::move(request)));
}

}  // namespace lathe
