// Kernels check in time whether to stop, however long a single row is: polls are counted, not timed.
#include <gtest/gtest.h>

#include "base/cpu.h"
#include "kernel/host_context.h"
#include "kernel/select.h"
#include "support/graph_builder.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

/// Counts polls; from the `last` one on it is cancelled.
class Counting final : public HostContext {
 public:
  Counting(std::vector<const Value*> inputs, std::vector<Output> outputs, int64_t last)
      : HostContext(std::move(inputs), std::move(outputs)), last_(last) {}
  void poll() override {
    if (++polls >= last_) throw Error(Code::cancelled, "run", "to go on", "cancelled");
  }
  int64_t polls = 0;

 private:
  int64_t last_;
};

/// An operator over one long row. `work`: elements that it has to look at.
struct LongCase {
  std::string op;
  std::vector<Value> inputs;
  std::vector<DataType> outputs = {DataType::float32};
  Attributes attributes = {};
  int64_t work = 0;
};

constexpr int64_t length = int64_t{1} << 21;
constexpr int64_t max_boxes = 2048;  // each is compared with all before it
/// Between two polls no more than this: a few milliseconds of the slowest kernels.
constexpr int64_t max_between_polls = int64_t{1} << 18;

Tensor ramp(Shape shape, DataType type = DataType::float32) {
  Tensor t(type, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) {
    const auto v = static_cast<int64_t>(static_cast<uint64_t>(i) * 2654435761u % 1009);
    is_float(type) ? store_double(t, i, static_cast<double>(v) / 1009) : store_int(t, i, v % 100);
  }
  return t;
}
Tensor one(float v) { return Tensor::from<float>({1}, std::vector<float>{v}); }
Tensor number(int64_t v) { return Tensor::scalar(v); }
Tensor list_of(std::vector<int64_t> v) { return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v); }
Tensor text(const std::string& s) {
  Tensor t(DataType::string, {1});
  t.as<std::string>()[0] = s;
  return t;
}
Attributes axis(int64_t a) { return attributes({{"axis", a}}); }

std::vector<LongCase> cases() {
  const Tensor row = ramp({1, length}), column = ramp({length, 2}), cube = ramp({1, 1, length});
  const DataType f = DataType::float32, i64 = DataType::int64;
  std::vector<LongCase> all;
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    all.push_back({op, {row}, {f}, axis(-1)});
    all.push_back({op, {column}, {f}, axis(0)});
  }
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    all.push_back({op, {row, list_of({1})}});
    all.push_back({op, {column, list_of({0})}});
  }
  for (const char* op : {"ArgMax", "ArgMin"}) all.push_back({op, {row}, {i64}, axis(1)});
  for (const char* op : {"CumSum", "CumProd"}) all.push_back({op, {row, number(1)}});
  all.push_back({"TopK", {row, list_of({10})}, {f, i64}});
  all.push_back({"TopK", {row, list_of({length})}, {f, i64}});
  all.push_back({"LayerNormalization", {row, ramp({length}), ramp({length})}});
  all.push_back({"RMSNormalization", {row, ramp({length})}});
  all.push_back({"InstanceNormalization", {cube, one(1), one(0)}});
  all.push_back({"BatchNormalization", {cube, one(1), one(0), one(0), one(1)}});
  all.push_back(
      {"GroupNormalization", {cube, one(1), one(0)}, {f}, attributes({{"num_groups", int64_t{1}}})});
  all.push_back({"LpNormalization", {row}, {f}, axis(1)});
  all.push_back({"MeanVarianceNormalization", {ramp({1, 1, 1, length})}});
  all.push_back({"LRN", {cube}, {f}, attributes({{"size", int64_t{1}}})});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) all.push_back({op, {cube}});
  for (const char* op : {"AveragePool", "MaxPool"})
    all.push_back({op, {cube}, {f}, attributes({{"kernel_shape", std::vector<int64_t>{length}}})});
  for (const char* op : {"AveragePool", "MaxPool"})  // windows of a few elements
    all.push_back({op, {cube}, {f}, attributes({{"kernel_shape", std::vector<int64_t>{3}}})});
  all.push_back({"Conv", {cube, ramp({1, 1, length})}});
  all.push_back({"DeformConv", {cube, cube, ramp({1, length, 1})}});
  const Tensor halves = ramp({1, 1, length / 2});
  all.push_back({"RotaryEmbedding", {ramp({1, 1, 1, length}), halves, halves}});
  all.push_back({"Cast",
                 {Tensor(DataType::string, {length})},
                 {DataType::string},
                 attributes({{"to", static_cast<int64_t>(DataType::string)}})});
  all.push_back({"MatMul", {row, ramp({length, 1})}});
  all.push_back({"Gemm", {row, row}, {f}, attributes({{"transB", int64_t{1}}})});
  all.push_back({"Einsum", {row, row}, {f}, attributes({{"equation", std::string("ij,ij->")}})});
  all.push_back({"Multinomial", {row}, {DataType::int32}, attributes({{"sample_size", int64_t{1}}})});
  // Many rows of nothing.
  const Tensor rows(f, {length, 0});
  all.push_back({"Multinomial", {rows}, {DataType::int32}, attributes({{"sample_size", int64_t{0}}})});
  all.push_back({"TopK", {rows, list_of({0})}, {f, i64}});
  all.push_back({"ScatterND", {Tensor(f, {0}), Tensor(i64, {length, 0}), rows}});
  all.push_back({"RNN", {Tensor(f, {length, 1, 0}), Tensor(f, {1, 0, 0}), Tensor(f, {1, 0, 0})}, {f, f}});
  all.push_back({"Unique", {ramp({length}, i64)}, {i64, i64, i64, i64}});
  all.push_back({"NonZero", {row}, {i64}});
  all.push_back({"Compress", {row, Tensor(DataType::boolean, {length})}});
  all.push_back({"DynamicQuantizeLinear", {row}, {DataType::uint8, f, DataType::uint8}});
  for (const char* op : {"Exp", "Tanh", "Erf", "Floor"}) all.push_back({op, {row}});
  for (const char* op : {"Add", "Div", "Pow"}) all.push_back({op, {row, row}});
  all.push_back({"Cast", {row}, {i64}, attributes({{"to", static_cast<int64_t>(i64)}})});
  all.push_back({"Exp", {ramp({length}, DataType::float16)}, {DataType::float16}});
  all.push_back({"Gather", {row, ramp({length}, i64)}, {f}, axis(1)});
  all.push_back({"Gather", {ramp({2, length}), list_of({1})}});
  all.push_back({"GatherElements", {row, ramp({1, length}, i64)}, {f}, axis(1)});
  all.push_back({"ScatterElements", {row, ramp({1, length}, i64), row}, {f}, axis(1)});
  all.push_back({"GatherND", {ramp({100, 2}), ramp({length, 1}, i64)}});
  all.push_back({"ReverseSequence", {column, list_of({length, 3})}});
  all.push_back({"CenterCropPad", {row, list_of({1, length - 2})}});
  all.push_back({"Trilu", {row}});
  all.push_back({"BitwiseAnd", {ramp({length}, i64), ramp({length}, i64)}, {i64}});
  all.push_back({"Mean", {row, row, row}});
  all.push_back({"MaxUnpool",
                 {cube, ramp({1, 1, length}, i64)},
                 {f},
                 attributes({{"kernel_shape", std::vector<int64_t>{1}}})});
  all.push_back({"LpPool", {cube}, {f}, attributes({{"kernel_shape", std::vector<int64_t>{length}}})});
  all.push_back({"DFT", {ramp({1, length, 1}), number(length), number(1)}});
  all.push_back({"STFT", {ramp({1, length, 1}), number(64), ramp({64}), number(64)}});
  all.push_back({"Concat", {row, row}, {f}, axis(1)});
  all.push_back({"Where", {Tensor(DataType::boolean, {1, length}), row, row}});
  all.push_back({"Slice", {row, list_of({length - 1}), list_of({INT64_MIN}), list_of({1}), list_of({-1})}});
  all.push_back({"Expand", {one(1), list_of({length})}});
  for (const char* mode : {"constant", "edge", "reflect", "wrap"})
    all.push_back({"Pad", {row, list_of({0, 1, 0, 1})}, {f}, attributes({{"mode", std::string(mode)}})});
  all.push_back({"GridSample", {ramp({1, length, 1, 1}), ramp({1, 1, 1, 2})}});
  all.push_back({"MatMulInteger",
                 {ramp({1, length}, DataType::uint8), ramp({length, 1}, DataType::uint8)},
                 {DataType::int32}});
  all.push_back({"Transpose", {column}});
  all.push_back({"Range", {number(0), number(length), number(1)}, {i64}});
  all.push_back({"ConstantOfShape", {list_of({length})}});
  all.push_back({"OneHot", {number(3), number(length), ramp({2})}, {f}});
  all.push_back({"NonMaxSuppression",
                 {ramp({1, max_boxes, 4}), ramp({1, 1, max_boxes}), number(1 << 20), one(1)},
                 {i64},
                 {},
                 length});
  all.push_back({"RNN",
                 {ramp({1, 1, length}), ramp({1, 1, length}), ramp({1, 1, 1})},
                 {f, f},
                 attributes({{"hidden_size", int64_t{1}}})});
  all.push_back({"StringNormalizer",
                 {text(std::string(length, 'a'))},
                 {DataType::string},
                 attributes({{"case_change_action", std::string("UPPER")}})});
  std::string words;
  for (int64_t i = 0; i < length / 2; ++i) words += "a ";
  all.push_back({"StringSplit", {text(words)}, {DataType::string, i64}});
  for (LongCase& c : all)
    if (c.work == 0)
      for (const Value& v : c.inputs) c.work = std::max(c.work, v.tensor().size());
  for (LongCase& c : all) c.work = std::max(c.work, length);
  return all;
}

/// Kernels that accept a case on this machine.
std::vector<const Kernel*> kernels_for(const LongCase& c) {
  std::vector<KernelQuery::Operand> in, out;
  for (const Value& v : c.inputs) {
    const Shape& s = v.tensor().shape();
    in.push_back({true, v.tensor().type(), SymShape(s.begin(), s.end()), nullptr});
  }
  for (DataType t : c.outputs) out.push_back({true, t, std::nullopt, nullptr});
  const KernelCatalog& all = KernelCatalog::standard();
  std::vector<const Kernel*> found;
  for (const Kernel* k : all.candidates("", c.op)) {
    if (k->isa > choose_isa("") || k->alias >= 0 || k->decode) continue;
    if (k->pack) continue;  // those are run by the engine only, on packed constants
    const auto op = decode_for(*k, *all.codec_of("", c.op), c.attributes);
    // Constants: as the builder would know axes and the like.
    std::vector<KernelQuery::Operand> known = in;
    for (size_t i = 1; i < known.size(); ++i) known[i].constant = &c.inputs[i].tensor();
    if (!k->supports || k->supports(op.get(), {known, out, k->isa}).accepted) found.push_back(k);
  }
  return found;
}

int64_t polls_of(const LongCase& c, const Kernel& k, int64_t last = INT64_MAX) {
  std::vector<const Value*> in;
  for (const Value& v : c.inputs) in.push_back(&v);
  std::vector<HostContext::Output> out;
  for (DataType t : c.outputs) out.push_back({true, t});
  const OpCodec& codec = *KernelCatalog::standard().codec_of("", c.op);
  Counting context(std::move(in), std::move(out), last);
  context.run(k, codec, codec.decode(c.attributes).get());
  return context.polls;
}

TEST(Poll, WithinOneLongRow) {
  for (const LongCase& c : cases()) {
    const std::vector<const Kernel*> kernels = kernels_for(c);
    EXPECT_FALSE(kernels.empty()) << c.op;
    for (const Kernel* k : kernels) {
      EXPECT_GE(polls_of(c, *k), c.work / max_between_polls) << k->name << " of " << describe(c.inputs[0]);
    }
  }
}

TEST(Poll, CancelsWithinOneLongRow) {
  for (const LongCase& c : cases())
    for (const Kernel* k : kernels_for(c)) {
      try {
        polls_of(c, *k, 5);
        ADD_FAILURE() << k->name << " went on";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::cancelled) << k->name;
      }
    }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
