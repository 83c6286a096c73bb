#include "ops/loop/loop.h"

#include "ops/pass_value.h"

namespace lathe {
namespace {

/// Scan outputs of one name, one after another in memory that grows.
class ScanPile {
 public:
  /// `max_rounds`: how many there will be at most.
  explicit ScanPile(int64_t max_rounds) : max_rounds_(max_rounds) {}
  void push(const Tensor& each, KernelContext& c) {
    if (count_ == 0) {
      type_ = each.type();
      shape_ = each.shape();
    } else if (!(each.shape() == shape_) || each.type() != type_) {
      c.fail(Code::run_bad_shape,
             "scan outputs of one type and shape, " + std::string(name_of(type_)) + describe(shape_),
             describe(each));
    }
    const Tensor bytes = unpacked(each);
    const int64_t size = each.size();
    if (size * (count_ + 1) > pile_.size()) grow(bytes.type(), slots(bytes), c);
    if (size > 0) append(bytes, count_ * size, c);
    ++count_;
  }
  void finish(size_t output, KernelContext& c) {
    if (!c.wants(output)) return;
    if (count_ == 0) return finish_empty(output, c);
    Shape all = shape_;
    all.insert(all.begin(), count_);
    ByteOutput out(c.out(output, type_, all));
    if (out.tensor().size() > 0)
      copy_elements(Tensor::view(pile_.type(), all, pile_.data()), out.tensor(), c);
    out.finish();
  }

 private:
  /// The capacity: all elements that may come if they are small, else twice as many as there are.
  int64_t slots(const Tensor& each) const {
    constexpr int64_t little = 1 << 16;  // bytes
    const int64_t first = std::max<int64_t>(8, little / static_cast<int64_t>(each.bytes()));
    return std::min(max_rounds_, std::max(2 * count_, first));
  }
  void grow(DataType bytes, int64_t slots, KernelContext& c) {
    Shape larger = shape_;
    larger.insert(larger.begin(), slots);
    Tensor old = std::exchange(pile_, Tensor(bytes, larger));
    if (count_ > 0 && old.size() > 0) {
      const Shape used{count_ * count_of(shape_)};
      Tensor to = Tensor::view(bytes, used, pile_.data());
      copy_elements(Tensor::view(bytes, used, old.data()), to, c);
    }
  }
  void append(const Tensor& bytes, int64_t at, KernelContext& c) {
    for_size(bytes.type(),
             [&]<class T> { Poller(c).copy(bytes.as<T>().data(), bytes.size(), pile_.as<T>().data() + at); });
  }
  /// The body never ran: its types are those that inference found.
  static void finish_empty(size_t output, KernelContext& c) {
    const auto expected = c.expected(output);
    if (expected.type == DataType::undefined)
      c.fail(Code::run_bad_value, "a scan output of known type", "a loop that never ran");
    Shape shape = expected.shape.value_or(Shape{0});
    for (int64_t& d : shape) d = std::max<int64_t>(d, 0);
    if (shape.empty()) shape = {0};
    shape[0] = 0;
    c.out(output, expected.type, shape);
  }

  DataType type_ = DataType::undefined;
  Shape shape_;  // of each
  Tensor pile_;  // at least count_ of them
  int64_t count_ = 0, max_rounds_;
};

bool loop_condition(const Value& v, KernelContext& c) {
  if (!v.is_tensor() || v.tensor().size() != 1 || v.tensor().type() != DataType::boolean)
    c.fail(Code::run_bad_shape, "a condition of one bool", describe(v));
  return v.tensor().as<bool>()[0];
}

/// A number of the loop itself in the rank that the body declares: a scalar, or a list of one.
template <class T>
Tensor loop_counter(T& v, const KernelBody& body, size_t input) {
  return Tensor::view(type_of<T>, body.input_rank(input) == 1 ? Shape{1} : Shape{}, &v);
}

void run_loop(const Loop&, KernelContext& c) {
  KernelBody& body = c.body(0);
  const size_t states = c.inputs() > 2 ? c.inputs() - 2 : 0;
  if (body.inputs() != states + 2 || body.outputs() < states + 1 || c.outputs() > body.outputs() - 1)
    c.fail(Code::run_bad_value, "a body of " + std::to_string(states + 2) + " inputs",
           std::to_string(body.inputs()));
  if (c.has(0) && c.in(0).size() != 1)
    c.fail(Code::run_bad_shape, "a trip count of one number", describe(c.in(0)));
  const int64_t trips = c.has(0) ? index_at(c.in(0), 0) : INT64_MAX;
  bool condition = !c.has(1) || loop_condition(c.value(1), c);

  std::vector<Value> in(states + 2);
  for (size_t i = 0; i < states; ++i)
    if (c.has(i + 2)) in[i + 2] = c.value(i + 2);
  std::vector<ScanPile> piles(c.outputs() > states ? c.outputs() - states : 0, ScanPile(trips));
  int64_t iteration = 0;
  in[0] = loop_counter(iteration, body, 0);
  in[1] = loop_counter(condition, body, 1);
  for (; iteration < trips && condition; ++iteration) {
    c.poll();
    body.run(in);
    condition = loop_condition(body.output(0), c);
    for (size_t i = 0; i < states; ++i) in[i + 2] = body.output(i + 1);
    for (size_t k = 0; k < piles.size(); ++k) {
      if (!c.wants(states + k)) continue;
      const Value& each = body.output(states + 1 + k);
      if (!each.is_tensor()) c.fail(Code::run_bad_value, "scan outputs that are tensors", describe(each));
      piles[k].push(each.tensor(), c);
    }
  }
  for (size_t i = 0; i < states && i < c.outputs(); ++i) pass_value(c, i, in[i + 2]);
  for (size_t k = 0; k < piles.size(); ++k) piles[k].finish(states + k, c);
}

}  // namespace

void reference_loop(KernelCatalog& k) { k.reference<Loop>("Loop", run_loop); }

}  // namespace lathe
