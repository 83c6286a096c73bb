// Networks built call by call: every case by hand, through a saved file, a reloaded engine, and its own
// printed source gives the same bits; and what the reference makes of it.
#include <gtest/gtest.h>

#include <cstring>
#include <regex>
#include <set>

#include "network/cases.h"
#include "network/printed.h"
#include "support/temp_directory.h"

namespace lathe::network_cases {
namespace {

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
  EXPECT_EQ(without_numbers(printed.text()), without_numbers(network.text()));
  EXPECT_EQ(without_numbers(printed.cpp()), without_numbers(network.cpp()));
  EXPECT_EQ(onnx::serialize(printed.to_model().proto), onnx::serialize(network.to_model().proto));
  expect_same(run(builder.build_engine(printed), inputs), want);
}

TEST_P(Cases, PassTheChecker) {
  for (const Diagnostic& d : check(network.to_model()))
    if (d.severity == Diagnostic::Severity::error) ADD_FAILURE() << d.sentence();
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

INSTANTIATE_TEST_SUITE_P(All, Cases, ::testing::ValuesIn(all_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace lathe::network_cases
