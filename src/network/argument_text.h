// Writes the arguments of layers in C++: numbers, members of enumerations, fields of options. The options of
// a family that is added get their fields here, and one made_by() where it appends its operators.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/enum_names.h"
#include "lathe/layers.h"
#include "network/cpp_text.h"

namespace lathe {
namespace cpp_text {

inline std::string text(bool b) { return b ? "true" : "false"; }
inline std::string text(int64_t i) { return number(i); }
inline std::string text(float f) { return number(f); }
inline std::string text(double d) { return number(d); }
inline std::string text(const std::string& s) { return literal(s); }
inline std::string text(DataType t) {
  return "lathe::DataType::" + (t == DataType::boolean ? "boolean" : std::string(name_of(t)));
}
inline std::string text(const Size& s) {
  return s.dim().is_constant() ? text(s.dim().constant()) : text(s.dim().str());
}
template <class E>
requires std::is_enum_v<E> std::string text(E e) {
  return "lathe::" + std::string(enum_name<E>()) +
         "::" + std::string(member_names<E>().at(static_cast<size_t>(e)));
}
template <class T>
std::string text(const std::vector<T>& list) {
  // The type is said where {} could be a tensor that is left out.
  std::string s = "{";
  if (std::is_same_v<T, Size>) s = "lathe::Sizes{";
  if (std::is_same_v<T, int64_t> && list.empty()) s = "std::vector<int64_t>{";
  for (size_t i = 0; i < list.size(); ++i) s += (i ? ", " : "") + text(list[i]);
  return s + "}";
}
template <class T>
std::string text(const std::optional<T>& x) {
  return x ? text(*x) : "{}";
}

}  // namespace cpp_text

// The fields of options but for the name, in the order of their declaration: f("axis",
// &SoftmaxOptions::axis).
// clang-format off
template <class F> void fields_of(const ConvolutionOptions&, F f) {
  using O = ConvolutionOptions;
  f("stride", &O::stride), f("dilation", &O::dilation), f("pre_padding", &O::pre_padding);
  f("post_padding", &O::post_padding), f("padding_mode", &O::padding_mode), f("groups", &O::groups);
}
template <class F> void fields_of(const DeconvolutionOptions&, F f) {
  using O = DeconvolutionOptions;
  f("stride", &O::stride), f("dilation", &O::dilation), f("pre_padding", &O::pre_padding);
  f("post_padding", &O::post_padding), f("output_padding", &O::output_padding);
  f("padding_mode", &O::padding_mode), f("groups", &O::groups);
}
template <class F> void fields_of(const FullyConnectedOptions&, F f) { f("axis", &FullyConnectedOptions::axis); }
template <class F> void fields_of(const PoolingOptions&, F f) {
  using O = PoolingOptions;
  f("window", &O::window), f("stride", &O::stride), f("dilation", &O::dilation), f("pre_padding", &O::pre_padding);
  f("post_padding", &O::post_padding), f("padding_mode", &O::padding_mode), f("round_up", &O::round_up);
  f("average_count_excludes_padding", &O::average_count_excludes_padding), f("blend_factor", &O::blend_factor);
}
template <class F> void fields_of(const LrnOptions&, F f) {
  using O = LrnOptions;
  f("window", &O::window), f("alpha", &O::alpha), f("beta", &O::beta), f("k", &O::k);
}
template <class F> void fields_of(const ActivationOptions&, F f) {
  f("alpha", &ActivationOptions::alpha), f("beta", &ActivationOptions::beta);
}
template <class F> void fields_of(const ScaleOptions&, F f) {
  using O = ScaleOptions;
  f("scale", &O::scale), f("shift", &O::shift), f("power", &O::power), f("axis", &O::axis);
}
template <class F> void fields_of(const NormalizationOptions&, F f) {
  using O = NormalizationOptions;
  f("axis", &O::axis), f("groups", &O::groups), f("epsilon", &O::epsilon);
}
template <class F> void fields_of(const SoftmaxOptions&, F f) { f("axis", &SoftmaxOptions::axis); }
template <class F> void fields_of(const MatrixMultiplyOptions&, F f) {
  f("op0", &MatrixMultiplyOptions::op0), f("op1", &MatrixMultiplyOptions::op1);
}
template <class F> void fields_of(const ReduceOptions&, F f) { f("keep_dimensions", &ReduceOptions::keep_dimensions); }
template <class F> void fields_of(const TopKOptions&, F f) {
  f("axis", &TopKOptions::axis), f("index_type", &TopKOptions::index_type);
}
template <class F> void fields_of(const CumulativeOptions&, F f) {
  f("exclusive", &CumulativeOptions::exclusive), f("reverse", &CumulativeOptions::reverse);
}
template <class F> void fields_of(const GatherOptions&, F f) {
  f("mode", &GatherOptions::mode), f("axis", &GatherOptions::axis), f("batch_axes", &GatherOptions::batch_axes);
}
template <class F> void fields_of(const ScatterOptions&, F f) {
  f("mode", &ScatterOptions::mode), f("axis", &ScatterOptions::axis), f("reduction", &ScatterOptions::reduction);
}
template <class F> void fields_of(const NmsOptions&, F f) {
  using O = NmsOptions;
  f("iou_threshold", &O::iou_threshold), f("score_threshold", &O::score_threshold), f("boxes", &O::boxes);
}
template <class F> void fields_of(const ShuffleOptions&, F f) {
  using O = ShuffleOptions;
  f("first_transpose", &O::first_transpose), f("reshape", &O::reshape), f("reshape_tensor", &O::reshape_tensor);
  f("second_transpose", &O::second_transpose), f("zero_is_placeholder", &O::zero_is_placeholder);
}
template <class F> void fields_of(const SliceOptions&, F f) {
  f("mode", &SliceOptions::mode), f("axes", &SliceOptions::axes), f("fill_value", &SliceOptions::fill_value);
}
template <class F> void fields_of(const PaddingOptions&, F f) {
  f("fill", &PaddingOptions::fill), f("axes", &PaddingOptions::axes), f("value", &PaddingOptions::value);
}
template <class F> void fields_of(const ResizeOptions&, F f) {
  using O = ResizeOptions;
  f("scales", &O::scales), f("sizes", &O::sizes), f("sizes_tensor", &O::sizes_tensor), f("mode", &O::mode);
  f("coordinates", &O::coordinates), f("rounding", &O::rounding), f("cubic_coefficient", &O::cubic_coefficient);
  f("exclude_outside", &O::exclude_outside), f("antialias", &O::antialias);
}
template <class F> void fields_of(const GridSampleOptions&, F f) {
  using O = GridSampleOptions;
  f("mode", &O::mode), f("padding", &O::padding), f("align_corners", &O::align_corners);
}
template <class F> void fields_of(const ReverseSequenceOptions&, F f) {
  f("batch_axis", &ReverseSequenceOptions::batch_axis), f("sequence_axis", &ReverseSequenceOptions::sequence_axis);
}
template <class F> void fields_of(const FillOptions&, F f) {
  using O = FillOptions;
  f("alpha", &O::alpha), f("beta", &O::beta), f("type", &O::type), f("seed", &O::seed);
}
template <class F> void fields_of(const QuantizeOptions&, F f) {
  using O = QuantizeOptions;
  f("type", &O::type), f("axis", &O::axis), f("block_size", &O::block_size), f("saturate", &O::saturate);
}
template <class F> void fields_of(const DequantizeOptions&, F f) {
  f("axis", &DequantizeOptions::axis), f("block_size", &DequantizeOptions::block_size);
}
template <class F> void fields_of(const DynamicQuantizeOptions&, F f) {
  using O = DynamicQuantizeOptions;
  f("axis", &O::axis), f("block_size", &O::block_size), f("type", &O::type), f("double_scale", &O::double_scale);
  f("scale_type", &O::scale_type);
}
template <class F> void fields_of(const AttentionOptions&, F f) {
  using O = AttentionOptions;
  f("mask", &O::mask), f("past_key", &O::past_key), f("past_value", &O::past_value), f("lengths", &O::lengths);
  f("causal", &O::causal), f("query_heads", &O::query_heads), f("key_heads", &O::key_heads), f("scale", &O::scale);
  f("softcap", &O::softcap), f("left_window", &O::left_window), f("right_window", &O::right_window);
}
template <class F> void fields_of(const RotaryEmbeddingOptions&, F f) {
  using O = RotaryEmbeddingOptions;
  f("positions", &O::positions), f("interleaved", &O::interleaved), f("rotary_size", &O::rotary_size);
  f("heads", &O::heads);
}
template <class F> void fields_of(const KvCacheOptions&, F f) {
  f("mode", &KvCacheOptions::mode), f("axis", &KvCacheOptions::axis);
}
template <class F> void fields_of(const LoopOptions&, F f) {
  f("trip_limit", &LoopOptions::trip_limit), f("initial_condition", &LoopOptions::initial_condition);
}
// clang-format on

template <class T>
concept OptionsOfCall = requires(const T& o) {
  fields_of(o, [](auto&&...) {});
};

}  // namespace lathe
