// Networks built call by call: every case by hand, through a saved file, a reloaded engine, and its own
// printed source gives the same bits, which are compared with the reference.
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>

#include "base/cpu.h"
#include "lathe/check.h"
#include "lathe/verify.h"
#include "network/cases.h"
#include "network/printed.h"
#include "support/temp_directory.h"

namespace lathe::network_cases {
namespace LATHE_TEST_FILE {

NamedValues run(const Engine& e, const NamedValues& inputs) { return e.create_context().run(inputs); }

/// Equal bits; NaNs too.
void expect_same(const NamedValues& got, const NamedValues& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, w] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    const Value& g = got.find(name)->second;
    ASSERT_EQ(describe(g), describe(w)) << name;
    if (!w.is_tensor() || w.tensor().type() == DataType::string) {
      EXPECT_TRUE(compare(g, w, 0, 0).equal) << name;
      continue;
    }
    EXPECT_EQ(std::memcmp(g.tensor().data(), w.tensor().data(), w.tensor().bytes()), 0) << name;
  }
}

/// Unknown sizes are numbered as they come: "?17" is "?".
std::string without_numbers(const std::string& text) {
  return std::regex_replace(text, std::regex("\\?[0-9]+"), "?");
}

/// Layers without what depends on when they were made.
std::map<std::string, std::vector<std::string>> layers_of(const Network& n) {
  std::map<std::string, std::vector<std::string>> all;
  for (const Layer& l : n.layers()) {
    std::vector<std::string>& told = all[l.name()];
    told = l.operators();
    told.push_back(l.kind());
    for (const TensorRef& t : l.inputs()) told.push_back(t.name());
    for (const TensorRef& t : l.outputs()) told.push_back(t.name());
    for (const auto& [key, value] : l.metadata()) told.push_back(key + "=" + value);
  }
  return all;
}

class Cases : public ::testing::TestWithParam<NetworkCase> {
 protected:
  const NetworkCase& c = GetParam();
  const NamedValues inputs = c.values();
  const Network network = c.network();
  const Builder builder{};
};

TEST_P(Cases, GiveWhatTheReferenceGives) {
  const NamedValues got = run(builder.build_engine(network), inputs);
  const NamedValues reference = run(builder.build_engine(network, {.backend = "reference"}), inputs);
  ASSERT_EQ(got.size(), reference.size());
  for (const auto& [name, want] : reference) {
    const Comparison x = compare(got.at(name), want, 1e-5, 1e-4);
    EXPECT_TRUE(x.equal) << name << ": " << x.reason;
  }
  for (const auto& [name, want] : c.outputs) {
    ASSERT_TRUE(got.contains(name)) << name;
    const Comparison x = compare(got.find(name)->second, want, 1e-6, 1e-6);
    EXPECT_TRUE(x.equal) << name << ": " << x.reason;
  }
}

TEST_P(Cases, AgreeAtEveryLevelAndInstructionSet) {
  const NamedValues want = run(builder.build_engine(network, {.backend = "reference"}), inputs);
  for (const OptimizationLevel level : optimization_levels)
    for (const std::string isa : {"generic", "avx2", "avx512"}) {
      if ((isa == "avx2" && !cpu_features().avx2) || (isa == "avx512" && !cpu_features().avx512)) continue;
      BuilderConfig config;
      config.level = level;
      config.isa = isa;
      const NamedValues got = run(builder.build_engine(network, config), inputs);
      for (const auto& [name, w] : want) {
        const Comparison x = compare(got.at(name), w, 1e-5, 1e-4);
        EXPECT_TRUE(x.equal) << isa << " at " << name_of(level) << ", " << name << ": " << x.reason;
      }
    }
}

TEST_P(Cases, AreTheSameFromFilesAndPrintedSource) {
  const Engine engine = builder.build_engine(network);
  const NamedValues want = run(engine, inputs);
  const testing::TempDirectory folder;

  const auto file = folder / "n.onnx";
  network.save(file);
  expect_same(run(Engine::build(file), inputs), want);
  Parser parser;
  const Network parsed = parser.parse(file);
  EXPECT_EQ(parser.num_errors(), 0u);
  expect_same(run(builder.build_engine(parsed), inputs), want);
  EXPECT_EQ(parsed.num_layers(), network.num_layers());

  const auto plan = folder / "n.lathe";
  engine.save(plan);
  expect_same(run(Engine::load(plan), inputs), want);

  ASSERT_TRUE(printed_networks.contains(c.name));
  const Network printed = printed_networks.at(c.name)();
  expect_same(run(builder.build_engine(printed), inputs), want);
  EXPECT_EQ(printed.debug_tensors().size(), network.debug_tensors().size());
  EXPECT_EQ(layers_of(printed), layers_of(network));
  if (c.edited) return;
  EXPECT_EQ(without_numbers(printed.text()), without_numbers(network.text()));
  EXPECT_EQ(without_numbers(printed.cpp()), without_numbers(network.cpp()));
  EXPECT_EQ(onnx::serialize(printed.to_model().proto), onnx::serialize(network.to_model().proto));
}

TEST_P(Cases, AreTheSameFromTheSourceOfWhatWasRead) {
  if (!c.printed_as_read()) return;
  const Network read = Parser().parse(network.to_model());
  const Network printed = printed_networks.at("read_" + c.name)();
  EXPECT_EQ(onnx::serialize(printed.to_model().proto), onnx::serialize(read.to_model().proto));
  EXPECT_EQ(layers_of(printed), layers_of(read));
}

/// Constants in a file beside the source are the same bits.
TEST_P(Cases, AreTheSameFromSourceWithAFileOfWeights) {
  if (!c.printed_with_weights()) return;
  const Network printed = printed_with_weights.at(c.name)(printed_weights / (c.name + ".safetensors"));
  EXPECT_EQ(onnx::serialize(printed.to_model().proto), onnx::serialize(network.to_model().proto));
  expect_same(run(builder.build_engine(printed), inputs), run(builder.build_engine(network), inputs));
}

/// Every family is printed as its own call; operators that were added by hand, or changed after a call
/// appended them, are printed as operators.
TEST_P(Cases, ArePrintedInTheirOwnWords) {
  if (c.name.starts_with("module_")) return;  // modules append operators
  const std::string source = network.cpp();
  const bool as_operators = c.name.starts_with("operators") || c.name == "edited_inside";
  EXPECT_EQ(source.find("add_operator(") != std::string::npos, as_operators) << source;
  for (const Layer& l : network.layers()) {
    // A shuffle may be a transpose or a reshape, and a scale without factors is none.
    const bool told = l.kind() != "shuffle" && c.name != "scale_nothing";
    if (!as_operators && told) {
      EXPECT_NE(source.find(".add_" + l.kind() + "("), std::string::npos) << source;
    }
  }
}

/// Every level, and every kernel and fused step in it, at other sizes and kinds of values too.
TEST_P(Cases, AreVerified) {
  VerifyOptions o;
  o.recorded = {inputs};
  o.build.threads = 1;
  o.seconds = 2;
  const VerifyReport r = verify(network.to_model(), o);
  EXPECT_FALSE(r.trials.empty());
  EXPECT_FALSE(r.fault) << r.fault->diagnostic.message();
}

TEST_P(Cases, PassTheChecker) {
  for (const Diagnostic& d : check(network.to_model()))
    if (d.severity == Diagnostic::Severity::error) ADD_FAILURE() << d.message();
}

TEST_P(Cases, AreTheSameTapped) {
  const NamedValues want = run(builder.build_engine(network), inputs);
  Network watched = network.clone();
  size_t tapped = 0;
  for (const Layer& l : watched.layers())
    for (const TensorRef& t : l.outputs())
      if (!t.is_network_output()) watched.mark_debug(t), ++tapped;
  EXPECT_EQ(watched.debug_tensors().size(), tapped);
  ExecutionContext context = builder.build_engine(watched).create_context();
  std::set<std::string, std::less<>> seen;
  context.on_tap([&](std::string_view name, const Value&) { seen.emplace(name); });
  expect_same(context.run(inputs), want);
  for (const TensorRef& t : watched.debug_tensors()) EXPECT_TRUE(seen.contains(t.name())) << t.name();
}

/// A structure of options in lathe/layers.h, from its text; `fields` without names of layers.
struct Options {
  std::string call;                   // "add_kv_cache_update"
  std::set<std::string> fields;       // "axis"
  std::set<std::string> enumerators;  // of the fields' types, but for the defaults: "KvCacheMode::ring"
};

/// The declarations of lathe/layers.h.
struct Header {
  std::map<std::string, std::set<std::string>> enumerators;  // by type
  std::vector<Options> options;
  Header() {
    std::ifstream file(LATHE_SOURCE_DIR "/include/lathe/layers.h");
    const std::string text = std::regex_replace(std::string((std::istreambuf_iterator<char>(file)), {}),
                                                std::regex("//[^\n]*"), "");
    each(text, std::regex("enum class (\\w+)[^{]*\\{([^}]*)\\}"), [&](const std::smatch& e) {
      each(e[2], std::regex("\\w+"), [&](const std::smatch& m) { enumerators[e[1]].insert(m[0]); });
    });
    each(text, std::regex("struct (\\w+)Options \\{"), [&](const std::smatch& s) {
      const auto from = static_cast<size_t>(s.position());
      options.push_back(read(s[1], text.substr(from, text.find("\n};", from) - from)));
    });
  }

 private:
  Options read(const std::string& family, const std::string& body) const {
    Options o;
    o.call = "add_" + snake_case(family);
    each(body, std::regex("(\\w+) = ([\\w:]*)"), [&](const std::smatch& field) {
      if (field[1] != "name") o.fields.insert(field[1]);
      const std::string value = field[2], type = value.substr(0, value.find("::"));
      if (const auto e = enumerators.find(type); e != enumerators.end())
        for (const std::string& one : e->second)
          if (type + "::" + one != value) o.enumerators.insert(type + "::" + one);
    });
    return o;
  }
  static std::string snake_case(const std::string& family) {
    if (family == "TopK") return "topk";
    if (family == "KvCache") return "kv_cache_update";
    std::string s;
    for (const char c : family) {
      if (std::isupper(c) && !s.empty()) s += '_';
      s += static_cast<char>(std::tolower(c));
    }
    return s;
  }
  template <class F>
  static void each(const std::string& text, const std::regex& wanted, F&& f) {
    for (std::sregex_iterator it(text.begin(), text.end(), wanted), end; it != end; ++it) f(*it);
  }
};

/// Arguments of every such call in a source, with what bodies in them call.
std::string arguments_of(const std::string& call, const std::string& source) {
  std::string all;
  for (size_t at = 0; (at = source.find(call + "(", at)) != std::string::npos;) {
    const size_t from = at += call.size() + 1;
    for (int open = 1; open > 0; ++at) {
      const char c = source.at(at);
      if (c == '(') ++open;
      if (c == ')') --open;
      if (c != '"') continue;
      while (source.at(++at) != '"')
        if (source[at] == '\\') ++at;
    }
    all += source.substr(from, at - from);
  }
  return all;
}

/// Each option of each family, and each thing it may be, is in the printed source of some case; but for the
/// default, which is not written, and the number of an operator's outputs, since their names are. Kinds that
/// are arguments by themselves are written always.
TEST(CasesTogether, UseEveryOptionOfEveryFamily) {
  std::string source;
  for (const NetworkCase& c : all_cases()) source += c.network().cpp();
  const Header header;
  EXPECT_GT(header.options.size(), 30u);
  std::set<std::string> told;
  size_t fields = 0;
  for (Options o : header.options) {
    if (o.call == "add_operator") o.fields.erase("outputs");
    const std::string written = arguments_of(o.call, source);
    EXPECT_FALSE(written.empty()) << o.call;
    for (const std::string& f : o.fields)
      EXPECT_NE(written.find("." + f + " = "), std::string::npos) << o.call << " with " << f;
    for (const std::string& e : o.enumerators) {
      EXPECT_NE(written.find("lathe::" + e), std::string::npos) << o.call << " with " << e;
      told.insert(e.substr(0, e.find(':')));
    }
    fields += o.fields.size();
  }
  EXPECT_GT(fields, 90u);
  size_t kinds = 0;
  for (const auto& [type, enumerators] : header.enumerators) {
    kinds += enumerators.size();
    if (told.contains(type)) continue;
    for (const std::string& e : enumerators)
      EXPECT_NE(source.find("lathe::" + type + "::" + e), std::string::npos) << type << "::" << e;
  }
  EXPECT_GT(kinds, 110u);
}

INSTANTIATE_TEST_SUITE_P(All, Cases, ::testing::ValuesIn(all_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::network_cases
