#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "generate/generator_impl.h"
#include "lathe/error.h"
#include "plan/checksum.h"
#include "plan/plan_file.h"
#include "runtime/engine_impl.h"
#include "runtime/frame.h"
#include "runtime/growth.h"
#include "runtime/state_impl.h"
#include "text/text_files.h"

namespace lathe {
namespace {

constexpr const char* defaults_file = "generation_config.json";

const std::string* find(const std::map<std::string, std::string>& files, const char* name) {
  const auto at = files.find(name);
  return at == files.end() ? nullptr : &at->second;
}

/// The names, lists and maps of a context, a sequence and an answer, together.
constexpr uint64_t small_objects = 32 << 10;

/// Returns the most that choosing a token takes: logits before and after processors, candidates with their
/// weights, the orders in which they are sorted, and what is noted of each token of the text.
uint64_t bytes_of_choice(int64_t vocabulary, int64_t tokens) {
  return 64 * static_cast<uint64_t>(vocabulary) + 32 * static_cast<uint64_t>(tokens);
}

/// Returns the bytes that a state takes with so many tokens: whole blocks, or pages for the rows of each
/// head.
uint64_t bytes_of(const State& state, int64_t length) {
  uint64_t outer = 1, row = static_cast<uint64_t>(bits_of(state.type())) / 8;
  for (size_t a = 0; a < state.shape().size(); ++a)
    if (const int32_t axis = state.axis(); static_cast<int32_t>(a) != axis)
      (static_cast<int32_t>(a) < axis ? outer : row) *= static_cast<uint64_t>(state.shape()[a]);
  if (const auto block = static_cast<uint64_t>(state.block()); block > 0)
    return outer * row * ((static_cast<uint64_t>(length) + block - 1) / block * block);
  if (state.axis() >= 0) row *= static_cast<uint64_t>(length);
  return outer * row + (outer + 1) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

[[noreturn]] void throw_absent(const char* what, const char* file) {
  throw Error(Code::bad_argument, "generate", what, "none",
              std::string("it is read from ") + file + " beside the model");
}

}  // namespace

Generator::Impl::Impl(Engine engine, std::map<std::string, std::string> all, int64_t context, int64_t piece)
    : decoder(std::move(engine)),
      files(std::move(all)),
      tokenizer(text::tokenizer_of(files)),
      chat_template(text::chat_template_of(files)),
      context_length(context == 0 ? decoder.capacity() : context),
      prompt_piece(piece) {
  if (context < 0 || piece < 1)
    throw Error(Code::bad_argument, "generate",
                "a context_length of at least 0 and a prompt_piece of at least 1",
                std::to_string(context) + " and " + std::to_string(piece));
  if (context > decoder.capacity())
    throw Error(Code::bad_argument, "generate",
                "a context_length of at most " + std::to_string(decoder.capacity()) +
                    ", for which the plan was built",
                std::to_string(context), "build it again with a greater one");
  if (const std::string* json = find(files, defaults_file))
    defaults = GenerationConfig::parse(*json, defaults_file);
  if (defaults.eos_token_id.empty() && tokenizer && chat_template)
    if (const auto eos = chat_template->special_tokens().find("eos_token");
        eos != chat_template->special_tokens().end())
      if (const auto id = tokenizer->id_of(eos->second)) defaults.eos_token_id = {static_cast<int32_t>(*id)};
}

void Generator::Impl::check_tokens(std::span<const int32_t> tokens) const {
  for (int32_t t : tokens)
    if (t < 0 || t >= decoder.vocabulary_size())
      throw Error(Code::bad_argument, "generate",
                  "tokens from 0 to " + std::to_string(decoder.vocabulary_size() - 1), std::to_string(t));
}

void Generator::Impl::compute(DecoderRun& run, TokenSequence& s, int64_t wanted, const Visit& visit,
                              RunControl* control,
                              const std::function<void(int64_t, int64_t)>& progress) const {
  std::shared_ptr<TokenSequence::Cache>& cache = TokenSequenceAccess::cache(s);
  int64_t& cached = TokenSequenceAccess::cached(s);
  if (s.size() > context_length)
    throw Error(Code::run_state_full, "generate",
                "at most " + std::to_string(context_length) + " tokens, the length of the context",
                std::to_string(s.size()),
                "shorten the text, or open the model with a greater context_length");
  const int64_t end = s.size();
  if (cached == end) return;
  if (cache->states.empty()) {
    cache = std::make_shared<TokenSequence::Cache>(cache->generator, decoder.states());
  } else if (cache.use_count() > 1) {
    cache = cache->clone();
  } else {
    // What other owners did with it, before they gave it up, has happened.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  cache->rewind(cached);
  while (cached < end) {
    if (progress) progress(cached, end);
    const int64_t piece = std::min(prompt_piece, end - cached), rows_from = std::max(cached, end - wanted),
                  rows = std::clamp<int64_t>(cached + piece - rows_from, 0, piece);
    std::span<const float> logits;
    try {
      // Logits that nobody wants are made of one token only.
      logits = decoder.run(run, cache->states, cache->serial,
                           s.tokens().first(static_cast<size_t>(cached + piece)), cached,
                           std::max<int64_t>(rows, 1), control);
    } catch (...) {
      // What the run has written over cannot be had back: all is computed anew.
      const bool damaged = std::ranges::any_of(cache->states, [](const auto& named) {
        return StateAccess::impl(named.second)->changed_by_failed_run;
      });
      if (damaged) {
        for (auto& [name, state] : cache->states) state.clear();
        cache->length = cached = 0;
      }
      throw;
    }
    cached += piece;
    cache->length = cached;
    if (rows > 0 && visit) visit(cached - rows, logits);
  }
  if (progress) progress(end, end);
}

uint64_t Generator::Impl::fingerprint() const {
  // Some tokens that any vocabulary has.
  std::array<int32_t, 8> probe{};
  for (size_t i = 0; i < probe.size(); ++i)
    probe[i] = static_cast<int32_t>(static_cast<int64_t>(i * 7919) % decoder.vocabulary_size());
  const Decoder::Lent run(decoder);
  const NamedStates states = decoder.states();
  const auto logits = decoder.run(*run, states, 0, probe, 0, 1, nullptr);
  const uint64_t made = checksum_of(logits.data(), logits.size_bytes());
  (*run).context.bind_states(decoder.states());
  (*run).states = 0;
  return made;
}

Generator::Generator(Engine engine, std::map<std::string, std::string> files, int64_t prompt_piece)
    : impl_(std::make_shared<const Impl>(std::move(engine), std::move(files), 0, prompt_piece)) {}

Generator Generator::load(const std::filesystem::path& plan, const GeneratorOptions& options) {
  Engine engine = Engine::load(plan, options.build);
  for (const IoInfo& io : engine.inputs())
    if (!io.state.empty() && options.kv_type != DataType::undefined && io.element_type != options.kv_type)
      throw file_error(Code::bad_argument, plan,
                       "keys and values of " + std::string(name_of(options.kv_type)),
                       "'" + io.name + "' of " + std::string(name_of(io.element_type)),
                       "build the plan with this kv_type");
  const auto& stored = engine.impl()->program.plan().files;
  std::map<std::string, std::string> files(stored.begin(), stored.end());
  return Generator(std::make_shared<const Impl>(std::move(engine), std::move(files), options.context_length,
                                                options.prompt_piece));
}

void Generator::save(const std::filesystem::path& path) const {
  Plan plan = impl_->decoder.engine().impl()->program.plan();
  plan.files.assign(impl_->files.begin(), impl_->files.end());
  save_plan(plan, path);
}

const Engine& Generator::engine() const { return impl_->decoder.engine(); }
bool Generator::has_tokenizer() const { return impl_->tokenizer.has_value(); }
const Tokenizer& Generator::tokenizer() const {
  if (!impl_->tokenizer) throw_absent("a tokenizer", "tokenizer.json, tokenizer.model or the like");
  return *impl_->tokenizer;
}
bool Generator::has_chat_template() const { return impl_->chat_template.has_value(); }
const ChatTemplate& Generator::chat_template() const {
  if (!impl_->chat_template) throw_absent("a chat template", "tokenizer_config.json or chat_template.jinja");
  return *impl_->chat_template;
}
const GenerationConfig& Generator::defaults() const { return impl_->defaults; }
int64_t Generator::vocabulary_size() const { return impl_->decoder.vocabulary_size(); }
int64_t Generator::context_length() const { return impl_->context_length; }

std::vector<int32_t> Generator::encode(std::string_view text, bool special_tokens) const {
  const Encoding e = tokenizer().encode(text, special_tokens);
  return {e.ids.begin(), e.ids.end()};
}

std::vector<int32_t> Generator::encode_chat(std::span<const ChatMessage> messages) const {
  Json list = Json::array<>();
  for (const ChatMessage& m : messages) {
    if (!is_utf8(m.role) || !is_utf8(m.content))
      throw Error(Code::wire_bad_utf8, "generate", "messages in UTF-8", "other bytes");
    list.push_back(Json{{"role", m.role}, {"content", m.content}});
  }
  return encode_chat({.messages = list.dump(), .add_generation_prompt = true});
}

std::vector<int32_t> Generator::encode_chat(const ChatRequest& request) const {
  // The template writes the special tokens itself.
  return encode(chat_template().render(request), false);
}

TokenSequence Generator::sequence(std::span<const int32_t> tokens) const {
  impl_->check_tokens(tokens);
  TokenSequence s;
  TokenSequenceAccess::tokens(s).assign(tokens.begin(), tokens.end());
  TokenSequenceAccess::cache(s) = std::make_shared<TokenSequence::Cache>(impl_, NamedStates{});
  return s;
}

void Generator::compute(TokenSequence& s, const std::function<void(int64_t, std::span<const float>)>& visit,
                        RunControl* control) const {
  const auto& cache = TokenSequenceAccess::cache(s);
  if (!cache || cache->generator != impl_)
    throw Error(Code::bad_argument, "generate", "a sequence of this generator", "another",
                "make it with Generator::sequence");
  const Decoder::Lent run(impl_->decoder);
  const auto size = static_cast<size_t>(vocabulary_size());
  const auto each = [&](int64_t position, std::span<const float> rows) {
    for (; !rows.empty(); rows = rows.subspan(size), ++position) visit(position, rows.first(size));
  };
  impl_->compute(*run, s, visit ? s.size() : 0, visit ? Impl::Visit(each) : Impl::Visit(), control);
}

std::vector<float> Generator::score(std::span<const int32_t> tokens, RunControl* control) const {
  std::vector<float> made;
  if (tokens.empty()) return made;
  TokenSequence s = sequence(tokens);
  // Nothing follows the last token.
  s.rewind(s.size() - 1);
  impl_->check_tokens(tokens);
  compute(
      s,
      [&](int64_t position, std::span<const float> logits) {
        made.push_back(log_probability(logits, tokens[static_cast<size_t>(position + 1)]));
      },
      control);
  return made;
}

GeneratorMemory Generator::memory(int64_t sequences, int64_t length, int64_t running) const {
  if (sequences < 0 || running < 0 || length < 0 || length > context_length())
    throw Error(Code::bad_argument, "generate",
                "numbers that are not negative, and a length of at most " + std::to_string(context_length()),
                std::to_string(sequences) + " sequences of " + std::to_string(length));
  GeneratorMemory all;
  const int64_t most = length == 0 ? context_length() : length;
  // The pieces of a prompt, of which the last may be shorter, and single tokens. Of pasts that are rounded to
  // the same length, the longest takes most.
  std::map<std::pair<int64_t, int64_t>, int64_t> runs;
  const auto run = [&](int64_t past, int64_t fresh) {
    runs[{fresh, past == 0 ? 0 : rounded_length(past)}] = past;
  };
  for (int64_t past = 0; past < most; past += impl_->prompt_piece)
    run(past, std::min(impl_->prompt_piece, most - past));
  run(std::max<int64_t>(most - 1, 0), 1);
  const size_t of_frame = Frame::records(engine().impl()->program.graph(0));
  uint64_t arenas = 0, of_plan = 0;
  for (const auto& [key, past] : runs) {
    const MemoryInfo info = engine().memory(impl_->decoder.shapes(past, key.first));
    all.weights = info.weights;
    arenas = std::max(arenas, info.total() - info.weights);
    of_plan = std::max(of_plan, info.records - of_frame);
  }
  // A context keeps some memory plans, and one that is being made takes twice as much.
  all.context = arenas + of_frame + (kept_memory_plans + 2) * of_plan + Decoder::bytes_of_inputs(most) +
                bytes_of_choice(impl_->decoder.vocabulary_size(), most) + small_objects;
  all.context *= static_cast<uint64_t>(running);
  uint64_t one = 0;
  for (const auto& [name, state] : impl_->decoder.states()) one += bytes_of(state, most);
  all.sequences = one * static_cast<uint64_t>(sequences);
  return all;
}

}  // namespace lathe
