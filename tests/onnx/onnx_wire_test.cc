// Messages read from the wire and written back: nothing lost, and nothing believed.
#include <gtest/gtest.h>

#include <limits>

#include "lathe/onnx.h"
#include "onnx/wire_fields.h"
#include "onnx/wire_writer.h"
#include "support/error_code.h"
#include "support/wire_bytes.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

/// Puts something into every field of a message, so that each is seen on the wire; of alternatives into one,
/// in turn.
struct Filler {
  size_t turn = 0;
  int depth = 0;
  int64_t next = 1;

  void fill(std::string& v) { v = "text " + std::to_string(next++); }
  void fill(onnx::Bytes& v) { v = onnx::Bytes("bytes " + std::to_string(next++)); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void fill(T& v) { v = static_cast<T>(next++ % 2 ? next : -next); }
  template <class T>
  void fill(std::optional<T>& v) {
    fill(v.emplace());
  }
  template <class T>
  void fill(onnx::Boxed<T>& v) {
    if (depth < 4) fill(v.emplace());
  }
  template <class T>
  void fill(std::vector<T>& v) {
    if (depth < 4)
      for (int i = 0; i < 2; ++i) fill(v.emplace_back());
  }
  template <onnx::wire::Message M>
  void fill(M& m) {
    ++depth;
    std::vector<int> alternatives;
    onnx::wire::visit_fields(m, [&](int n, std::string_view, auto&, auto...) {
      if (onnx::wire::is_alternative(m, n)) alternatives.push_back(n);
    });
    const int chosen = alternatives.empty() ? 0 : alternatives[turn++ % alternatives.size()];
    onnx::wire::visit_fields(m, [&](int n, std::string_view, auto& member, auto...) {
      if (n == chosen || !onnx::wire::is_alternative(m, n)) fill(member);
    });
    m.unknown = field(1000, "later version") + number(1001, static_cast<uint64_t>(next++));
    --depth;
  }
};

template <class M>
void survives() {
  for (size_t turn = 0; turn < 6; ++turn) {
    M m;
    Filler{.turn = turn}.fill(m);
    const std::string bytes = onnx::serialize(m);
    const M again = onnx::parse<M>(bytes);
    EXPECT_EQ(bytes, onnx::serialize(again));
    EXPECT_EQ(m.unknown, again.unknown);
  }
  M empty = onnx::parse<M>("");
  EXPECT_EQ(onnx::serialize(empty), "");
}

TEST(OnnxWire, EveryFieldOfEveryMessageSurvives) {
  survives<ModelProto>();
  survives<GraphProto>();
  survives<NodeProto>();
  survives<TensorProto>();
  survives<onnx::SparseTensorProto>();
  survives<AttributeProto>();
  survives<onnx::FunctionProto>();
  survives<onnx::ValueInfoProto>();
  survives<onnx::TypeProto>();
  survives<onnx::SequenceProto>();
  survives<onnx::MapProto>();
  survives<onnx::OptionalProto>();
}

TEST(OnnxWire, PresenceIsKept) {
  NodeProto n;
  n.domain = "";
  n.doc_string = "";
  const NodeProto again = onnx::parse<NodeProto>(onnx::serialize(n));
  EXPECT_TRUE(again.domain && again.doc_string);
  EXPECT_FALSE(again.name || again.overload || again.op_type);
  AttributeProto a;
  a.i = 0;
  a.f = 0.0f;
  const AttributeProto b = onnx::parse<AttributeProto>(onnx::serialize(a));
  EXPECT_TRUE(b.i && b.f);
  EXPECT_FALSE(b.type);
}

TEST(OnnxWire, NumbersAtTheirLimits) {
  AttributeProto a;
  a.ints = {0, -1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  a.floats = {-0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::denorm_min()};
  a.type = -1;
  const AttributeProto b = onnx::parse<AttributeProto>(onnx::serialize(a));
  EXPECT_EQ(a.ints, b.ints);
  EXPECT_EQ(a.floats, b.floats);
  EXPECT_EQ(b.type, -1);
}

TEST(OnnxWire, PackedAndUnpackedListsAreAccepted) {
  const std::string packed = field(7, varint(1) + varint(300) + varint(static_cast<uint64_t>(-1)));
  const std::string unpacked = number(7, 1) + number(7, 300) + number(7, static_cast<uint64_t>(-1));
  const std::vector<int64_t> expected = {1, 300, -1, 1, 300, -1};
  EXPECT_EQ(onnx::parse<TensorProto>(packed + unpacked).int64_data, expected);
  EXPECT_EQ(onnx::parse<AttributeProto>(field(8, varint(1) + varint(2)) + number(8, 3)).ints,
            (std::vector<int64_t>{1, 2, 3}));
}

TEST(OnnxWire, AMessageThatOccursTwiceIsMerged) {
  const std::string first = field(7, field(2, "first") + field(1, field(4, "Relu")));
  const std::string second = field(7, field(2, "second") + field(1, field(4, "Tanh")));
  const auto m = onnx::parse<ModelProto>(first + second);
  EXPECT_EQ(m.graph->name, "second");
  ASSERT_EQ(m.graph->node.size(), 2u);
  EXPECT_EQ(m.graph->node[1].op_type, "Tanh");
}

TEST(OnnxWire, OfAlternativesTheLastCounts) {
  const std::string size = number(1, 3), name = field(2, "N"), word = field(3, "batch");
  using Dimension = onnx::TensorShapeProto::Dimension;
  const auto dimension = [](const std::string& bytes) {
    const auto t = onnx::parse<onnx::TypeProto>(field(1, field(2, field(1, bytes))));
    return t.tensor_type->shape->dim.at(0);
  };
  const Dimension named = dimension(size + word + name), sized = dimension(name + word + size);
  EXPECT_TRUE(named.dim_param == "N" && !named.dim_value && named.denotation == "batch");
  EXPECT_TRUE(sized.dim_value == 3 && !sized.dim_param && sized.denotation == "batch");

  const std::string tensor = field(1, number(1, 1)), sequence = field(4, field(1, tensor));
  const auto last = onnx::parse<onnx::TypeProto>(tensor + field(6, "what") + sequence);
  EXPECT_TRUE(last.sequence_type && !last.tensor_type && last.denotation == "what");
  const auto merged = onnx::parse<onnx::TypeProto>(tensor + field(1, field(2, "")));
  EXPECT_TRUE(merged.tensor_type->elem_type == 1 && merged.tensor_type->shape);
}

TEST(OnnxWire, UnknownFieldsOfEveryWireTypeAreKept) {
  const std::string group = tag(500, 3) + number(1, 7) + tag(2, 3) + tag(2, 4) + tag(500, 4);
  const std::string unknown =
      number(501, 1) + tag(502, 1) + "12345678" + field(503, "bytes") + group + tag(504, 5) + "1234";
  const auto n = onnx::parse<NodeProto>(field(4, "Relu") + unknown);
  EXPECT_EQ(n.unknown, unknown);
  EXPECT_EQ(onnx::serialize(n), field(4, "Relu") + unknown);
}

TEST(OnnxWire, WithAnOwnerBytesAreViews) {
  auto buffer = std::make_shared<std::string>(field(9, std::string(100, 'w')) + field(6, "s"));
  const auto t = onnx::parse<TensorProto>(*buffer, {}, buffer);
  EXPECT_EQ(t.raw_data->data(), buffer->data() + 2);
  EXPECT_EQ(t.string_data[0].data(), buffer->data() + buffer->size() - 1);
  const auto copy = onnx::parse<TensorProto>(*buffer);
  EXPECT_NE(copy.raw_data->data(), buffer->data() + 2);
  EXPECT_EQ(*copy.raw_data, *t.raw_data);
}

TEST(OnnxWire, LargeAndSmallBytesAreWrittenInOrder) {
  // Sizes around that of the writer's buffer, which large pieces go past.
  for (size_t large : {size_t{1} << 15, (size_t{1} << 15) + 1, (size_t{1} << 16) - 1, size_t{1} << 17}) {
    GraphProto g;
    for (int i = 0; i < 5; ++i) {
      TensorProto t;
      t.name = "w" + std::to_string(i);
      t.raw_data = onnx::Bytes(std::string(i % 2 ? 3 : large, static_cast<char>('a' + i)));
      g.initializer.push_back(t);
    }
    const auto again = onnx::parse<GraphProto>(onnx::serialize(g));
    ASSERT_EQ(again.initializer.size(), 5u);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(*again.initializer[i].raw_data, *g.initializer[i].raw_data);
  }
}

TEST(OnnxWire, StandInsAreWrittenInstead) {
  ModelProto m;
  m.graph.emplace().initializer.resize(2);
  m.graph->initializer[0].name = "kept";
  m.graph->initializer[1].name = "replaced";
  TensorProto other;
  other.name = "a stand-in";
  other.raw_data = onnx::Bytes("data");
  std::string bytes;
  onnx::wire::write(
      m, [&](std::string_view piece) { bytes += piece; },
      [&](const TensorProto& t) { return t.name == "replaced" ? &other : nullptr; });
  const auto again = onnx::parse<ModelProto>(bytes);
  EXPECT_EQ(again.graph->initializer[0].name, "kept");
  EXPECT_EQ(again.graph->initializer[1].name, "a stand-in");
}

TEST(OnnxWire, CopiesOfAMessageAreIndependent) {
  AttributeProto a;
  a.g.emplace().name = "body";
  AttributeProto b = a;
  b.g->name = "another";
  EXPECT_EQ(a.g->name, "body");
}

TEST(OnnxWire, ErrorsSayWhere) {
  const std::string node = field(1, "x") + field(5, field(1, "axis") + tag(3, 2) + varint(99));
  const std::string model = field(7, field(1, field(4, "Relu")) + field(1, node));
  const std::string said = sentence_of([&] { onnx::parse<ModelProto>(model); });
  EXPECT_NE(said.find("E1101"), std::string::npos) << said;
  EXPECT_NE(said.find("graph.node[1].attribute[0] at byte 24"), std::string::npos) << said;
}

TEST(OnnxWire, NotUtf8) {
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "ends in \xe2\x82", "\x80",
                          "long enough for eight \xf8 bytes"})
    EXPECT_EQ(code_of([&] { onnx::parse<NodeProto>(field(3, bad)); }), Code::wire_bad_utf8) << bad;
  EXPECT_EQ(onnx::parse<NodeProto>(field(3, "größe ∑ 🙂")).name, "größe ∑ 🙂");
  // Bytes are not text.
  EXPECT_EQ(onnx::parse<AttributeProto>(field(4, "\xff")).s->view(), "\xff");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
