#include "support/hidden_constants.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/error_code.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace {

Tensor vector_of(const std::vector<int64_t>& v) {
  return Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v);
}

class Hider {
 public:
  Hider(onnx::GraphProto& g, Choices& choose) : g_(g), choose_(choose) {
    for (const auto& i : g.initializer) taken_.insert(i.name.value_or(""));
    for (const auto& i : g.input) overridable_.insert(i.name.value_or(""));
    for (const auto& n : g.node) taken_.insert(n.output.begin(), n.output.end());
  }

  void run() {
    const std::vector<onnx::TensorProto> given = std::exchange(g_.initializer, {});
    for (const onnx::TensorProto& t : given) {
      Tensor value;
      const bool readable = t.name && !t.name->empty() && !overridable_.contains(*t.name) &&
                            code_of([&] { value = onnx::to_tensor(t); }) == Code::none;
      if (!readable || value.size() > 4096 || !hide(*t.name, value)) g_.initializer.push_back(t);
    }
    std::vector<onnx::NodeProto> nodes = std::move(made_);
    nodes.insert(nodes.end(), std::make_move_iterator(g_.node.begin()),
                 std::make_move_iterator(g_.node.end()));
    g_.node = std::move(nodes);
  }

 private:
  bool hide(const std::string& name, Tensor value) {
    const bool lists = value.type() == DataType::int64 || value.type() == DataType::int32;
    if (!choose_.any() || (!lists && !choose_.one_in(2)) || choose_.one_in(4)) return false;
    if (lists && choose_.one_in(4)) value = with_other_numbers(value);
    const bool reshaped = choose_.one_in(4);
    if (!lists || reshaped || value.rank() == 0) return by_shape(name, value, reshaped);
    switch (choose_.below(3)) {
      case 0:
        return gathered(name, value);
      case 1:
        node("BitwiseOr", {constant(value), constant(zero_of(value.type()))}, name);
        return true;
      default:
        return by_shape(name, value, false);
    }
  }

  static Tensor zero_of(DataType type) {
    Tensor t(type, {});
    store_int(t, 0, 0);
    return t;
  }
  Tensor with_other_numbers(const Tensor& t) {
    static constexpr int64_t odd[] = {
        -1, 0, 1, 2, 3, 7, 127, INT32_MAX, INT32_MIN, int64_t{1} << 40, INT64_MAX, INT64_MIN};
    Tensor made = t.clone();
    for (int64_t i = 0; i < made.size(); ++i)
      if (choose_.one_in(2)) {
        int64_t v = odd[choose_.below(std::size(odd))];
        if (t.type() == DataType::int32) v = std::clamp<int64_t>(v, INT32_MIN, INT32_MAX);
        store_int(made, i, v);
      }
    return made;
  }

  bool gathered(const std::string& name, const Tensor& value) {
    Tensor places(DataType::int64, value.shape());
    const int64_t row = value.dim(0) == 0 ? 1 : value.size() / value.dim(0);
    for (int64_t i = 0; i < places.size(); ++i) store_int(places, i, i / row);
    node("GatherElements", {constant(value), constant(places)}, name);
    return true;
  }

  /// Puts a constant behind a Reshape by sizes that are hidden themselves.
  bool by_shape(const std::string& name, const Tensor& value, bool another) {
    std::vector<int64_t> sizes(value.shape().begin(), value.shape().end());
    if (another) {
      if (sizes.empty() || choose_.one_in(2))
        sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(choose_.below(sizes.size() + 1)), 1);
      else if (choose_.one_in(2))
        sizes = {value.size()};
      else
        sizes[choose_.below(sizes.size())] += static_cast<int64_t>(choose_.below(3)) - 1;
    }
    const std::string hidden = fresh();
    node("GatherElements", {constant(vector_of(sizes)), constant(iota(sizes.size()))}, hidden);
    node("Reshape", {constant(value.reshaped({value.size()})), hidden}, name);
    made_.back().attribute.push_back(allow_zero());
    return true;
  }
  static onnx::AttributeProto allow_zero() {
    onnx::AttributeProto a;
    a.name = "allowzero";
    a.type = onnx::AttributeProto::INT;
    a.i = 1;
    return a;
  }
  static Tensor iota(size_t n) {
    std::vector<int64_t> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = static_cast<int64_t>(i);
    return vector_of(v);
  }

  std::string fresh() {
    for (;;)
      if (std::string name = "hidden_" + std::to_string(next_++); taken_.insert(name).second) return name;
  }
  std::string constant(const Tensor& t) {
    std::string name = fresh();
    g_.initializer.push_back(onnx::from_tensor(t, name));
    return name;
  }
  void node(const char* op, std::vector<std::string> inputs, std::string output) {
    onnx::NodeProto& n = made_.emplace_back();
    n.op_type = op;
    n.input = std::move(inputs);
    n.output = {std::move(output)};
  }

  onnx::GraphProto& g_;
  Choices& choose_;
  std::vector<onnx::NodeProto> made_;
  std::set<std::string> taken_, overridable_;
  int next_ = 0;
};

}  // namespace

void hide_constants(onnx::ModelProto& model, Choices& choose) {
  if (model.graph) Hider(*model.graph, choose).run();
}

}  // namespace lathe::testing
