#include "ops/scan/scan.h"

#include <deque>

#include "ops/pass_value.h"

namespace lathe {
namespace {

/// One scan input, slice by slice along an axis.
class ScanSource {
 public:
  ScanSource(const Tensor& t, size_t axis, bool backwards)
      : bytes_(unpacked(t)), shape_(t.shape()), strides_(row_major(t.shape())), backwards_(backwards) {
    length_ = shape_[axis];
    step_ = strides_[axis];
    whole_ = count_of(Shape(shape_.begin(), shape_.begin() + axis)) == 1;
    shape_.erase(shape_.begin() + axis);
    strides_.erase(strides_.begin() + axis);
    slice_ = Tensor(t.type(), shape_);
    to_.emplace(slice_);
  }
  ScanSource(const ScanSource&) = delete;
  ScanSource& operator=(const ScanSource&) = delete;
  int64_t length() const { return length_; }
  /// The slice is in memory that the next one overwrites.
  Tensor slice(int64_t i, KernelContext& c) {
    const int64_t at = (backwards_ ? length_ - 1 - i : i) * step_;
    for_size(bytes_.type(), [&]<class T> {
      const T* const from = bytes_.as<T>().data() + at;
      T* const to = to_->tensor().template as<T>().data();
      if (whole_)
        Poller(c).copy(from, slice_.size(), to);
      else
        copy_strided(from, to, shape_, strides_, c);
    });
    to_->finish();
    return Tensor::view(slice_.type(), shape_, slice_.data());
  }

 private:
  Tensor bytes_, slice_;
  std::optional<ByteOutput> to_;  // the slice, in whole bytes
  Shape shape_, strides_;         // of a slice in the whole
  int64_t length_ = 0, step_ = 0;
  bool whole_ = false;  // its elements are contiguous
  bool backwards_;
};

/// One scan output, which the first slice gives its shape.
class ScanSink {
 public:
  void put(const Tensor& slice, size_t output, int64_t i, int64_t length, const Scan& op, size_t k,
           KernelContext& c) {
    if (!bytes_) {
      const int64_t axis =
          Scan::axis(op.scan_output_axes, k, static_cast<int64_t>(slice.rank()) + 1, "scan_output_axes");
      slice_ = slice.shape();
      Shape all = slice_;
      all.insert(all.begin() + axis, length);
      outer_ = inner_ = 1;
      for (size_t a = 0; a < slice_.size(); ++a)
        (a < static_cast<size_t>(axis) ? outer_ : inner_) *= slice_[a];
      bytes_.emplace(c.out(output, slice.type(), all));
      type_ = slice.type();
    } else if (!(slice.shape() == slice_) || slice.type() != type_) {
      c.fail(Code::run_bad_shape,
             "scan outputs of one type and shape, " + std::string(name_of(type_)) + describe(slice_),
             describe(slice));
    }
    if (slice.size() == 0) return;
    const Tensor from = unpacked(slice);
    const int64_t at = Scan::at(op.scan_output_directions, k) ? length - 1 - i : i;
    for_size(from.type(), [&]<class T> {
      Poller poll(c);
      for (int64_t o = 0; o < outer_; ++o)
        poll.copy(from.as<T>().data() + o * inner_, inner_,
                  bytes_->tensor().template as<T>().data() + (o * length + at) * inner_);
    });
  }
  void finish() {
    if (bytes_) bytes_->finish();
  }

 private:
  std::optional<ByteOutput> bytes_;
  DataType type_ = DataType::undefined;
  Shape slice_;
  int64_t outer_ = 1, inner_ = 1;
};

/// Returns `after`, the state that an iteration gave; fails if its shape changed, because inference relies on
/// it.
const Value& kept_shape(const Value& before, const Value& after, size_t state, KernelContext& c) {
  if (before.is_tensor() && after.is_tensor() && after.tensor().shape() != before.tensor().shape())
    c.fail(Code::run_bad_shape,
           "state " + std::to_string(state) + " to keep its shape, " + describe(before.tensor().shape()),
           describe(after.tensor().shape()),
           "reshape it at the end of the body, or use a Loop, whose states may change their shapes");
  return after;
}

/// Without slices the output has the type that inference found.
void empty_scan_output(size_t output, const Scan& op, size_t k, KernelContext& c) {
  const auto expected = c.expected(output);
  if (expected.type == DataType::undefined)
    c.fail(Code::run_bad_value, "a scan output of known type", "a scan over nothing");
  Shape shape = expected.shape.value_or(Shape{0});
  for (int64_t& d : shape) d = std::max<int64_t>(d, 0);
  shape[static_cast<size_t>(
      Scan::axis(op.scan_output_axes, k, static_cast<int64_t>(shape.size()), "scan_output_axes"))] = 0;
  c.out(output, expected.type, shape);
}

void run_scan(const Scan& op, KernelContext& c) {
  KernelBody& body = c.body(0);
  const size_t states = op.states(c.inputs(), c.outputs());
  if (body.inputs() != c.inputs() || body.outputs() < c.outputs())
    c.fail(Code::run_bad_value, "a body of " + std::to_string(c.inputs()) + " inputs",
           std::to_string(body.inputs()));
  std::deque<ScanSource> sources;  // none of them moves
  for (size_t i = states; i < c.inputs(); ++i) {
    const Tensor& t = c.in(i);
    const int64_t axis =
        Scan::axis(op.scan_input_axes, i - states, static_cast<int64_t>(t.rank()), "scan_input_axes");
    sources.emplace_back(t, static_cast<size_t>(axis), Scan::at(op.scan_input_directions, i - states) != 0);
    if (sources.back().length() != sources.front().length())
      c.fail(Code::run_bad_shape, "scan inputs of one length, " + std::to_string(sources.front().length()),
             std::to_string(sources.back().length()));
  }
  const int64_t length = sources.front().length();
  std::vector<Value> in(c.inputs());
  for (size_t i = 0; i < states; ++i) in[i] = c.value(i);
  std::vector<ScanSink> sinks(c.outputs() - states);
  for (int64_t t = 0; t < length; ++t) {
    c.poll();
    for (size_t m = 0; m < sources.size(); ++m) in[states + m] = sources[m].slice(t, c);
    body.run(in);
    for (size_t i = 0; i < states; ++i) in[i] = kept_shape(in[i], body.output(i), i, c);
    for (size_t k = 0; k < sinks.size(); ++k) {
      if (!c.wants(states + k)) continue;
      const Value& each = body.output(states + k);
      if (!each.is_tensor()) c.fail(Code::run_bad_value, "scan outputs that are tensors", describe(each));
      sinks[k].put(each.tensor(), states + k, t, length, op, k, c);
    }
  }
  for (size_t i = 0; i < states; ++i) pass_value(c, i, in[i]);
  for (size_t k = 0; k < sinks.size(); ++k) {
    if (length == 0 && c.wants(states + k)) empty_scan_output(states + k, op, k, c);
    sinks[k].finish();
  }
}

}  // namespace

void reference_scan(KernelCatalog& k) { k.reference<Scan>("Scan", run_scan); }

}  // namespace lathe
