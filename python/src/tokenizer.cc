// Bindings of tokenizers. Offsets are in characters, as Python counts them.
#include "lathe/tokenizer.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "lathe/gguf.h"
#include "module.h"

namespace lathe::python {
namespace {

using TruncationTuple = std::tuple<int64_t, std::string, bool>;
using PaddingTuple = std::tuple<int64_t, int64_t, std::string, std::optional<int64_t>, int64_t, bool>;

constexpr const char* from_names[] = {"longest_first", "only_first", "only_second"};

Tokenizer with_truncation(const Tokenizer& t, const std::optional<TruncationTuple>& said) {
  if (!said) return t.with_truncation(std::nullopt);
  const auto& [length, from, left] = *said;
  for (int i = 0; i < 3; ++i)
    if (from == from_names[i])
      return t.with_truncation(Truncation{length, static_cast<Truncation::From>(i), left});
  throw Error(Code::bad_argument, "python", "longest_first, only_first or only_second", "'" + from + "'");
}
std::optional<TruncationTuple> truncation_of(const Tokenizer& t) {
  if (const auto& c = t.truncation())
    return TruncationTuple{c->max_length, from_names[static_cast<int>(c->from)], c->left};
  return std::nullopt;
}

Tokenizer with_padding(const Tokenizer& t, const std::optional<PaddingTuple>& said) {
  if (!said) return t.with_padding(std::nullopt);
  const auto& [length, multiple_of, token, id, type_id, left] = *said;
  return t.with_padding(Padding{length, multiple_of, token, id, type_id, left});
}
std::optional<PaddingTuple> padding_of(const Tokenizer& t) {
  if (const auto& p = t.padding())
    return PaddingTuple{p->length, p->multiple_of, p->token, p->id, p->type_id, p->left};
  return std::nullopt;
}

TextInput text_from_python(nb::handle h) {
  constexpr const char* expected = "a text, or a tuple of two";
  if (nb::isinstance<nb::str>(h)) return argument<std::string>(h, "a text of whole characters");
  const auto pair = argument<std::pair<std::string, std::string>>(h, expected);
  return {pair.first, pair.second};
}
std::vector<TextInput> texts_from_python(const nb::sequence& s) {
  std::vector<TextInput> all;
  for (nb::handle h : s) all.push_back(text_from_python(h));
  return all;
}

/// How many characters begin before each byte.
std::vector<size_t> characters_before(const std::string& text) {
  std::vector<size_t> all(text.size() + 1);
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    all[i] = count;
    if (i + 1 == text.size() || (static_cast<unsigned char>(text[i + 1]) & 0xc0) != 0x80) ++count;
  }
  all[text.size()] = count;
  return all;
}

nb::dict to_python(const Encoding& e, const TextInput& text) {
  const std::vector<size_t> at[] = {characters_before(text.text), characters_before(text.pair.value_or(""))};
  nb::list offsets, sequence;
  for (size_t i = 0; i < e.size(); ++i) {
    const auto& counts = at[std::max(e.sequence[i], 0)];
    offsets.append(nb::make_tuple(counts[e.offsets[i].first], counts[e.offsets[i].second]));
    sequence.append(e.sequence[i] < 0 ? nb::none() : nb::object(nb::int_(e.sequence[i])));
  }
  nb::dict d;
  d["ids"] = e.ids;
  d["type_ids"] = e.type_ids;
  d["attention_mask"] = e.attention_mask;
  d["tokens"] = e.tokens;
  d["offsets"] = offsets;
  d["sequence"] = sequence;
  d["special_mask"] = e.special_mask;
  return d;
}

nb::list encode_batch(const Tokenizer& t, const nb::sequence& texts, bool special_tokens) {
  const std::vector<TextInput> all = texts_from_python(texts);
  std::vector<Encoding> encodings;
  {
    nb::gil_scoped_release free;
    encodings = t.encode_batch(all, special_tokens);
  }
  nb::list l;
  for (size_t i = 0; i < all.size(); ++i) l.append(to_python(encodings[i], all[i]));
  return l;
}

nb::dict inputs(const Tokenizer& t, const nb::sequence& texts, bool special_tokens) {
  const std::vector<TextInput> all = texts_from_python(texts);
  NamedValues values;
  {
    nb::gil_scoped_release free;
    values = t.inputs(all, special_tokens);
  }
  return values_to_python(values);
}

std::string decode(const Tokenizer& t, const std::vector<int64_t>& ids, bool skip_special_tokens) {
  nb::gil_scoped_release free;
  return t.decode(ids, skip_special_tokens);
}

}  // namespace

void bind_tokenizer(nb::module_& m) {
  nb::class_<DecodeStream>(
      m, "DecodeStream",
      "The native half of lathe.DecodeStream, which describes its methods. For one thread at a time.")
      .def("append", &DecodeStream::append, nb::arg("id"), "Returns the text that is complete by now.")
      .def("finish", &DecodeStream::finish, "Ends the stream and returns the rest.");
  nb::class_<Tokenizer>(
      m, "Tokenizer",
      "The native half of lathe.Tokenizer, which describes its methods. Immutable and thread-safe.")
      .def_static(
          "open",
          [](const std::filesystem::path& path, const std::string& encoding, const std::string& pattern,
             const std::map<std::string, int64_t>& special_tokens) {
            return Tokenizer::open(path, {encoding, pattern, special_tokens});
          },
          nb::arg("path"), nb::arg("encoding"), nb::arg("pattern"), nb::arg("special_tokens"),
          "Opens the file of a tokenizer, or a directory that has one.")
      .def_static("from_gguf", &Tokenizer::from_gguf, nb::arg("file"), "Takes the vocabulary of a GGUF file.")
      .def_static(
          "parse", [](const std::string& json) { return Tokenizer::parse(json); }, nb::arg("json"),
          "Makes a tokenizer from the text of a tokenizer.json.")
      .def("truncation", &truncation_of, "Returns (max_length, from_, left), or None.")
      .def("padding", &padding_of, "Returns (length, multiple_of, token, id, type_id, left), or None.")
      .def("with_truncation", &with_truncation, nb::arg("said").none(),
           "Returns another tokenizer with this truncation.")
      .def("with_padding", &with_padding, nb::arg("said").none(),
           "Returns another tokenizer with this padding.")
      .def("encode_batch", &encode_batch, nb::arg("texts"), nb::arg("special_tokens"),
           "Returns the encodings as dicts with the fields of Encoding.")
      .def("inputs", &inputs, nb::arg("texts"), nb::arg("special_tokens"),
           "Returns the input tensors of a model by name.")
      .def("decode", &decode, nb::arg("ids"), nb::arg("skip_special_tokens"), "Returns tokens as text.")
      .def("decode_stream", &Tokenizer::decode_stream, nb::arg("skip_special_tokens"),
           "Returns a stream that converts tokens to text one by one.")
      .def("size", &Tokenizer::size, "Returns the number of tokens, added ones too.")
      .def("id_of", &Tokenizer::id_of, nb::arg("token"), "Returns the id of a token, or None.")
      .def(
          "token_of", [](const Tokenizer& t, int64_t id) { return std::string(t.token_of(id)); },
          nb::arg("id"), "Returns the token of an id, or \"\".");
}

}  // namespace lathe::python
