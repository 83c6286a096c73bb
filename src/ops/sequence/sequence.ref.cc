#include "ops/sequence/sequence.h"

#include "kernel/temporary.h"
#include "ops/pass_value.h"
#include "tensor/dim_math.h"

namespace lathe {
namespace {

const Sequence& sequence_in(KernelContext& c) {
  if (!c.has(0) || !c.value(0).is_sequence())
    c.fail(Code::run_bad_input, "a sequence", c.has(0) ? describe(c.value(0)) : "none");
  return c.value(0).sequence();
}

int64_t size_of_sequence(const Sequence& s) { return static_cast<int64_t>(s.items->size()); }

/// A new list of the same elements, to be changed.
Sequence copy_sequence(const Sequence& s) {
  Sequence made;
  *made.items = *s.items;
  made.elem = s.elem;
  return made;
}

int64_t position_in(KernelContext& c, size_t input) {
  if (c.in(input).size() != 1) c.fail(Code::run_bad_shape, "a position of one number", describe(c.in(input)));
  return index_at(c.in(input), 0);
}

void sequence_construct(const SequenceConstruct&, KernelContext& c) {
  Sequence made;
  for (size_t i = 0; i < c.inputs(); ++i) made.items->push_back(c.in(i).owned());
  made.elem = c.in(0).type();
  c.set(0, std::move(made));
}

void sequence_empty(const SequenceEmpty& op, KernelContext& c) {
  Sequence made;
  made.elem = static_cast<DataType>(op.dtype);
  c.set(0, std::move(made));
}

void sequence_insert(const SequenceInsert&, KernelContext& c) {
  Sequence made = copy_sequence(sequence_in(c));
  const int64_t n = size_of_sequence(made);
  int64_t at = n;
  if (c.has(2)) {
    at = position_in(c, 2);
    if (at < -n || at > n)
      c.fail(Code::run_bad_index, "a position in [" + std::to_string(-n) + ", " + std::to_string(n) + "]",
             std::to_string(at));
    if (at < 0) at += n;
  }
  const Tensor& t = c.in(1);
  const DataType type = n > 0 && (*made.items)[0].is_tensor() ? (*made.items)[0].tensor().type() : made.elem;
  if (type != DataType::undefined && t.type() != type)
    c.fail(Code::node_bad_type, "an element of " + std::string(name_of(type)), describe(t));
  made.elem = t.type();
  made.items->insert(made.items->begin() + at, t.owned());
  c.set(0, std::move(made));
}

void sequence_erase(const SequenceErase&, KernelContext& c) {
  Sequence made = copy_sequence(sequence_in(c));
  const int64_t n = size_of_sequence(made);
  const int64_t at = checked_index(c, c.has(1) ? position_in(c, 1) : -1, n);
  made.items->erase(made.items->begin() + at);
  c.set(0, std::move(made));
}

void sequence_at(const SequenceAt&, KernelContext& c) {
  const Sequence& s = sequence_in(c);
  pass_value(c, 0, (*s.items)[static_cast<size_t>(checked_index(c, position_in(c, 1), size_of_sequence(s)))]);
}

void sequence_length(const SequenceLength&, KernelContext& c) {
  c.out(0).as<int64_t>()[0] = size_of_sequence(sequence_in(c));
}

/// The memory of a part beside its elements: its size, its entry in the sequence, its shape and its owners.
constexpr int64_t bytes_of_part = 256;

/// The sizes of the parts: a list, one size for all but the last, or all 1.
std::vector<int64_t> sequence_parts(KernelContext& c, int64_t total) {
  std::vector<int64_t> parts;
  if (c.has(1) && c.in(1).rank() > 0) {
    int64_t sum = 0;
    for (int64_t i = 0; i < c.in(1).size(); ++i) {
      const int64_t n = index_at(c.in(1), i);
      if (n < 0 || n > total - sum)
        c.fail(Code::run_bad_value, "sizes that are not negative and sum up to " + std::to_string(total),
               std::to_string(n));
      sum += n;
      parts.push_back(n);
    }
    if (sum != total)
      c.fail(Code::run_bad_value, "sizes that sum up to " + std::to_string(total), std::to_string(sum));
    return parts;
  }
  const int64_t each = c.has(1) ? index_at(c.in(1), 0) : 1;
  if (each <= 0) c.fail(Code::run_bad_value, "a size of parts above 0", std::to_string(each));
  // An empty tensor may have any number of parts: this fails if they would not fit into memory.
  const int64_t count = total == 0 ? 0 : (total - 1) / each + 1;
  (void)temporary(c, DataType::uint8, {count, bytes_of_part});
  for (int64_t left = total; left > 0; left -= parts.back()) parts.push_back(std::min(each, left));
  return parts;
}

void split_to_sequence(const SplitToSequence& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const auto rank = static_cast<int64_t>(in.rank());
  if (op.axis < -rank || op.axis >= rank)
    c.fail(Code::node_bad_attribute, "an axis of " + describe(in.shape()), std::to_string(op.axis));
  const size_t axis = axis_of(op.axis, in.rank());
  const Tensor from = unpacked(in);
  const Shape strides = row_major(in.shape());
  Sequence made;
  made.elem = in.type();
  int64_t offset = 0;
  for (int64_t size : sequence_parts(c, in.dim(axis))) {
    c.poll();
    Shape shape = in.shape();
    shape[axis] = size;
    Tensor part(in.type(), shape);
    ByteOutput to(part);
    for_size(from.type(), [&]<class T> {
      copy_strided(from.as<T>().data() + offset * strides[axis], to.tensor().as<T>().data(), shape, strides,
                   c);
    });
    to.finish();
    if (!c.has(1) && !op.keepdims) {
      shape.erase(shape.begin() + axis);
      part = part.reshaped(shape);
    }
    made.items->push_back(std::move(part));
    offset += size;
  }
  c.set(0, std::move(made));
}

void concat_from_sequence(const ConcatFromSequence& op, KernelContext& c) {
  const Sequence& s = sequence_in(c);
  if (s.items->empty()) c.fail(Code::run_bad_value, "a sequence of one element or more", "none");
  const Tensor& first = (*s.items)[0].tensor();
  const int64_t rank = static_cast<int64_t>(first.rank()) + op.new_axis;
  if (op.axis < -rank || op.axis >= rank)
    c.fail(Code::node_bad_attribute,
           "an axis in [" + std::to_string(-rank) + ", " + std::to_string(rank) + ")",
           std::to_string(op.axis));
  const size_t axis = axis_of(op.axis, static_cast<size_t>(rank));
  Shape shape = first.shape();
  if (op.new_axis) shape.insert(shape.begin() + axis, 1);
  int64_t inner = 1, outer = 1, total = 0;
  for (size_t a = 0; a < shape.size(); ++a)
    if (a != axis) (a < axis ? outer : inner) *= shape[a];
  for (const Value& v : *s.items) {
    const Tensor& t = v.tensor();
    Shape wanted = first.shape();
    if (!op.new_axis && t.rank() == first.rank()) wanted[axis] = t.dim(axis);
    if (!(t.shape() == wanted) || t.type() != first.type())
      c.fail(Code::run_bad_shape, "elements like the first, " + describe(first), describe(t));
    total = plus(total, op.new_axis ? 1 : t.dim(axis));
  }
  shape[axis] = total;
  Tensor& out = c.out(0, first.type(), shape);
  if (out.size() == 0) return;
  ByteOutput to(out);
  int64_t offset = 0;
  Poller poll(c);
  for (const Value& v : *s.items) {
    const Tensor from = unpacked(v.tensor());
    const int64_t run = from.size() / outer;
    for_size(from.type(), [&]<class T> {
      for (int64_t o = 0; o < outer; ++o)
        poll.copy(from.as<T>().data() + o * run, run,
                  to.tensor().as<T>().data() + o * total * inner + offset);
    });
    offset += run;
  }
  to.finish();
}

}  // namespace

void reference_sequence(KernelCatalog& k) {
  k.reference<SequenceConstruct>("SequenceConstruct", sequence_construct);
  k.reference<SequenceEmpty>("SequenceEmpty", sequence_empty);
  k.reference<SequenceInsert>("SequenceInsert", sequence_insert);
  k.reference<SequenceErase>("SequenceErase", sequence_erase);
  k.reference<SequenceAt>("SequenceAt", sequence_at);
  k.reference<SequenceLength>("SequenceLength", sequence_length);
  k.reference<SplitToSequence>("SplitToSequence", split_to_sequence);
  k.reference<ConcatFromSequence>("ConcatFromSequence", concat_from_sequence);
}

}  // namespace lathe
