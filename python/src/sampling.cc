// Bindings of sampling. Configurations come as dicts with the names of GenerationConfig's members.
#include "lathe/sampling.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"

namespace lathe::python {
namespace {

using Ids = std::vector<int32_t>;
template <class T>
using Row = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Row<T>& r) {
  return {r.data(), r.size()};
}

/// Calls f(name, member) for all members that a dict may have.
template <class F>
void each_member(GenerationConfig& c, F&& f) {
  f("max_new_tokens", c.max_new_tokens), f("max_length", c.max_length), f("min_length", c.min_length);
  f("min_new_tokens", c.min_new_tokens), f("eos_token_id", c.eos_token_id), f("stop_strings", c.stop_strings);
  f("do_sample", c.do_sample), f("temperature", c.temperature), f("top_k", c.top_k), f("top_p", c.top_p);
  f("min_p", c.min_p), f("typical_p", c.typical_p), f("seed", c.seed);
  f("repetition_penalty", c.repetition_penalty), f("presence_penalty", c.presence_penalty);
  f("frequency_penalty", c.frequency_penalty), f("no_repeat_ngram_size", c.no_repeat_ngram_size);
  f("dry_multiplier", c.dry.multiplier), f("dry_base", c.dry.base);
  f("dry_allowed_length", c.dry.allowed_length), f("dry_penalty_last_n", c.dry.last_n);
  f("dry_sequence_breakers", c.dry.sequence_breakers), f("logit_bias", c.logit_bias);
  f("bad_words_ids", c.bad_words_ids), f("suppress_tokens", c.suppress_tokens);
  f("begin_suppress_tokens", c.begin_suppress_tokens), f("forced_bos_token_id", c.forced_bos_token_id);
  f("forced_eos_token_id", c.forced_eos_token_id), f("pad_token_id", c.pad_token_id);
}

}  // namespace

GenerationConfig config_from(GenerationConfig c, const nb::dict& given) {
  each_member(c, [&]<class T>(const char* name, T& member) {
    if (given.contains(name))
      member = argument<T>(given[name], (std::string("a ") + name + " as GenerationConfig has it").c_str());
  });
  return c;
}

nb::dict to_python(GenerationConfig c) {
  nb::dict d;
  each_member(c, [&](const char* name, const auto& member) { d[name] = nb::cast(member); });
  return d;
}

void bind_sampling(nb::module_& m) {
  m.def(
      "generation_config", [](const nb::dict& given) { return to_python(config_from({}, given)); },
      nb::arg("given"), "Returns all members of a GenerationConfig that has these.");
  m.def(
      "open_generation_config",
      [](const std::filesystem::path& path) { return to_python(GenerationConfig::open(path)); },
      nb::arg("path"), "Reads generation_config.json.");
  m.def(
      "parse_generation_config",
      [](const std::string& json, std::string origin) {
        return to_python(GenerationConfig::parse(json, std::move(origin)));
      },
      nb::arg("json"), nb::arg("origin"), "Reads the text of a generation_config.json.");
  m.def(
      "refuse_option",
      [](std::string got) {
        throw Error(Code::not_supported, "generate", "options of generation that there are", std::move(got),
                    "leave it out");
      },
      nb::arg("got"), "Raises not_supported.");
  nb::class_<Sampler>(m, "Sampler", "The native half of lathe.Sampler, which describes its methods.")
      .def(
          "__init__",
          [](Sampler* s, const nb::dict& config, int64_t size) {
            new (s) Sampler(config_from({}, config), size);
          },
          nb::arg("config"), nb::arg("vocabulary_size"), "Makes a sampler.")
      .def(
          "process",
          [](const Sampler& s, const Ids& tokens, int64_t prompt_length, const Row<float>& logits) {
            s.process(tokens, prompt_length, span_of(logits));
          },
          nb::arg("tokens"), nb::arg("prompt_length"), nb::arg("logits").noconvert(),
          "Applies all but what sampling does.")
      .def(
          "warp", [](const Sampler& s, const Row<float>& logits) { s.warp(span_of(logits)); },
          nb::arg("logits").noconvert(), "Applies what sampling does.")
      .def(
          "choose",
          [](const Sampler& s, const Row<const float>& logits, int64_t position, uint32_t answer) {
            return s.choose(span_of(logits), position, answer);
          },
          nb::arg("logits"), nb::arg("position"), nb::arg("answer"), "Chooses a token.")
      .def(
          "next",
          [](const Sampler& s, const Ids& tokens, int64_t prompt_length, const Row<float>& logits,
             uint32_t answer) { return s.next(tokens, prompt_length, span_of(logits), answer); },
          nb::arg("tokens"), nb::arg("prompt_length"), nb::arg("logits").noconvert(), nb::arg("answer"),
          "Processes and chooses.");
  m.def(
      "log_probability",
      [](const Row<const float>& logits, int32_t token) { return log_probability(span_of(logits), token); },
      nb::arg("logits"), nb::arg("token"), "Returns the log probability of a token.");
  m.def(
      "top_log_probabilities",
      [](const Row<const float>& logits, size_t count) {
        nb::list all;
        for (const TokenLogprob& t : top_log_probabilities(span_of(logits), count))
          all.append(nb::make_tuple(t.token, t.logprob));
        return all;
      },
      nb::arg("logits"), nb::arg("count"), "Returns the likeliest tokens with their log probabilities.");
  nb::class_<StopStrings>(m, "StopStrings",
                          "The native half of lathe.StopStrings, which describes its methods.")
      .def(nb::init<std::vector<std::string>>(), nb::arg("strings"), "Makes one of some strings.")
      .def(
          "append", [](StopStrings& s, const std::string& piece) { return s.append(piece); },
          nb::arg("piece"), "Appends a piece and returns the text that is certain.")
      .def("finish", &StopStrings::finish, "Returns what was held back.")
      .def("found", &StopStrings::found, "Returns the index of the string that was found, or None.");
}

}  // namespace lathe::python
