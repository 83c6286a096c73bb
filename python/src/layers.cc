// Every add_* of a Network, as lathe/network.h declares it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "network.h"

namespace lathe::python {
namespace {

using Class = nb::class_<Network>;
using Ints = std::vector<int64_t>;

/// Alive as long as the function that fills the loop runs; then every call is refused.
class LoopHandle {
 public:
  explicit LoopHandle(LoopBody& body) : body_(&body) {}
  void end() { body_ = nullptr; }
  LoopBody& body() const {
    if (!body_)
      throw Error(Code::bad_argument, "network", "a loop that is being filled", "one that is finished",
                  "use it inside the function given to add_loop");
    return *body_;
  }

 private:
  LoopBody* body_;
};

Layer add_loop(Network& n, const LoopOptions& o, const nb::object& fill) {
  return n.add_loop(o, [&](LoopBody& body) {
    const nb::object lent = nb::cast(LoopHandle(body));
    struct End {
      LoopHandle& handle;
      ~End() { handle.end(); }
    } end{nb::cast<LoopHandle&>(lent)};
    fill(lent);
  });
}

void bind_loop_body(nb::module_& m) {
  nb::class_<LoopHandle>(m, "LoopBody", "The native half of lathe.LoopBody, which describes its methods.")
      .def(
          "network", [](const LoopHandle& l) { return Network(l.body().network()); },
          "Returns the network of the body.")
      .def(
          "iteration", [](const LoopHandle& l) { return l.body().iteration(); },
          "Returns the number of the iteration.")
      .def(
          "add_recurrence",
          [](const LoopHandle& l, const TensorRef& t) { return l.body().add_recurrence(t); },
          "Adds a value that is carried from one iteration to the next.")
      .def(
          "set_next",
          [](const LoopHandle& l, const TensorRef& r, const TensorRef& next) { l.body().set_next(r, next); },
          "Sets the next value of a recurrence.")
      .def(
          "add_iterator",
          [](const LoopHandle& l, const TensorRef& x, int64_t axis, bool reverse) {
            return l.body().add_iterator(x, axis, reverse);
          },
          "Adds one slice of a tensor for each iteration.")
      .def(
          "set_condition", [](const LoopHandle& l, const TensorRef& c) { l.body().set_condition(c); },
          "Sets the condition to go on.")
      .def(
          "add_output",
          [](const LoopHandle& l, const TensorRef& t, LoopOutput kind, int64_t axis) {
            l.body().add_output(t, kind, axis);
          },
          "Adds an output of the loop.");
}

void bind_compute(Class& c) {
  c.def("add_convolution", &Network::add_convolution,
        "Appends the layer of lathe.Network.add_convolution, which describes it.")
      .def("add_deconvolution", &Network::add_deconvolution,
           "Appends the layer of lathe.Network.add_deconvolution, which describes it.")
      .def("add_fully_connected", &Network::add_fully_connected,
           "Appends the layer of lathe.Network.add_fully_connected, which describes it.")
      .def("add_pooling", &Network::add_pooling,
           "Appends the layer of lathe.Network.add_pooling, which describes it.")
      .def("add_lrn", &Network::add_lrn, "Appends the layer of lathe.Network.add_lrn, which describes it.")
      .def("add_activation", &Network::add_activation,
           "Appends the layer of lathe.Network.add_activation, which describes it.")
      .def("add_unary", &Network::add_unary,
           "Appends the layer of lathe.Network.add_unary, which describes it.")
      .def("add_elementwise", &Network::add_elementwise,
           "Appends the layer of lathe.Network.add_elementwise, which describes it.")
      .def("add_scale", &Network::add_scale,
           "Appends the layer of lathe.Network.add_scale, which describes it.")
      .def("add_parametric_relu", &Network::add_parametric_relu,
           "Appends the layer of lathe.Network.add_parametric_relu, which describes it.")
      .def("add_select", &Network::add_select,
           "Appends the layer of lathe.Network.add_select, which describes it.")
      .def("add_identity", &Network::add_identity,
           "Appends the layer of lathe.Network.add_identity, which describes it.")
      .def(
          "add_cast",
          [](Network& n, const TensorRef& x, const std::string& to, const std::string& name) {
            return n.add_cast(x, type_named(to), name);
          },
          "Appends the layer of lathe.Network.add_cast, which describes it.")
      .def("add_normalization", &Network::add_normalization,
           "Appends the layer of lathe.Network.add_normalization, which describes it.")
      .def("add_softmax", &Network::add_softmax,
           "Appends the layer of lathe.Network.add_softmax, which describes it.")
      .def("add_ragged_softmax", &Network::add_ragged_softmax,
           "Appends the layer of lathe.Network.add_ragged_softmax, which describes it.")
      .def("add_matrix_multiply", &Network::add_matrix_multiply,
           "Appends the layer of lathe.Network.add_matrix_multiply, which describes it.")
      .def("add_einsum", &Network::add_einsum,
           "Appends the layer of lathe.Network.add_einsum, which describes it.")
      .def("add_reduce", &Network::add_reduce,
           "Appends the layer of lathe.Network.add_reduce, which describes it.")
      .def(
          "add_topk",
          [](Network& n, const TensorRef& x, TopKOperation op, int64_t k, const TopKOptions& o) {
            return n.add_topk(x, op, k, o);
          },
          "Appends the layer of lathe.Network.add_topk, which describes it.")
      .def(
          "add_topk",
          [](Network& n, const TensorRef& x, TopKOperation op, const TensorRef& k, const TopKOptions& o) {
            return n.add_topk(x, op, k, o);
          },
          "Appends the layer of lathe.Network.add_topk, which describes it.")
      .def("add_cumulative", &Network::add_cumulative,
           "Appends the layer of lathe.Network.add_cumulative, which describes it.")
      .def("add_quantize", &Network::add_quantize,
           "Appends the layer of lathe.Network.add_quantize, which describes it.")
      .def("add_dequantize", &Network::add_dequantize,
           "Appends the layer of lathe.Network.add_dequantize, which describes it.")
      .def("add_dynamic_quantize", &Network::add_dynamic_quantize,
           "Appends the layer of lathe.Network.add_dynamic_quantize, which describes it.")
      .def("add_attention", &Network::add_attention,
           "Appends the layer of lathe.Network.add_attention, which describes it.")
      .def("add_rotary_embedding", &Network::add_rotary_embedding,
           "Appends the layer of lathe.Network.add_rotary_embedding, which describes it.")
      .def("add_kv_cache_update", &Network::add_kv_cache_update,
           "Appends the layer of lathe.Network.add_kv_cache_update, which describes it.");
}

void bind_movement(Class& c) {
  c.def("add_gather", &Network::add_gather,
        "Appends the layer of lathe.Network.add_gather, which describes it.")
      .def("add_scatter", &Network::add_scatter,
           "Appends the layer of lathe.Network.add_scatter, which describes it.")
      .def("add_one_hot", &Network::add_one_hot,
           "Appends the layer of lathe.Network.add_one_hot, which describes it.")
      .def("add_non_zero", &Network::add_non_zero,
           "Appends the layer of lathe.Network.add_non_zero, which describes it.")
      .def("add_nms", &Network::add_nms, "Appends the layer of lathe.Network.add_nms, which describes it.")
      .def("add_shuffle", &Network::add_shuffle,
           "Appends the layer of lathe.Network.add_shuffle, which describes it.")
      .def("add_transpose", &Network::add_transpose,
           "Appends the layer of lathe.Network.add_transpose, which describes it.")
      .def(
          "add_reshape",
          [](Network& n, const TensorRef& x, nb::handle shape, const std::string& name) {
            return n.add_reshape(x, sizes_from_python(shape), name);
          },
          "Appends the layer of lathe.Network.add_reshape, which describes it.")
      .def(
          "add_slice",
          [](Network& n, const TensorRef& x, const Ints& start, const Ints& size, const Ints& stride,
             const SliceOptions& o) { return n.add_slice(x, start, size, stride, o); },
          "Appends the layer of lathe.Network.add_slice, which describes it.")
      .def(
          "add_slice",
          [](Network& n, const TensorRef& x, const TensorRef& start, const TensorRef& size,
             const TensorRef& stride,
             const SliceOptions& o) { return n.add_slice(x, start, size, stride, o); },
          "Appends the layer of lathe.Network.add_slice, which describes it.")
      .def("add_padding", &Network::add_padding,
           "Appends the layer of lathe.Network.add_padding, which describes it.")
      .def("add_concatenation", &Network::add_concatenation,
           "Appends the layer of lathe.Network.add_concatenation, which describes it.")
      .def("add_squeeze", &Network::add_squeeze,
           "Appends the layer of lathe.Network.add_squeeze, which describes it.")
      .def("add_unsqueeze", &Network::add_unsqueeze,
           "Appends the layer of lathe.Network.add_unsqueeze, which describes it.")
      .def(
          "add_expand",
          [](Network& n, const TensorRef& x, nb::handle shape, const std::string& name) {
            return n.add_expand(x, sizes_from_python(shape), name);
          },
          "Appends the layer of lathe.Network.add_expand, which describes it.")
      .def("add_shape", &Network::add_shape,
           "Appends the layer of lathe.Network.add_shape, which describes it.")
      .def(
          "add_shape_of",
          [](Network& n, nb::handle sizes, const std::string& name) {
            return n.add_shape_of(sizes_from_python(sizes), name);
          },
          "Appends the layer of lathe.Network.add_shape_of, which describes it.")
      .def("add_resize", &Network::add_resize,
           "Appends the layer of lathe.Network.add_resize, which describes it.")
      .def("add_grid_sample", &Network::add_grid_sample,
           "Appends the layer of lathe.Network.add_grid_sample, which describes it.")
      .def("add_reverse_sequence", &Network::add_reverse_sequence,
           "Appends the layer of lathe.Network.add_reverse_sequence, which describes it.")
      .def(
          "add_fill",
          [](Network& n, const TensorRef& shape, FillOperation op, const FillOptions& o) {
            return n.add_fill(shape, op, o);
          },
          "Appends the layer of lathe.Network.add_fill, which describes it.")
      .def(
          "add_fill",
          [](Network& n, nb::handle shape, FillOperation op, const FillOptions& o) {
            return n.add_fill(sizes_from_python(shape), op, o);
          },
          "Appends the layer of lathe.Network.add_fill, which describes it.");
}

void bind_control(Class& c) {
  c.def("add_assertion", &Network::add_assertion,
        "Appends the layer of lathe.Network.add_assertion, which describes it.")
      .def(
          "add_if_conditional",
          [](Network& n, const TensorRef& condition, nb::object then_branch, nb::object else_branch,
             const std::string& name) {
            return n.add_if_conditional(condition, body_from_python(std::move(then_branch)),
                                        body_from_python(std::move(else_branch)), name);
          },
          "Appends the layer of lathe.Network.add_if_conditional, which describes it.")
      .def("add_loop", &add_loop, "Appends the layer of lathe.Network.add_loop, which describes it.")
      .def("add_plugin", &Network::add_plugin,
           "Appends the layer of lathe.Network.add_plugin, which describes it.")
      .def("add_operator", &Network::add_operator,
           "Appends the layer of lathe.Network.add_operator, which describes it.")
      .def("add_moe", &Network::add_moe, "Appends the layer of lathe.Network.add_moe, which describes it.")
      .def("add_dist_collective", &Network::add_dist_collective,
           "Appends the layer of lathe.Network.add_dist_collective, which describes it.");
}

}  // namespace

Sizes sizes_from_python(nb::handle h) {
  Sizes sizes;
  for (nb::handle d : h) {
    if (nb::isinstance<nb::str>(d))
      sizes.emplace_back(nb::cast<std::string>(d));
    else
      sizes.emplace_back(argument<int64_t>(d, "a size as a whole number or an expression in a str"));
  }
  return sizes;
}

BodyBuilder body_from_python(nb::object function) {
  return [function = std::move(function)](Network& body) {
    return argument<std::vector<TensorRef>>(function(Network(body)), "a list of tensors");
  };
}

void bind_layers(nb::module_& m, nb::class_<Network>& network) {
  bind_loop_body(m);
  bind_compute(network);
  bind_movement(network);
  bind_control(network);
}

}  // namespace lathe::python
