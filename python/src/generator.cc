// Bindings of generators.
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <limits>
#include <memory>

#include "interruptible.h"
#include "lathe/generate.h"
#include "module.h"
#include "pooled_engine.h"

namespace lathe::python {
namespace {

using Ids = std::vector<int32_t>;

nb::dict to_python(const GeneratedToken& t) {
  nb::dict d;
  d["token"] = t.token;
  d["text"] = t.text;
  d["logprob"] = t.logprob;
  nb::list top;
  for (const TokenLogprob& l : t.top) top.append(nb::make_tuple(l.token, l.logprob));
  d["top"] = top;
  d["finish_reason"] = std::string(name_of(t.finish_reason));
  return d;
}

/// Returns an array of its own, which functions of Python may keep.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::span<const T> s) {
  auto values = std::make_unique<std::vector<T>>(s.begin(), s.end());
  T* const data = values->data();
  const nb::capsule owner(values.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {s.size()}, owner);
}

/// Calls a logits processor, which changes the array that it gets or returns another.
void call_processor(const nb::object& processor, std::span<const int32_t> tokens, std::span<float> logits) {
  using Array = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  const nb::object given = nb::cast(array_of(std::span<const float>(logits)));
  const nb::object made = processor(array_of(tokens), given);
  Array changed;
  if (!nb::try_cast(made.is_none() ? given : made, changed) || changed.size() != logits.size())
    throw nb::type_error(
        ("a logits_processor returns None, or float32 logits of " + std::to_string(logits.size()) + " tokens")
            .c_str());
  std::copy_n(changed.data(), logits.size(), logits.begin());
}

/// A Generation and the control that Ctrl-C cancels.
struct Answer {
  Answer(const Generator& g, TokenSequence s, GenerationRequest r)
      : control(std::make_unique<RunControl>()), generation([&] {
          r.control = control.get();
          return g.generate(std::move(s), std::move(r));
        }()) {}

  nb::object next() {
    std::optional<GeneratedToken> t;
    calls->call(control.get(), [&](RunControl*) { t = generation.next(); });
    return t ? nb::object(to_python(*t)) : nb::none();
  }

  std::unique_ptr<RunControl> control;
  Generation generation;
  std::unique_ptr<Interruptible> calls = std::make_unique<Interruptible>();
};

Answer generate(const Generator& g, const TokenSequence& s, const nb::dict& config, bool logprobs,
                size_t top_logprobs, uint32_t answer, bool ignore_eos, nb::object processor,
                nb::object criterion) {
  GenerationRequest r{.config = config_from(g.defaults(), config),
                      .logprobs = logprobs,
                      .top_logprobs = top_logprobs,
                      .answer = answer,
                      .ignore_eos = ignore_eos};
  if (!processor.is_none())
    r.logits_processor = [processor](std::span<const int32_t> tokens, std::span<float> logits) {
      const nb::gil_scoped_acquire lock;
      call_processor(processor, tokens, logits);
    };
  if (!criterion.is_none())
    r.stopping_criterion = [criterion](std::span<const int32_t> tokens) {
      const nb::gil_scoped_acquire lock;
      return nb::cast<bool>(nb::bool_(criterion(array_of(tokens))));
    };
  return Answer(g, s, std::move(r));
}

GeneratorOptions options(int threads, std::string isa, int64_t context_length, int64_t prompt_piece,
                         bool untrusted, std::string_view kv_type, bool portable) {
  GeneratorOptions o;
  o.build.portable = portable;
  o.build.threads = threads;
  o.build.isa = std::move(isa);
  o.build.load.untrusted = untrusted;
  o.context_length = context_length;
  o.prompt_piece = prompt_piece;
  if (kv_type.empty()) return o;
  const auto type = data_type_from(kv_type);
  if (!type)
    throw Error(Code::bad_argument, "generate", "a kv_type of float32, float16, bfloat16 or int8",
                "'" + std::string(kv_type) + "'");
  o.kv_type = *type;
  return o;
}

template <Generator (*open)(const std::filesystem::path&, const GeneratorOptions&)>
Generator opened(const std::filesystem::path& path, int threads, std::string isa, int64_t context_length,
                 int64_t prompt_piece, bool untrusted, const std::string& kv_type, bool portable) {
  std::optional<Generator> made;
  Interruptible().call(nullptr, [&](RunControl* control) {
    GeneratorOptions o =
        options(threads, std::move(isa), context_length, prompt_piece, untrusted, kv_type, portable);
    o.build.control = control;
    made = open(path, o);
  });
  return *made;
}

}  // namespace

void bind_generator(nb::module_& m) {
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<TokenSequence>(m, "TokenSequence",
                            "The native half of lathe.TokenSequence, which describes its methods.")
      .def(
          "tokens", [](const TokenSequence& s) { return Ids(s.tokens().begin(), s.tokens().end()); },
          "Returns the tokens.")
      .def("size", &TokenSequence::size, "Returns the number of tokens.")
      .def("cached", &TokenSequence::cached, "Returns the number of tokens that were computed.")
      .def(
          "append", [](TokenSequence& s, const Ids& ids) { s.append(ids); }, nb::arg("tokens"),
          "Appends tokens.")
      .def("fork", &TokenSequence::fork, "Returns a copy.")
      .def("rewind", &TokenSequence::rewind, nb::arg("size"), "Drops the tokens behind the first ones.")
      .def(
          "assign", [](TokenSequence& s, const Ids& ids) { s.assign(ids); }, nb::arg("tokens"),
          "Makes these its tokens.")
      .def(
          "memory", [](const TokenSequence& s) { return std::pair(s.memory().own, s.memory().shared); },
          "Returns the bytes that are its own, and those that it shares.")
      .def("save", &TokenSequence::save, nb::arg("path"), free, "Writes it into a file.");
  nb::class_<Answer>(m, "Generation", "The native half of lathe.Generation, which describes its methods.")
      .def("next", &Answer::next, "Returns the next token as a dict, or None.")
      .def(
          "sequence", [](const Answer& a) { return a.generation.sequence(); }, "Returns the sequence by now.")
      .def(
          "finish_reason", [](const Answer& a) { return std::string(name_of(a.generation.finish_reason())); },
          "Returns why the text ended.")
      .def(
          "usage",
          [](const Answer& a) {
            const GenerationUsage u = a.generation.usage();
            nb::dict d;
            d["prompt_tokens"] = u.prompt_tokens;
            d["cached_tokens"] = u.cached_tokens;
            d["generated_tokens"] = u.generated_tokens;
            d["prompt_seconds"] = u.prompt_seconds;
            d["generate_seconds"] = u.generate_seconds;
            return d;
          },
          "Returns what it took, as a dict.");
  nb::class_<Generator>(m, "Generator", "The native half of lathe.Generator, which describes its methods.")
      .def_static("open", &opened<&Generator::open>, nb::arg("path"), nb::arg("threads"), nb::arg("isa"),
                  nb::arg("context_length"), nb::arg("prompt_piece"), nb::arg("untrusted"),
                  nb::arg("kv_type"), nb::arg("portable"), "Opens a model.")
      .def_static("load", &opened<&Generator::load>, nb::arg("path"), nb::arg("threads"), nb::arg("isa"),
                  nb::arg("context_length"), nb::arg("prompt_piece"), nb::arg("untrusted"),
                  nb::arg("kv_type"), nb::arg("portable"), "Opens a plan.")
      .def("save", &Generator::save, nb::arg("path"), free, "Writes a plan.")
      .def("has_tokenizer", &Generator::has_tokenizer, "Returns whether there is a tokenizer.")
      .def("tokenizer", &Generator::tokenizer, nb::rv_policy::copy, "Returns the tokenizer.")
      .def("has_chat_template", &Generator::has_chat_template, "Returns whether there is a chat template.")
      .def("chat_template", &Generator::chat_template, nb::rv_policy::copy, "Returns the chat template.")
      .def(
          "defaults", [](const Generator& g) { return to_python(g.defaults()); },
          "Returns the model's defaults as a dict.")
      .def(
          "engine", [](const Generator& g) { return std::make_shared<PooledEngine>(g.engine()); },
          "Returns the engine.")
      .def("vocabulary_size", &Generator::vocabulary_size, "Returns the number of tokens that logits have.")
      .def("context_length", &Generator::context_length, "Returns the greatest length of a sequence.")
      .def(
          "encode",
          [](const Generator& g, const std::string& text, bool special) { return g.encode(text, special); },
          nb::arg("text"), nb::arg("special_tokens"), "Returns the tokens of a text.")
      .def(
          "sequence", [](const Generator& g, const Ids& ids) { return g.sequence(ids); }, nb::arg("tokens"),
          "Returns a sequence of tokens.")
      .def("load_sequence", &Generator::load_sequence, nb::arg("path"), free, "Reads a saved sequence.")
      .def("generate", &generate, nb::arg("sequence"), nb::arg("config"), nb::arg("logprobs"),
           nb::arg("top_logprobs"), nb::arg("answer"), nb::arg("ignore_eos"),
           nb::arg("logits_processor").none(), nb::arg("stopping_criterion").none(), "Begins an answer.")
      .def(
          "compute",
          [](const Generator& g, TokenSequence& s, nb::object visit) {
            std::function<void(int64_t, std::span<const float>)> each;
            if (!visit.is_none())
              each = [&](int64_t position, std::span<const float> logits) {
                const nb::gil_scoped_acquire lock;
                visit(position, array_of(logits));
              };
            Interruptible().call(nullptr, [&](RunControl* control) { g.compute(s, each, control); });
          },
          nb::arg("sequence"), nb::arg("visit").none(), "Computes what a sequence lacks.")
      .def(
          "score",
          [](const Generator& g, const Ids& ids) {
            std::vector<float> made;
            Interruptible().call(nullptr, [&](RunControl* control) { made = g.score(ids, control); });
            return made;
          },
          nb::arg("tokens"), "Returns the log probabilities of tokens.")
      .def(
          "memory",
          [](const Generator& g, int64_t sequences, int64_t length, int64_t running) {
            const GeneratorMemory memory = g.memory(sequences, length, running);
            nb::dict d;
            d["weights"] = memory.weights;
            d["context"] = memory.context;
            d["sequences"] = memory.sequences;
            d["total"] = memory.total();
            return d;
          },
          nb::arg("sequences"), nb::arg("length"), nb::arg("running"), "Returns bytes by kind.");
}

}  // namespace lathe::python
