#include "network/cases.h"

namespace lathe::network_cases {

std::vector<NetworkCase> control_cases() {
  using E = ElementWiseOperation;
  std::vector<NetworkCase> list;
  auto add = [&](NetworkCase c) { list.push_back(std::move(c)); };
  add({"assertion", [](Network& n) {
         const auto a = in(n, "a", {"N"});
         const Layer ordered = n.add_elementwise(a, n.add_constant(floats({}, {-2})), E::greater);
         out(n, n.add_assertion(a, ordered, "all above -2"));
       }});
  for (const bool yes : {true, false})
    add({std::string("if_conditional_") + (yes ? "then" : "else"),
         [](Network& n) {
           const auto x = in(n, "x", {"N", 2}), two = n.add_constant(floats({}, {2}), "two");
           const auto c = n.add_input("c", DataType::boolean, {});
           out(n, n.add_if_conditional(
                      c,
                      [&](Network& b) -> std::vector<TensorRef> {
                        return {b.add_elementwise(x, two, E::prod), x};
                      },
                      [&](Network& b) -> std::vector<TensorRef> {
                        const Layer m = b.add_unary(x, UnaryOperation::neg);
                        return {m, b.add_elementwise(m, two, E::sub)};
                      }));
         },
         {{"x", floats({1, 2}, {1, 2})}, {"c", bools({}, {yes})}},
         {{"y0", yes ? floats({1, 2}, {2, 4}) : floats({1, 2}, {-1, -2})},
          {"y1", yes ? floats({1, 2}, {1, 2}) : floats({1, 2}, {-3, -4})}}});
  add({"loop_count",
       [](Network& n) {
         const auto x = in(n, "x", {2}), step = n.add_constant(floats({2}, {1, 10}), "step");
         out(n, n.add_loop({.trip_limit = n.add_input("trips", DataType::int64, {})}, [&](LoopBody& b) {
           const TensorRef sum = b.add_recurrence(x);
           const Layer next = b.network().add_elementwise(sum, step, E::sum);
           b.set_next(sum, next);
           b.add_output(sum, LoopOutput::last_value);
           b.add_output(next, LoopOutput::concatenate, 1);
           b.add_output(b.iteration(), LoopOutput::reverse);
         }));
       },
       {{"x", floats({2}, {0, 1})}, {"trips", longs({}, {3})}},
       {{"y0", floats({2}, {3, 31})},
        {"y1", floats({2, 3}, {1, 2, 3, 11, 21, 31})},
        {"y2", longs({3}, {2, 1, 0})}}});
  add({"loop_while",
       [](Network& n) {
         const auto x = in(n, "x", {}), limit = n.add_constant(floats({}, {100}), "limit");
         out(n, n.add_loop({.initial_condition = n.add_constant(bools({}, {true}))}, [&](LoopBody& b) {
           const TensorRef v = b.add_recurrence(x);
           const Layer next = b.network().add_elementwise(v, v, E::sum);
           b.set_next(v, next);
           b.set_condition(b.network().add_elementwise(next, limit, E::less));
           b.add_output(v, LoopOutput::last_value);
         }));
       },
       {{"x", floats({}, {3})}},
       {{"y", floats({}, {192})}}});
  add({"loop_iterators",
       [](Network& n) {
         const auto a = in(n, "a", {"N", 3}), b = in(n, "b", {3, "N"});
         out(n, n.add_loop({.trip_limit = n.add_constant(longs({}, {3}))}, [&](LoopBody& l) {
           const TensorRef p = l.add_iterator(a, 1), q = l.add_iterator(b, 0, true);
           l.add_output(l.network().add_elementwise(p, q, E::sub), LoopOutput::concatenate, -1);
         }));
       },
       {{"a", floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {"b", floats({3, 2}, {10, 20, 30, 40, 50, 60})}},
       {{"y", floats({2, 3}, {-49, -28, -7, -56, -35, -14})}}});
  add({"loop_scan",
       [](Network& n) {
         const auto x = in(n, "x", {"S", 2}), y = in(n, "y_in", {2, "S"}), start = in(n, "start", {2}),
                    half = n.add_constant(floats({}, {0.5f}), "half");
         out(n, n.add_loop({}, [&](LoopBody& b) {
           const TensorRef s = b.add_recurrence(start);
           const TensorRef xs = b.add_iterator(x), ys = b.add_iterator(y, 1, true);
           Network& in = b.network();
           const Layer next = in.add_elementwise(in.add_elementwise(s, half, E::prod),
                                                 in.add_elementwise(xs, ys, E::sum), E::sum);
           b.set_next(s, next);
           b.add_output(next, LoopOutput::reverse, 1);
           b.add_output(s, LoopOutput::last_value);
         }));
       },
       {{"x", floats({2, 2}, {1, 2, 3, 4})},
        {"y_in", floats({2, 2}, {10, 20, 30, 40})},
        {"start", floats({2}, {2, 4})}},
       {{"y0", floats({2, 2}, {24, 22, 56, 44})}, {"y1", floats({2}, {24, 56})}}});
  add({"loop_nested",
       [](Network& n) {
         const auto x = in(n, "x", {}), trips = n.add_constant(longs({}, {2}), "trips");
         const auto big = n.add_constant(floats({}, {5}), "big");
         out(n, n.add_loop({.trip_limit = trips}, [&](LoopBody& outer) {
           const TensorRef v = outer.add_recurrence(x);
           const Layer inner = outer.network().add_loop({.trip_limit = trips}, [&](LoopBody& b) {
             const TensorRef w = b.add_recurrence(v);
             Network& in = b.network();
             const Layer grown =
                 in.add_elementwise(w, in.add_cast(outer.iteration(), DataType::float32), E::sum);
             const Layer chosen = in.add_if_conditional(
                 in.add_elementwise(grown, big, E::greater),
                 [&](Network&) -> std::vector<TensorRef> { return {big}; },
                 [&](Network& e) -> std::vector<TensorRef> { return {e.add_elementwise(grown, x, E::sum)}; });
             b.set_next(w, chosen);
             b.add_output(w, LoopOutput::last_value);
           });
           outer.set_next(v, inner);
           outer.add_output(v, LoopOutput::last_value);
         }));
       },
       {{"x", floats({}, {0.5f})}},
       {{"y", floats({}, {4.5f})}}});
  add({"operators", [](Network& n) {
         const auto x = in(n, "x", {"N", 6});
         const Layer parts = n.add_operator(
             "Split", {x, n.add_constant(longs({2}, {2, 4}))},
             {.attributes = {{"axis", 1}}, .output_names = {"left", "right"}, .name = "halves"});
         const Layer list = n.add_operator("SequenceConstruct", {parts.get_output(0), parts.get_output(1)});
         const Layer second = n.add_operator("SequenceAt", {list, n.add_constant(longs({}, {1}))});
         n.mark_output(parts.get_output(0));
         out(n, second);
       }});
  add({"operators_with_bodies", [](Network& n) {
         const auto x = in(n, "x", {"N", 4}), some = n.add_input("some", DataType::boolean, {});
         const Layer best = n.add_operator("TopK", {x, n.add_constant(longs({1}, {2}))}, {.outputs = 2});
         const Layer chosen = n.add_operator(
             "If", {some},
             {.bodies = {
                  {"then_branch", [&](Network&) -> std::vector<TensorRef> { return {best.get_output(0)}; }},
                  {"else_branch", [&](Network& b) -> std::vector<TensorRef> {
                     return {b.add_cast(best.get_output(1), DataType::float32)};
                   }}}});
         out(n, n.add_operator("Binarizer", {chosen},
                               {.attributes = {{"threshold", 0.5f}}, .domain = "ai.onnx.ml"}));
       }});
  add({"defaults",
       [](Network& n) {
         const auto x = in(n, "x", {2}), y = in(n, "y_in", {2});
         n.set_default(y, floats({2}, {1, 2}));
         out(n, n.add_elementwise(x, y, E::sum));
       },
       {{"x", floats({2}, {1, 1})}, {"y_in", floats({2}, {5, 6})}},
       {{"y", floats({2}, {6, 7})}}});
  return list;
}

}  // namespace lathe::network_cases
