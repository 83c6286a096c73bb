#include "network/family.h"

#include <map>

namespace lathe {
namespace {

const std::map<std::string_view, std::string_view>& families() {
  static const auto* table = [] {
    auto* t = new std::map<std::string_view, std::string_view>;
    auto all = [&](std::string_view family, std::initializer_list<std::string_view> ops) {
      for (std::string_view op : ops) t->emplace(op, family);
    };
    all("convolution", {"Conv"});
    all("deconvolution", {"ConvTranspose"});
    all("fully_connected", {"Gemm"});
    all("pooling", {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"});
    all("lrn", {"LRN"});
    all("activation", {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Selu", "Softsign", "Softplus", "Clip",
                       "HardSigmoid", "ThresholdedRelu", "Gelu"});
    all("unary", {"Exp",   "Log",  "Sqrt", "Reciprocal", "Abs",   "Neg",   "Sin",   "Cos",   "Tan",
                  "Sinh",  "Cosh", "Asin", "Acos",       "Atan",  "Asinh", "Acosh", "Atanh", "Ceil",
                  "Floor", "Erf",  "Not",  "Sign",       "Round", "IsInf", "IsNaN"});
    all("elementwise",
        {"Add", "Mul", "Max", "Min", "Sub", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"});
    all("normalization",
        {"LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"});
    all("softmax", {"Softmax"});
    all("matrix_multiply", {"MatMul"});
    all("einsum", {"Einsum"});
    all("reduce", {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2",
                   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"});
    all("topk", {"TopK"});
    all("cumulative", {"CumSum", "CumProd"});
    all("gather", {"Gather", "GatherElements", "GatherND"});
    all("scatter", {"ScatterElements", "ScatterND"});
    all("one_hot", {"OneHot"});
    all("non_zero", {"NonZero"});
    all("select", {"Where"});
    all("nms", {"NonMaxSuppression"});
    all("shuffle", {"Transpose", "Reshape"});
    all("slice", {"Slice"});
    all("padding", {"Pad"});
    all("concatenation", {"Concat"});
    all("squeeze", {"Squeeze"});
    all("unsqueeze", {"Unsqueeze"});
    all("expand", {"Expand"});
    all("identity", {"Identity"});
    all("cast", {"Cast"});
    all("shape", {"Shape"});
    all("resize", {"Resize"});
    all("grid_sample", {"GridSample"});
    all("reverse_sequence", {"ReverseSequence"});
    all("parametric_relu", {"PRelu"});
    all("fill", {"Range", "ConstantOfShape", "RandomUniform", "RandomNormal", "RandomUniformLike",
                 "RandomNormalLike"});
    all("quantize", {"QuantizeLinear"});
    all("dequantize", {"DequantizeLinear"});
    all("dynamic_quantize", {"DynamicQuantizeLinear"});
    all("attention", {"Attention"});
    all("rotary_embedding", {"RotaryEmbedding"});
    all("kv_cache_update", {"TensorScatter"});
    all("if_conditional", {"If"});
    all("loop", {"Loop", "Scan"});
    return t;
  }();
  return *table;
}

}  // namespace

std::string_view family_of(const Node& n) {
  if (!n.domain.empty()) return "plugin";
  const auto at = families().find(n.op);
  return at == families().end() ? std::string_view(n.op) : at->second;
}

std::string_view operator_of(UnaryOperation op) {
  constexpr std::string_view names[] = {"Exp",   "Log",   "Sqrt",  "Reciprocal", "Abs",   "Neg",  "Sin",
                                        "Cos",   "Tan",   "Sinh",  "Cosh",       "Asin",  "Acos", "Atan",
                                        "Asinh", "Acosh", "Atanh", "Ceil",       "Floor", "Erf",  "Not",
                                        "Sign",  "Round", "IsInf", "IsNaN"};
  return names[static_cast<size_t>(op)];
}

std::string_view operator_of(ReduceOperation op) {
  constexpr std::string_view names[] = {"ReduceSum",       "ReduceProd",     "ReduceMax", "ReduceMin",
                                        "ReduceMean",      "ReduceL1",       "ReduceL2",  "ReduceLogSum",
                                        "ReduceLogSumExp", "ReduceSumSquare"};
  return names[static_cast<size_t>(op)];
}

std::string_view operator_of(ElementWiseOperation op) {
  constexpr std::string_view names[] = {"Add", "Mul", "Max", "Min", "Sub",   "Div",     "Pow",
                                        "Div", "And", "Or",  "Xor", "Equal", "Greater", "Less"};
  return names[static_cast<size_t>(op)];
}

}  // namespace lathe
