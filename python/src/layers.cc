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
  nb::class_<LoopHandle>(m, "LoopBody")
      .def("network", [](const LoopHandle& l) { return Network(l.body().network()); })
      .def("iteration", [](const LoopHandle& l) { return l.body().iteration(); })
      .def("add_recurrence",
           [](const LoopHandle& l, const TensorRef& t) { return l.body().add_recurrence(t); })
      .def("set_next",
           [](const LoopHandle& l, const TensorRef& r, const TensorRef& next) { l.body().set_next(r, next); })
      .def("add_iterator", [](const LoopHandle& l, const TensorRef& x, int64_t axis,
                              bool reverse) { return l.body().add_iterator(x, axis, reverse); })
      .def("set_condition", [](const LoopHandle& l, const TensorRef& c) { l.body().set_condition(c); })
      .def("add_output", [](const LoopHandle& l, const TensorRef& t, LoopOutput kind, int64_t axis) {
        l.body().add_output(t, kind, axis);
      });
}

void bind_compute(Class& c) {
  c.def("add_convolution", &Network::add_convolution)
      .def("add_deconvolution", &Network::add_deconvolution)
      .def("add_fully_connected", &Network::add_fully_connected)
      .def("add_pooling", &Network::add_pooling)
      .def("add_lrn", &Network::add_lrn)
      .def("add_activation", &Network::add_activation)
      .def("add_unary", &Network::add_unary)
      .def("add_elementwise", &Network::add_elementwise)
      .def("add_scale", &Network::add_scale)
      .def("add_parametric_relu", &Network::add_parametric_relu)
      .def("add_select", &Network::add_select)
      .def("add_identity", &Network::add_identity)
      .def("add_cast", [](Network& n, const TensorRef& x, const std::string& to,
                          const std::string& name) { return n.add_cast(x, type_named(to), name); })
      .def("add_normalization", &Network::add_normalization)
      .def("add_softmax", &Network::add_softmax)
      .def("add_ragged_softmax", &Network::add_ragged_softmax)
      .def("add_matrix_multiply", &Network::add_matrix_multiply)
      .def("add_einsum", &Network::add_einsum)
      .def("add_reduce", &Network::add_reduce)
      .def("add_topk", [](Network& n, const TensorRef& x, TopKOperation op, int64_t k,
                          const TopKOptions& o) { return n.add_topk(x, op, k, o); })
      .def("add_topk", [](Network& n, const TensorRef& x, TopKOperation op, const TensorRef& k,
                          const TopKOptions& o) { return n.add_topk(x, op, k, o); })
      .def("add_cumulative", &Network::add_cumulative)
      .def("add_quantize", &Network::add_quantize)
      .def("add_dequantize", &Network::add_dequantize)
      .def("add_dynamic_quantize", &Network::add_dynamic_quantize)
      .def("add_attention", &Network::add_attention)
      .def("add_rotary_embedding", &Network::add_rotary_embedding)
      .def("add_kv_cache_update", &Network::add_kv_cache_update);
}

void bind_movement(Class& c) {
  c.def("add_gather", &Network::add_gather)
      .def("add_scatter", &Network::add_scatter)
      .def("add_one_hot", &Network::add_one_hot)
      .def("add_non_zero", &Network::add_non_zero)
      .def("add_nms", &Network::add_nms)
      .def("add_shuffle", &Network::add_shuffle)
      .def("add_transpose", &Network::add_transpose)
      .def("add_reshape",
           [](Network& n, const TensorRef& x, nb::handle shape, const std::string& name) {
             return n.add_reshape(x, sizes_from_python(shape), name);
           })
      .def("add_slice",
           [](Network& n, const TensorRef& x, const Ints& start, const Ints& size, const Ints& stride,
              const SliceOptions& o) { return n.add_slice(x, start, size, stride, o); })
      .def("add_slice", [](Network& n, const TensorRef& x, const TensorRef& start, const TensorRef& size,
                           const TensorRef& stride,
                           const SliceOptions& o) { return n.add_slice(x, start, size, stride, o); })
      .def("add_padding", &Network::add_padding)
      .def("add_concatenation", &Network::add_concatenation)
      .def("add_squeeze", &Network::add_squeeze)
      .def("add_unsqueeze", &Network::add_unsqueeze)
      .def("add_expand",
           [](Network& n, const TensorRef& x, nb::handle shape, const std::string& name) {
             return n.add_expand(x, sizes_from_python(shape), name);
           })
      .def("add_shape", &Network::add_shape)
      .def("add_shape_of",
           [](Network& n, nb::handle sizes, const std::string& name) {
             return n.add_shape_of(sizes_from_python(sizes), name);
           })
      .def("add_resize", &Network::add_resize)
      .def("add_grid_sample", &Network::add_grid_sample)
      .def("add_reverse_sequence", &Network::add_reverse_sequence)
      .def("add_fill", [](Network& n, const TensorRef& shape, FillOperation op,
                          const FillOptions& o) { return n.add_fill(shape, op, o); })
      .def("add_fill", [](Network& n, nb::handle shape, FillOperation op, const FillOptions& o) {
        return n.add_fill(sizes_from_python(shape), op, o);
      });
}

void bind_control(Class& c) {
  c.def("add_assertion", &Network::add_assertion)
      .def("add_if_conditional",
           [](Network& n, const TensorRef& condition, nb::object then_branch, nb::object else_branch,
              const std::string& name) {
             return n.add_if_conditional(condition, body_from_python(std::move(then_branch)),
                                         body_from_python(std::move(else_branch)), name);
           })
      .def("add_loop", &add_loop)
      .def("add_plugin", &Network::add_plugin)
      .def("add_operator", &Network::add_operator)
      .def("add_moe", &Network::add_moe)
      .def("add_dist_collective", &Network::add_dist_collective);
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
