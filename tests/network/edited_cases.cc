#include "network/cases.h"

namespace lathe::network_cases {

std::vector<NetworkCase> edited_cases() {
  using E = ElementWiseOperation;
  std::vector<NetworkCase> list;
  auto add = [&](const std::string& name, std::function<void(Network&)> build) {
    list.push_back({.name = name, .build = std::move(build), .edited = true});
  };
  add("edited_names", [](Network& n) {
    const auto x = in(n, "x", {"N", 4});
    Layer a = n.add_activation(x, ActivationType::clip, {.alpha = 0, .beta = 0.5, .name = "while"});
    Layer b = n.add_activation(a, ActivationType::scaled_tanh, {.beta = 2, .name = "2nd"});
    a.set_name("clipped");
    b.set_name("scaled");
    b.set_metadata("why", "to be \"told\"");
    a.get_output(0).set_name("while it lasts");
    // The name that an output had goes to something else.
    n.mark_output(b, "y");
    out(n, n.add_elementwise(a, n.add_constant(floats({4}, {1, 2, 3, 4}), "2nd"), E::sum), "z");
  });
  add("edited_insertions", [](Network& n) {
    const auto x = in(n, "x", {"N", 4});
    const Layer a = n.add_activation(x, ActivationType::relu, {.name = "act"});
    const Layer b = n.add_slice(a, {0, -1}, {2, 5}, {1, 1}, {.mode = SliceMode::clamp, .name = "part"});
    n.mark_output(b, "y");
    n.insert_after(a, [](Network& net, const TensorRef& t) {
      return TensorRef(net.add_unary(t, UnaryOperation::exp, "raised"));
    });
    n.insert_before(b, 0, [](Network& net, const TensorRef& t) {
      return TensorRef(net.add_unary(t, UnaryOperation::sqrt, "lowered"));
    });
    n.insert_after(b, [](Network& net, const TensorRef& t) {
      return TensorRef(net.add_elementwise(t, t, E::prod, "squared"));
    });
  });
  add("edited_removals", [](Network& n) {
    const auto x = in(n, "x", {"N", 4}), w = n.add_constant(weights({4, 4}), "w");
    const Layer a = n.add_matrix_multiply(x, w, {.op1 = MatrixOperation::transpose, .name = "product"});
    const Layer gone = n.add_unary(a, UnaryOperation::neg, "gone");
    const Layer last =
        n.add_topk(gone, TopKOperation::max, 2, {.index_type = DataType::int32, .name = "best"});
    out(n, last);
    n.replace_all_uses(gone, a);
    n.remove(gone);
    n.add_unary(x, UnaryOperation::tan, "unused");
    n.remove_unused();
    // Another layer reads a value that a layer made for itself.
    n.mark_output(n.add_identity(*n.find_tensor("product/Transpose")), "turned");
  });
  add("edited_inside", [](Network& n) {
    const auto x = in(n, "x", {"N", 4});
    const Layer y = n.add_activation(x, ActivationType::softplus, {.beta = 3, .name = "soft"});
    out(n, y);
    n.replace_all_uses(*n.find_tensor("soft/constant"), n.add_constant(floats({}, {0.25f}), "quarter"));
  });
  list.push_back({.name = "edited_extraction",
                  .build =
                      [](Network& n) {
                        const auto x = in(n, "x", {"N", 4});
                        const Layer a = n.add_unary(x, UnaryOperation::exp, "first");
                        const Layer b = n.add_reduce(a, ReduceOperation::avg, {-1}, {.name = "second"});
                        const Layer c = n.add_unary(b, UnaryOperation::neg, "third");
                        out(n, c);
                        n = n.extract({a}, {b});
                      },
                  .edited = true});
  add("edited_bodies", [](Network& n) {
    const auto x = in(n, "x", {"N", 2}), c = n.add_input("c", DataType::boolean, {});
    const Layer sums = n.add_loop({.name = "sums"}, [&](LoopBody& l) {
      TensorRef total = l.add_recurrence(n.add_constant(floats({2}, {0, 0}), "zeros"));
      total.set_name("total");
      const Layer next = l.network().add_elementwise(total, l.add_iterator(x), E::sum, "next");
      l.set_next(total, next);
      l.add_output(next, LoopOutput::concatenate);
    });
    const Layer y = n.add_if_conditional(
        c, [&](Network&) -> std::vector<TensorRef> { return {sums}; },
        [&](Network& b) -> std::vector<TensorRef> {
          return {b.add_softmax(sums, {.axis = 0, .name = "inner"})};
        },
        "chosen");
    out(n, y);
    n.insert_after(sums, [](Network& net, const TensorRef& t) {
      return TensorRef(net.add_unary(t, UnaryOperation::neg, "turned"));
    });
    n.mark_debug(sums);
  });
  return list;
}

}  // namespace lathe::network_cases
