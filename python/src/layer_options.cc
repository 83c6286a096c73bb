// Enumerations of layers, and their options as plain structs: their defaults are those of lathe/layers.h.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "lathe/enum_names.h"
#include "network.h"

namespace lathe::python {
namespace {

template <class E>
void bind_enum(nb::module_& m, const char* doc) {
  nb::enum_<E> e(m, std::string(enum_name<E>()).c_str(), doc);
  uint8_t next = 0;
  for (const std::string_view member : member_names<E>())
    e.value(std::string(member).c_str(), static_cast<E>(next++));
}

void bind_enums(nb::module_& m) {
  bind_enum<PaddingMode>(
      m,
      "Selects how missing pads are found: as given; same_upper and same_lower, so that the output is "
      "ceil(input / stride) with the odd pad behind or before; valid, none.");
  bind_enum<PoolingType>(m,
                         "Selects how a window becomes one element, TensorRT's PoolingType; "
                         "max_average_blend is (1 - blend) * max + blend * average.");
  bind_enum<ActivationType>(
      m,
      "Activations, with TensorRT's names; gelu_erf is exact and gelu_tanh is its approximation. "
      "lathe.Network.add_activation says what alpha and beta are.");
  bind_enum<UnaryOperation>(
      m,
      "Elementwise functions of one tensor, TensorRT's UnaryOperation; recip is 1 / x, round goes to the "
      "nearest, halves to even.");
  bind_enum<ElementWiseOperation>(m,
                                  "Elementwise functions of two tensors, with TensorRT's names; floor_div "
                                  "rounds to minus infinity, for integers too.");
  bind_enum<NormalizationType>(
      m,
      "Selects the axes that are normalized over: layer, an axis and all behind it; rms, the same without "
      "mean; instance, the spatial axes; group, the spatial axes and the channels of a group.");
  bind_enum<MatrixOperation>(
      m,
      "Selects what is done to an operand of a matrix product first, TensorRT's MatrixOperation; with vector "
      "the last axis alone takes part, and those before it are of the batch.");
  bind_enum<ReduceOperation>(
      m, "Reductions, with the names of TensorRT and ONNX: ReduceSum, ReduceL1, ReduceLogSumExp and so on.");
  bind_enum<TopKOperation>(m,
                           "Selects elements, TensorRT's TopKOperation: max, the greatest; min, the least.");
  bind_enum<CumulativeOperation>(m, "Running sums and products, ONNX CumSum and CumProd.");
  bind_enum<GatherMode>(
      m,
      "Selects how indices are read, TensorRT's GatherMode: slices, whole slices of an axis; elements, one "
      "element for every index; nd, the last axis of the indices is a position.");
  bind_enum<ScatterMode>(m,
                         "Selects how indices are read, TensorRT's ScatterMode: elements, one element for "
                         "every index; nd, the last axis of the indices is a position.");
  bind_enum<ScatterReduction>(m,
                              "Selects how updates are combined with what is there, the attribute reduction "
                              "of ONNX ScatterElements; none replaces it.");
  bind_enum<SliceMode>(m,
                       "Selects what is read beyond the input, with TensorRT's names: strict allows nothing "
                       "there; wrap goes on at the other end; clamp repeats the edge; fill gives a value; "
                       "reflect goes back without repeating the edge.");
  bind_enum<PaddingFill>(m,
                         "Selects what is added, the attribute mode of ONNX Pad: a constant, the inside "
                         "mirrored without the edge (reflect), the edge repeated, or the other end (wrap).");
  bind_enum<InterpolationMode>(
      m, "Selects how elements between others are found, the attribute mode of ONNX Resize and GridSample.");
  bind_enum<CoordinateTransformation>(
      m,
      "Selects how coordinates of the output become those of the input, coordinate_transformation_mode of "
      "ONNX Resize.");
  bind_enum<NearestRounding>(m, "Selects which element is the nearest, nearest_mode of ONNX Resize.");
  bind_enum<GridPadding>(m, "Selects what is read beyond the input, padding_mode of ONNX GridSample.");
  bind_enum<BoxFormat>(m,
                       "Selects how boxes are written: corners, [y1, x1, y2, x2]; center_size, [x_center, "
                       "y_center, width, height].");
  bind_enum<FillOperation>(m,
                           "Selects how elements are generated, with TensorRT's names; "
                           "lathe.Network.add_fill gives the formulas.");
  bind_enum<KvCacheMode>(m,
                         "Selects what writing beyond the end of a cache does: linear makes it an error of "
                         "the run, ring goes on at its start.");
  bind_enum<LoopOutput>(
      m,
      "Selects what an output of a loop is, TensorRT's LoopOutput: the last_value of a recurrence, or the "
      "values of all iterations in order (concatenate) or backwards (reverse).");
}

/// A struct of options, its fields one by one. `call` is the method of Network whose arguments they are.
template <class O>
class Options {
 public:
  Options(nb::module_& m, const char* name, const char* call)
      : call_(std::string("lathe.Network.") + call),
        class_(m, name, ("The options of " + call_ + ".").c_str()) {
    class_.def(nb::init<>());
    field("name", &O::name);
  }
  template <class T>
  Options& field(const char* name, T O::*member) {
    class_.def_rw(name, member, doc_of(name).c_str());
    return *this;
  }
  Options& type(const char* name, DataType O::*member) {
    class_.def_prop_rw(
        name, [member](const O& o) { return std::string(name_of(o.*member)); },
        [member](O& o, const std::string& t) { o.*member = type_named(t); }, doc_of(name).c_str());
    return *this;
  }
  /// Sizes can only be set; programs read the shapes of tensors instead.
  template <class T>
  Options& sizes(const char* name, T O::*member) {
    class_.def_prop_rw(
        name, [](const O&) { return nb::none(); },
        [member](O& o, nb::handle h) { o.*member = sizes_from_python(h); }, doc_of(name).c_str());
    return *this;
  }

 private:
  std::string doc_of(const char* field) const {
    return std::string("The option `") + field + "` of " + call_ + ".";
  }
  std::string call_;
  nb::class_<O> class_;
};

template <class O>
Options<O> window_options(nb::module_& m, const char* name, const char* call) {
  return Options<O>(m, name, call)
      .field("stride", &O::stride)
      .field("dilation", &O::dilation)
      .field("pre_padding", &O::pre_padding)
      .field("post_padding", &O::post_padding)
      .field("padding_mode", &O::padding_mode);
}

void bind_compute_options(nb::module_& m) {
  window_options<ConvolutionOptions>(m, "ConvolutionOptions", "add_convolution")
      .field("groups", &ConvolutionOptions::groups);
  window_options<DeconvolutionOptions>(m, "DeconvolutionOptions", "add_deconvolution")
      .field("output_padding", &DeconvolutionOptions::output_padding)
      .field("groups", &DeconvolutionOptions::groups);
  Options<FullyConnectedOptions>(m, "FullyConnectedOptions", "add_fully_connected")
      .field("axis", &FullyConnectedOptions::axis);
  window_options<PoolingOptions>(m, "PoolingOptions", "add_pooling")
      .field("window", &PoolingOptions::window)
      .field("round_up", &PoolingOptions::round_up)
      .field("average_count_excludes_padding", &PoolingOptions::average_count_excludes_padding)
      .field("blend_factor", &PoolingOptions::blend_factor);
  Options<LrnOptions>(m, "LrnOptions", "add_lrn")
      .field("window", &LrnOptions::window)
      .field("alpha", &LrnOptions::alpha)
      .field("beta", &LrnOptions::beta)
      .field("k", &LrnOptions::k);
  Options<ActivationOptions>(m, "ActivationOptions", "add_activation")
      .field("alpha", &ActivationOptions::alpha)
      .field("beta", &ActivationOptions::beta);
  Options<ScaleOptions>(m, "ScaleOptions", "add_scale")
      .field("scale", &ScaleOptions::scale)
      .field("shift", &ScaleOptions::shift)
      .field("power", &ScaleOptions::power)
      .field("axis", &ScaleOptions::axis);
  Options<NormalizationOptions>(m, "NormalizationOptions", "add_normalization")
      .field("axis", &NormalizationOptions::axis)
      .field("groups", &NormalizationOptions::groups)
      .field("epsilon", &NormalizationOptions::epsilon);
  Options<SoftmaxOptions>(m, "SoftmaxOptions", "add_softmax").field("axis", &SoftmaxOptions::axis);
  Options<MatrixMultiplyOptions>(m, "MatrixMultiplyOptions", "add_matrix_multiply")
      .field("op0", &MatrixMultiplyOptions::op0)
      .field("op1", &MatrixMultiplyOptions::op1);
  Options<ReduceOptions>(m, "ReduceOptions", "add_reduce")
      .field("keep_dimensions", &ReduceOptions::keep_dimensions);
  Options<TopKOptions>(m, "TopKOptions", "add_topk")
      .field("axis", &TopKOptions::axis)
      .type("index_type", &TopKOptions::index_type);
  Options<CumulativeOptions>(m, "CumulativeOptions", "add_cumulative")
      .field("exclusive", &CumulativeOptions::exclusive)
      .field("reverse", &CumulativeOptions::reverse);
  Options<QuantizeOptions>(m, "QuantizeOptions", "add_quantize")
      .type("type", &QuantizeOptions::type)
      .field("axis", &QuantizeOptions::axis)
      .field("block_size", &QuantizeOptions::block_size)
      .field("saturate", &QuantizeOptions::saturate);
  Options<DequantizeOptions>(m, "DequantizeOptions", "add_dequantize")
      .field("axis", &DequantizeOptions::axis)
      .field("block_size", &DequantizeOptions::block_size);
  Options<DynamicQuantizeOptions>(m, "DynamicQuantizeOptions", "add_dynamic_quantize")
      .field("axis", &DynamicQuantizeOptions::axis)
      .field("block_size", &DynamicQuantizeOptions::block_size)
      .type("type", &DynamicQuantizeOptions::type)
      .field("double_scale", &DynamicQuantizeOptions::double_scale)
      .type("scale_type", &DynamicQuantizeOptions::scale_type);
  Options<AttentionOptions>(m, "AttentionOptions", "add_attention")
      .field("mask", &AttentionOptions::mask)
      .field("past_key", &AttentionOptions::past_key)
      .field("past_value", &AttentionOptions::past_value)
      .field("lengths", &AttentionOptions::lengths)
      .field("causal", &AttentionOptions::causal)
      .field("query_heads", &AttentionOptions::query_heads)
      .field("key_heads", &AttentionOptions::key_heads)
      .field("scale", &AttentionOptions::scale)
      .field("softcap", &AttentionOptions::softcap)
      .field("left_window", &AttentionOptions::left_window)
      .field("right_window", &AttentionOptions::right_window);
  Options<RotaryEmbeddingOptions>(m, "RotaryEmbeddingOptions", "add_rotary_embedding")
      .field("positions", &RotaryEmbeddingOptions::positions)
      .field("interleaved", &RotaryEmbeddingOptions::interleaved)
      .field("rotary_size", &RotaryEmbeddingOptions::rotary_size)
      .field("heads", &RotaryEmbeddingOptions::heads);
  Options<KvCacheOptions>(m, "KvCacheOptions", "add_kv_cache_update")
      .field("mode", &KvCacheOptions::mode)
      .field("axis", &KvCacheOptions::axis);
}

void bind_movement_options(nb::module_& m) {
  Options<GatherOptions>(m, "GatherOptions", "add_gather")
      .field("mode", &GatherOptions::mode)
      .field("axis", &GatherOptions::axis)
      .field("batch_axes", &GatherOptions::batch_axes);
  Options<ScatterOptions>(m, "ScatterOptions", "add_scatter")
      .field("mode", &ScatterOptions::mode)
      .field("axis", &ScatterOptions::axis)
      .field("reduction", &ScatterOptions::reduction);
  Options<ShuffleOptions>(m, "ShuffleOptions", "add_shuffle")
      .field("first_transpose", &ShuffleOptions::first_transpose)
      .sizes("reshape", &ShuffleOptions::reshape)
      .field("reshape_tensor", &ShuffleOptions::reshape_tensor)
      .field("second_transpose", &ShuffleOptions::second_transpose)
      .field("zero_is_placeholder", &ShuffleOptions::zero_is_placeholder);
  Options<SliceOptions>(m, "SliceOptions", "add_slice")
      .field("mode", &SliceOptions::mode)
      .field("axes", &SliceOptions::axes)
      .field("fill_value", &SliceOptions::fill_value);
  Options<PaddingOptions>(m, "PaddingOptions", "add_padding")
      .field("fill", &PaddingOptions::fill)
      .field("axes", &PaddingOptions::axes)
      .field("value", &PaddingOptions::value);
  Options<ResizeOptions>(m, "ResizeOptions", "add_resize")
      .field("scales", &ResizeOptions::scales)
      .sizes("sizes", &ResizeOptions::sizes)
      .field("sizes_tensor", &ResizeOptions::sizes_tensor)
      .field("mode", &ResizeOptions::mode)
      .field("coordinates", &ResizeOptions::coordinates)
      .field("rounding", &ResizeOptions::rounding)
      .field("cubic_coefficient", &ResizeOptions::cubic_coefficient)
      .field("exclude_outside", &ResizeOptions::exclude_outside)
      .field("antialias", &ResizeOptions::antialias);
  Options<GridSampleOptions>(m, "GridSampleOptions", "add_grid_sample")
      .field("mode", &GridSampleOptions::mode)
      .field("padding", &GridSampleOptions::padding)
      .field("align_corners", &GridSampleOptions::align_corners);
  Options<NmsOptions>(m, "NmsOptions", "add_nms")
      .field("iou_threshold", &NmsOptions::iou_threshold)
      .field("score_threshold", &NmsOptions::score_threshold)
      .field("boxes", &NmsOptions::boxes);
  Options<ReverseSequenceOptions>(m, "ReverseSequenceOptions", "add_reverse_sequence")
      .field("batch_axis", &ReverseSequenceOptions::batch_axis)
      .field("sequence_axis", &ReverseSequenceOptions::sequence_axis);
  Options<FillOptions>(m, "FillOptions", "add_fill")
      .field("alpha", &FillOptions::alpha)
      .field("beta", &FillOptions::beta)
      .type("type", &FillOptions::type)
      .field("seed", &FillOptions::seed);
  Options<LoopOptions>(m, "LoopOptions", "add_loop")
      .field("trip_limit", &LoopOptions::trip_limit)
      .field("initial_condition", &LoopOptions::initial_condition);
}

/// int, float, str, Tensor, or a list of one of them; an empty list is one of ints.
OperatorAttribute attribute_from_python(nb::handle h) {
  if (nb::isinstance<nb::int_>(h)) return argument<int64_t>(h, "a whole number of 64 bits");
  if (nb::isinstance<nb::float_>(h)) return static_cast<float>(nb::cast<double>(h));
  if (nb::isinstance<nb::str>(h)) return nb::cast<std::string>(h);
  if (nb::isinstance<Tensor>(h)) return nb::cast<Tensor>(h);
  std::vector<int64_t> ints;
  if (nb::try_cast(h, ints, false)) return ints;
  std::vector<float> floats;
  if (nb::try_cast(h, floats)) return floats;
  std::vector<std::string> strings;
  if (nb::try_cast(h, strings)) return strings;
  return argument<std::vector<Tensor>>(h, "an attribute: int, float, str, Tensor, or a list of these");
}

void set_attributes(OperatorOptions& o, const nb::dict& attributes) {
  o.attributes.clear();
  for (auto [name, value] : attributes)
    o.attributes.emplace_back(argument<std::string>(name, "names of attributes as str"),
                              attribute_from_python(value));
}

void set_bodies(OperatorOptions& o, const nb::dict& bodies) {
  o.bodies.clear();
  for (auto [name, function] : bodies)
    o.bodies.emplace_back(argument<std::string>(name, "names of bodies as str"),
                          body_from_python(nb::borrow(function)));
}

}  // namespace

void bind_layer_options(nb::module_& m) {
  bind_enums(m);
  bind_compute_options(m);
  bind_movement_options(m);
  nb::class_<OperatorOptions>(m, "OperatorOptions",
                              "The options of lathe.Network.add_operator and add_plugin.")
      .def(nb::init<>())
      .def("set_attributes", &set_attributes, nb::arg("attributes"),
           "Sets the attributes by name: int, float, str, Tensor, or a list of these.")
      .def("set_bodies", &set_bodies, nb::arg("bodies"),
           "Sets the functions that fill the bodies, by the names of their attributes.")
      .def_rw("domain", &OperatorOptions::domain, "The domain of the operator; \"\" is ai.onnx.")
      .def_rw("outputs", &OperatorOptions::outputs, "The number of outputs.")
      .def_rw("output_names", &OperatorOptions::output_names,
              "The names of the outputs, in place of their number; an empty one is not used.")
      .def_rw("metadata", &OperatorOptions::metadata, "Pairs that travel with the layer into files.")
      .def_rw("name", &OperatorOptions::name, "The name of the layer; an empty one is made up.");
  nb::class_<CppOptions>(m, "CppOptions", "The options of lathe.Network.cpp.")
      .def(nb::init<>())
      .def_rw("function", &CppOptions::function, "The name of the function that is written.")
      .def_prop_rw(
          "weights", [](const CppOptions& o) { return o.weights.string(); },
          [](CppOptions& o, const std::string& path) { o.weights = path; },
          "The path of the safetensors file for large constants; \"\" writes all of them in the source.")
      .def_rw("inline_elements", &CppOptions::inline_elements,
              "The most elements of a constant that is written in the source.");
}

}  // namespace lathe::python
