// Compares Json with nlohmann/json, whose parser and texts it uses.
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/bounded_json.h"
#include "support/error_code.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::code_of;
using testing::sentence_of;

std::string repeated(std::string_view s, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += s;
  return text;
}

/// Objects of `count` members, of which every third name comes again.
std::string many_members(size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) {
    const size_t name = i % 3 == 2 ? i / 2 : i * 7919 % 10007;
    text += (i ? ", \"" : "\"") + std::to_string(name) + "\": " + std::to_string(i);
  }
  return text + "}";
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list = {
        "", " ", "null", "nul", "nulll", "true", "false", "True", "NaN", "Infinity", "-Infinity", "undefined",
        // Numbers of all kinds
        "0", "-0", "-0.0", "0.0", "0e0", "-0e-0", "1", "-1", "01", "-01", "+1", "1.", ".5", "1.5", "-1.5",
        "1e5", "1E+5", "1e-5", "1e", "1e+", "-", "--1", "0x10", "1_000", "127", "128", "255", "2147483648",
        "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809", "18446744073709551615", "18446744073709551616",
        "123456789012345678901234567890", "1e400", "-1e400", "1e-400", "1.7976931348623157e308",
        "1.7976931348623159e308", "5e-324", "2e-324", "2.2250738585072014e-308", "0.1", "0.2",
        "0.30000000000000004", "1e15", "1e16", "1e17", "1e21", "1e22", "1e23", "123456.789e-10", "1e-4",
        "1e-5", "1e-7", "100000000000000000000", "3.141592653589793238462643383279", "0.10000000149011612",
        "16777217.0", "1.0", "100.0", "9007199254740993", "9007199254740993.0", "4.35", "0.000001",
        "0.0000001",
        // Strings
        R"("")", R"("a")", R"("a)", R"("\"\\\/\b\f\n\r\t")", R"("\a")",
        R"("\u0041\u00e9\u20ac\u0000\u001f\u007f")", R"("\u12")", R"("\uD83D\uDE00")", R"("\uD83D")",
        R"("\uD83D\u0041")", R"("\uDE00")", R"("\uDE00\uD83D")", R"("\ud83dx")", "\"\x01\"", "\"\n\"",
        "\"\t\"", "\"\x7f\"", std::string("\"a\0b\"", 5), "\"\u00fc\u20ac\U0001f600\"", "\"</script>\"",
        "'a'",
        // Bytes that are no UTF-8
        "\"\x80\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"",
        "\"\xff\"", "\xff", "\xef\xbb\xbf{}", "\xef\xbb{}", "{\"\xc3\x28\": 1}",
        // Lists and objects
        "[]", "[ ]", "{}", "{ }", "[1]", "[1, 2.5, \"3\", null, true, [], {}]", "[1,]", "[,1]", "[1 2]", "[",
        "]", "[[]", "[]]", R"({"a": 1})", R"({"a": 1,})", R"({"a"})", R"({"a": })", R"({a: 1})", R"({1: 2})",
        R"({"a": 1 "b": 2})", "{", "}", "{]", "[}", R"({"b": 1, "a": 2, "c": 3})", R"({"": {"": {"": []}}})",
        R"({"a": {}} x)", "1 2", "{} {}", "// c\n1", "/* c */ 1",
        // Names that come again
        R"({"a": 1, "b": 2, "a": 3})", R"({"a": {"x": 1}, "a": {"y": 2}})",
        R"({"a": [1], "c": 0, "a": 1, "b": 2, "a": {}})", R"({"a": 1, "a": {"b": [1, {"a": 1, "a": 2}]}})",
        R"({"B": 1, "a": 2, "\u00e9": 3, "z": 4, "\u0061": 5})",
        // Between a line and several
        R"({"model": {"type": "BPE", "vocab": {"b": 1, "a": 0}, "list": [[1, 2], [], [{}], [{"x": [null]}]]}, "n": -1.25e-3})"};
    for (const size_t count : {15u, 16u, 17u, 18u, 33u, 1000u}) list.push_back(many_members(count));
    for (const size_t depth : {7u, 8u, 9u, 10u, 63u, 64u, 65u, 66u, 67u, 200u})
      for (const std::string inner : {"", "1", "[]", "{}", R"({"a": 1})", "x"}) {
        list.push_back(repeated("[", depth) + inner + repeated("]", depth));
        list.push_back(repeated(R"({"a": )", depth) + (inner.empty() ? "{}" : inner) + repeated("}", depth));
        list.push_back(R"({"a": )" + list[list.size() - 2] + "}");
      }
    return list;
  }();
  return all;
}

template <class Theirs>
Json::Type type_of(const Theirs& j) {
  switch (j.type()) {
    case Theirs::value_t::boolean:
      return Json::Type::boolean;
    case Theirs::value_t::number_integer:
      return Json::Type::integer;
    case Theirs::value_t::number_unsigned:
      return Json::Type::unsigned_integer;
    case Theirs::value_t::number_float:
      return Json::Type::real;
    case Theirs::value_t::string:
      return Json::Type::string;
    case Theirs::value_t::array:
      return Json::Type::array;
    case Theirs::value_t::object:
      return Json::Type::object;
    default:
      return Json::Type::null;
  }
}

/// Every value of both, found in every way.
template <class Theirs>
void expect_same(const Json& ours, const Theirs& theirs) {
  ASSERT_EQ(ours.type(), type_of(theirs));
  EXPECT_STREQ(ours.type_name(), theirs.type_name());
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_EQ(ours.empty(), theirs.empty());
  EXPECT_EQ(ours.is_number(), theirs.is_number());
  EXPECT_EQ(ours.is_number_integer(), theirs.is_number_integer());
  EXPECT_EQ(ours.is_number_unsigned(), theirs.is_number_unsigned());
  if (ours.is_boolean()) {
    EXPECT_EQ(ours.get<bool>(), theirs.template get<bool>());
  }
  if (ours.is_string()) {
    EXPECT_EQ(ours.get<std::string>(), theirs.template get<std::string>());
  }
  if (ours.is_number()) {
    EXPECT_EQ(ours.get<double>(), theirs.template get<double>());
  }
  if (ours.is_number_integer()) {
    EXPECT_EQ(ours.get<int64_t>(), theirs.template get<int64_t>());
    EXPECT_EQ(ours.get<uint64_t>(), theirs.template get<uint64_t>());
  }
  auto their_item = theirs.begin();
  for (size_t i = 0; const Json& item : ours) {
    if (ours.is_array()) {
      EXPECT_EQ(&item, &ours[i++]);
    }
    if (ours.is_array() || ours.is_object()) expect_same(item, *their_item);
    ++their_item;
  }
  ASSERT_EQ(ours.items().size(), ours.is_object() ? theirs.size() : 0);
  their_item = theirs.begin();
  for (const auto& [name, value] : ours.items()) {
    EXPECT_EQ(name, their_item.key());
    EXPECT_EQ(ours.find(name), &value);
    ++their_item;
  }
  EXPECT_EQ(ours.find("no such name"), nullptr);
}

void parses_alike(const std::string& text, size_t max_depth) {
  using Theirs = nlohmann::ordered_json;
  std::optional<Theirs> theirs;
  std::string their_fault;
  bool too_deep = false;
  const auto bounded = [&](int depth, Theirs::parse_event_t, Theirs&) {
    if (static_cast<size_t>(depth) > max_depth) throw std::length_error("too deep");
    return true;
  };
  try {
    theirs = Theirs::parse(text, bounded);
  } catch (const Theirs::exception& e) {
    their_fault = e.what();
  } catch (const std::length_error&) {
    too_deep = true;
  }
  try {
    const Json ours = Json::parse(text, max_depth);
    ASSERT_TRUE(theirs) << their_fault << too_deep;
    expect_same(ours, *theirs);
    EXPECT_EQ(ours.dump(), theirs->dump());
    for (int indent = 0; indent < 5; ++indent) EXPECT_EQ(ours.dump(indent), theirs->dump(indent));
  } catch (const JsonFault& e) {
    EXPECT_EQ(e.too_deep(), too_deep);
    EXPECT_EQ(too_deep ? "" : std::string(e.what()), their_fault);
  }
}

TEST(Json, ParsesAndWritesAsNlohmann) {
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text.substr(0, 200));
    for (const size_t max_depth :
         {size_t{0}, size_t{8}, size_t{64}, std::numeric_limits<size_t>::max() / 4}) {
      parses_alike(text, max_depth);
    }
  }
}

TEST(Json, DamagedTextsFailAsNlohmann) {
  uint32_t random = 7;
  const auto draw = [&](size_t n) { return (random = random * 1664525 + 1013904223) / 7 % n; };
  for (int i = 0; i < 3000; ++i) {
    std::string text = texts()[draw(texts().size())];
    if (text.empty() || text.size() > 500) continue;
    for (size_t k = 0; k < 1 + draw(3); ++k) text[draw(text.size())] = static_cast<char>(draw(256));
    if (draw(4) == 0) text.resize(draw(text.size()));
    SCOPED_TRACE(text);
    parses_alike(text, 64);
  }
}

/// Returns the message that parse_bounded_json had while it used nlohmann/json itself.
std::string bounded_message(const std::string& text) {
  using Theirs = nlohmann::ordered_json;
  const auto sentence = [](const std::string& expected, const std::string& got) {
    return "lathe: error E1152: read checkpoint, \"f.json\": expected " + expected + ", got " + got +
           "; download the file again";
  };
  const auto bounded = [&](int depth, Theirs::parse_event_t, Theirs&) {
    if (depth > 64) throw std::length_error(sentence("JSON nested at most 64 deep", "more"));
    return true;
  };
  try {
    const Theirs j = Theirs::parse(text, bounded);
    return j.is_object() ? "" : sentence("a JSON object", j.type_name());
  } catch (const std::length_error& e) {
    return e.what();
  } catch (const Theirs::exception& e) {
    return sentence("JSON", e.what());
  }
}

TEST(Json, BoundedTextsFailWithTheSameSentence) {
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text.substr(0, 200));
    EXPECT_EQ(sentence_of([&] { parse_bounded_json(text, "f.json"); }), bounded_message(text));
  }
  EXPECT_EQ(code_of([] { parse_bounded_json(std::string((16 << 20) + 1, ' '), "f.json"); }),
            Code::wire_too_large);
}

/// Writes down, as text, everything that a listener is told.
struct Told final : JsonListener {
  std::string all;
  void null() override { all += "null "; }
  void boolean(bool v) override { all += v ? "true " : "false "; }
  void number_integer(int64_t v) override { all += "i" + std::to_string(v) + " "; }
  void number_unsigned(uint64_t v) override { all += "u" + std::to_string(v) + " "; }
  void number_float(double v, const std::string& text) override {
    all += "f" + std::to_string(v) + text + " ";
  }
  void string(const std::string& v) override { all += "s" + v + " "; }
  void start_object() override { all += "{ "; }
  void key(const std::string& name) override { all += "k" + name + " "; }
  void end_object() override { all += "} "; }
  void start_array() override { all += "[ "; }
  void end_array() override { all += "] "; }
};
struct TheirEvents : nlohmann::json_sax<nlohmann::json> {
  Told told;
  size_t fault = 0;
  bool null() override { return told.null(), true; }
  bool boolean(bool v) override { return told.boolean(v), true; }
  bool number_integer(int64_t v) override { return told.number_integer(v), true; }
  bool number_unsigned(uint64_t v) override { return told.number_unsigned(v), true; }
  bool number_float(double v, const std::string& text) override { return told.number_float(v, text), true; }
  bool string(std::string& v) override { return told.string(v), true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return told.start_object(), true; }
  bool key(std::string& name) override { return told.key(name), true; }
  bool end_object() override { return told.end_object(), true; }
  bool start_array(size_t) override { return told.start_array(), true; }
  bool end_array() override { return told.end_array(), true; }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    fault = at;
    return false;
  }
};

TEST(Json, TellsAListenerWhatNlohmannDoes) {
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text.substr(0, 200));
    Told ours;
    TheirEvents theirs;
    nlohmann::json::sax_parse(text.begin(), text.end(), &theirs);
    size_t fault = 0;
    try {
      parse_json(text, ours);
    } catch (const JsonFault& e) {
      fault = e.byte();
    }
    EXPECT_EQ(fault, theirs.fault);
    EXPECT_EQ(ours.all, theirs.told.all);
  }
}

TEST(Json, WritesNumbersAndStringsAsNlohmann) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> numbers{0,     -0.0,   1,    -1,   0.1,  1e15, 1e16, 1e17, 1e21, 1e22,
                              1e300, 5e-324, 1e-5, 1e-4, M_PI, 4.35, NAN,  inf,  -inf};
  uint64_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    double d;
    std::memcpy(&d, &random, sizeof d);
    numbers.push_back(d);
    numbers.push_back(static_cast<float>(static_cast<double>(random) / 1e15));
  }
  for (double d : numbers) {
    EXPECT_EQ(Json(d).dump(), nlohmann::json(d).dump());
    const auto f = static_cast<float>(d);
    EXPECT_EQ(Json(f).dump(), nlohmann::json(f).dump());
  }
  EXPECT_EQ(Json(INT64_MIN).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(UINT64_MAX).dump(), "18446744073709551615");
  EXPECT_EQ(Json(uint32_t{7}).type(), Json::Type::unsigned_integer);
  EXPECT_EQ(Json(7).type(), Json::Type::integer);
  EXPECT_EQ(Json(true).dump(), "true");
  std::vector<std::string> strings{"", "a\"\\/\b\f\n\r\t\x01\x1f\x7f", "\u00fc\u20ac\U0001f600", "<>",
                                   std::string("\0", 1)};
  for (int i = 0; i < 2000; ++i) {
    std::string s;
    for (int k = 0; k < 6; ++k) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      s += static_cast<char>((random >> 60) < 4 ? 'a' : random >> 40);
    }
    strings.push_back(s);
  }
  for (const std::string& s : strings) {
    const auto replace = nlohmann::json::error_handler_t::replace;
    EXPECT_EQ(Json(s).dump(), nlohmann::json(s).dump(-1, ' ', false, replace));
    const nlohmann::ordered_json theirs{{s, {s, 1}}};
    Json ours = Json::object();
    ours[s] = Json::array(s, 1);
    EXPECT_EQ(ours.dump(3), theirs.dump(3, ' ', false, replace));
  }
}

TEST(Json, IsMadeOfFieldsAndItems) {
  Json inner = Json::array(1, "two", Json{{"three", nullptr}});
  const Json j{{"name", std::string("n")},
               {"name", "again"},
               {"list", std::move(inner)},
               {"words", std::vector<std::string>{"a", "b"}}};
  EXPECT_EQ(j.dump(), R"({"name":"n","list":[1,"two",{"three":null}],"words":["a","b"]})");
  EXPECT_TRUE(inner.is_null());
  Json made;
  made["a"]["b"] = 1.5;
  made["c"].push_back(false);
  made["c"].push_back({{"x", 1u}});
  made["a"]["b"] = -1;
  EXPECT_EQ(made.dump(), R"({"a":{"b":-1},"c":[false,{"x":1}]})");
  EXPECT_TRUE(made.contains("c"));
  made["c"][0] = "first";
  made = std::move(made["c"]);  // a part takes the place of the whole
  EXPECT_EQ(made.dump(), R"(["first",{"x":1}])");
  EXPECT_EQ(Json::object().dump(2) + Json::array().dump(2), "{}[]");
}

TEST(Json, LargeObjectsAreFoundAndGrow) {
  Json j = Json::parse(many_members(1000), 64);
  nlohmann::ordered_json theirs = nlohmann::ordered_json::parse(j.dump());
  for (int i = 0; i < 300; ++i) {
    const std::string name = std::to_string(i * 37 % 211) + "x";
    j[name] = i;
    theirs[name] = i;
    j[std::to_string(i)] = name;
    theirs[std::to_string(i)] = name;
  }
  expect_same(j, theirs);
  Json grown;
  for (int i = 0; i < 100; ++i) {
    grown[std::to_string(i * 13 % 50)] = i;
    EXPECT_EQ(grown.size(), std::min<size_t>(static_cast<size_t>(i) + 1, 50));
    for (const auto& [name, value] : grown.items()) EXPECT_EQ(grown.find(name), &value);
  }
}

TEST(Json, RefusesOtherTypes) {
  const Json j =
      Json::parse(R"({"s": "x", "i": -1, "u": 1, "f": 1.5, "b": true, "n": null, "l": [1], "o": {}})");
  const auto refused = [](auto&& f) {
    try {
      f();
    } catch (const JsonFault&) {
      return true;
    }
    return false;
  };
  for (const auto& [name, value] : j.items()) {
    SCOPED_TRACE(name);
    const Json& v = value;
    EXPECT_EQ(refused([&] { v.get<bool>(); }), name != "b");
    EXPECT_EQ(refused([&] { v.get<std::string>(); }), name != "s");
    EXPECT_EQ(refused([&] { v.get<double>(); }), !v.is_number());
    EXPECT_EQ(refused([&] { v.get<int64_t>(); }), !v.is_number());
    EXPECT_EQ(refused([&] { v.get<uint64_t>(); }), !v.is_number());
    EXPECT_EQ(refused([&] { v[0]; }), name != "l");
    Json copy = Json::parse(v.dump());
    EXPECT_EQ(refused([&] { copy["x"] = 1; }), name != "n" && name != "o");
    copy = Json::parse(v.dump());
    EXPECT_EQ(refused([&] { copy.push_back(1); }), name != "n" && name != "l");
    EXPECT_EQ(v.find("x"), nullptr);
  }
}

TEST(Json, DeepValuesTakeNoStack) {
  constexpr size_t depth = 100'000;
  const std::string lists = repeated("[", depth) + repeated("]", depth);
  EXPECT_EQ(Json::parse(lists).dump(), lists);
  const std::string objects = repeated(R"({"a":[0,)", depth / 2) + "1" + repeated("],\"b\":2}", depth / 2);
  EXPECT_THROW(Json::parse(objects.substr(0, objects.size() - 1)), JsonFault);  // destroyed half made
  Json j = Json::parse(objects);
  EXPECT_EQ(j.dump(), objects);
  j = nullptr;
  Json wrapped;
  for (size_t i = 0; i < depth; ++i) {
    Json around = Json::array(i);
    around.push_back(std::move(wrapped));
    wrapped = std::move(around);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
