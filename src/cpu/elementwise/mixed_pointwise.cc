#include "cpu/elementwise/mixed_pointwise.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/elementwise/casts.h"
#include "cpu/movement.h"
#include "cpu/simd/f16.h"
#include "tensor/element.h"

namespace lathe::cpu {
namespace {

constexpr int64_t block_length = PointwiseCode::block, max_bytes = 8;  // max_bytes: of an element

int64_t bytes_of(DataType type) { return bits_of(type) / 8; }

/// Copies n elements of an operand, from a position of the result on, across short rows.
template <class T>
void gather(const OperandAxes& axes, size_t operand, const T* from, OperandAxes::Position at, int64_t n,
            T* to) {
  const auto& steps = axes.steps[operand];
  from += axes.offset(operand, at);
  while (n > 0) {
    const int64_t length = std::min(axes.sizes[0] - at.within(), n);
    for (int64_t i = 0; i < length; ++i) to[i] = from[(at.within() + i) * steps[0]];
    to += length;
    n -= length;
    at.index[0] = 0;
    for (size_t axis = 1; axis < axes.count; ++axis) {
      from += steps[axis];
      if (++at.index[axis] < axes.sizes[axis]) break;
      from -= steps[axis] * axes.sizes[axis];
      at.index[axis] = 0;
    }
  }
}

const float* floats(const void* data) { return static_cast<const float*>(data); }

/// Calls f(to, n) for n floats, or for one that is then repeated.
template <class F>
void make_floats(void* to, int64_t n, bool single, F f) {
  f(static_cast<float*>(to), single ? 1 : n);
  if (single) repeat(to, sizeof(float), static_cast<int64_t>(sizeof(float)) * n);
}

template <class T>
T required(T row, DataType type) {
  if (!row)
    throw Error(lathe::Code::plan_malformed, "load", "functions that their types have",
                "another one of " + std::string(name_of(type)), "build the plan again");
  return row;
}

}  // namespace

// Functions.

void MixedCode::OneFloat::call(const Reads& x, void* to, int64_t n) const {
  make_floats(to, n, x.singles == 1,
              [&](float* made, int64_t length) { row(floats(x.data[0]), made, length, a, b); });
}
void MixedCode::TwoFloats::call(const Reads& x, void* to, int64_t n) const {
  constexpr RowForm forms[] = {RowForm::both, RowForm::left_single, RowForm::right_single, RowForm::both};
  make_floats(to, n, x.singles == 3, [&](float* made, int64_t length) {
    by_form[static_cast<size_t>(forms[x.singles])](floats(x.data[0]), floats(x.data[1]), made, length);
  });
}
void MixedCode::ChosenFloats::call(const Reads& x, void* to, int64_t n) const {
  make_floats(to, n, x.singles == 7, [&](float* made, int64_t length) {
    by_singles[x.singles](floats(x.data[0]), floats(x.data[1]), floats(x.data[2]), made, length);
  });
}
void MixedCode::OneNumber::call(const Reads& x, void* to, int64_t n) const { row(x.data[0], to, n); }
void MixedCode::TwoNumbers::call(const Reads& x, void* to, int64_t n) const {
  if (divisors != DataType::undefined) refuse_zeros(divisors, x.data[1], n);
  row(x.data[0], x.data[1], to, n);
}
void MixedCode::Clipped::call(const Reads& x, void* to, int64_t n) const {
  row(x.data[0], to, n, &low, &high);
}
void MixedCode::Chosen::call(const Reads& x, void* to, int64_t n) const {
  const bool x_moves = !(x.singles & 2), y_moves = !(x.singles & 4);
  by_moving[x_moves][y_moves](static_cast<const uint8_t*>(x.data[0]), x.data[1], x.data[2], to, n);
}
void MixedCode::BoolsAsFloats::call(const Reads& x, void* to, int64_t n) const {
  row(static_cast<const uint8_t*>(x.data[0]), static_cast<float*>(to), n);
}

MixedCode::Function MixedCode::function_of(Isa isa, const Pointwise::Instruction& s) {
  using Kind = Pointwise::Kind;
  const size_t column = typed_column(s.type);
  if (s.kind == Kind::floats) {
    const ElementwiseKernels& k = elementwise_kernels(isa);
    if (s.arity == 1) return OneFloat{k.unary[s.op], s.a, s.b};
    if (s.arity == 2) return TwoFloats{k.binary[s.op]};
    return ChosenFloats{k.ternary[s.op]};
  }
  if (s.kind == Kind::clip)
    return Clipped{required(typed_kernels(isa).clip[column], s.type), s.bounds[0], s.bounds[1]};
  if (s.kind == Kind::cast) {
    if (s.type == DataType::boolean && s.made() == DataType::float32)
      return BoolsAsFloats{elementwise_kernels(isa).load_bools};
    return OneNumber{required(cast_row(isa, s.type, s.made()), s.type)};
  }
  if (s.arity == 1) return OneNumber{required(typed_kernels(isa).single[s.op][column], s.type)};
  if (s.arity == 2) {
    const bool refuses_zero = divides(static_cast<TypedBinaryOp>(s.op)) && is_integer(s.type);
    return TwoNumbers{required(typed_kernels(isa).pair[s.op][column], s.type),
                      refuses_zero ? s.type : DataType::undefined};
  }
  required(casts(s.type), s.type);
  return Chosen{choose_kernels(isa).rows[std::countr_zero(static_cast<uint64_t>(bytes_of(s.type)))]};
}

MixedCode::MixedCode(Isa isa, const Pointwise& program)
    : isa_(isa),
      load_bools_(elementwise_kernels(isa).load_bools),
      store_bools_(elementwise_kernels(isa).store_bools),
      made_(program.code.back().made()),
      made_in_place_(may_write_over(program.code.back())) {
  const std::vector<DataType> types = *program.types();
  operands_.assign(types.begin(), types.begin() + program.operands);
  const std::vector<uint8_t> places = places_of(program);
  for (size_t i = 0; i < program.code.size(); ++i) {
    const Pointwise::Instruction& s = program.code[i];
    Step step{function_of(isa, s), s.arity, places[program.operands + i], {}};
    for (size_t j = 0; j < s.arity; ++j) step.from[j] = places[s.from[j]];
    steps_.push_back(std::move(step));
  }
}

// Runs.

/// The buffers of a block, on the stack of a thread.
struct MixedRun::Block {
  static constexpr size_t bytes = max_bytes * block_length;
  // Repeated rows are long enough to begin anywhere within a row.
  alignas(64) std::byte operands[Pointwise::max_operands][bytes + max_bytes * OperandAxes::short_row];
  alignas(64) std::byte buffers[PointwiseCode::max_buffers][bytes];
  alignas(64) std::byte gathered[bytes], made[bytes];
  // By place: operands, then buffers.
  std::array<const void*, Pointwise::max_operands + PointwiseCode::max_buffers> data;
  unsigned singles = 0;                                        // bit i: all elements at place i are the same
  std::array<int64_t, Pointwise::max_operands> repeated_from;  // -1: nothing is repeated yet
  int64_t repeated;                                            // the number of repeated elements
};

MixedRun::MixedRun(const MixedCode& code, std::span<const Tensor* const> operands, Tensor& to)
    : code_(&code), axes_(operands, to.shape()), to_(static_cast<std::byte*>(to.data())), type_(to.type()) {
  const bool has_short_rows = axes_.count > 1 && axes_.sizes[0] <= OperandAxes::short_row;
  crosses_rows_ = has_short_rows &&
                  !(axes_.sizes[0] * axes_.sizes[1] > OperandAxes::short_row && axes_.join_short_rows());
  made_in_buffer_ = code.made_ != type_;
  const auto is_single = [&](size_t o) {
    const auto& steps = axes_.steps[o];
    return std::all_of(steps.begin(), steps.begin() + (crosses_rows_ ? axes_.count : 1),
                       [](int64_t step) { return step == 0; });
  };
  for (size_t o = 0; o < operands.size(); ++o) {
    data_[o] = static_cast<const std::byte*>(operands[o]->data());
    types_[o] = operands[o]->type();
    periods_[o] = axes_.repeats[o] ? axes_.repeated_row : 1;
    if (axes_.repeats[o] || is_single(o))
      ways_[o] = Way::repeated;
    else
      ways_[o] = crosses_rows_ && !axes_.is_dense(o) ? Way::gathered : Way::direct;
    made_in_buffer_ |= data_[o] == to_ && !code.made_in_place_;
  }
}

/// Copies elements, converted to the type as which the program reads the operand.
void MixedRun::load(size_t o, const void* from, void* to, int64_t n) const {
  if (!is_converted(o))
    std::memcpy(to, from, static_cast<size_t>(n * bytes_of(types_[o])));
  else if (types_[o] == DataType::boolean)
    code_->load_bools_(static_cast<const uint8_t*>(from), static_cast<float*>(to), n);
  else
    widen(code_->isa_, types_[o], from, static_cast<float*>(to), n);
}

/// Repeats the row or element at `from`, unless that is done already.
void MixedRun::repeat_operand(size_t o, int64_t from, Block& block) const {
  if (block.repeated_from[o] == from) return;
  block.repeated_from[o] = from;
  std::byte* const buffer = block.operands[o];
  load(o, at(o, from), buffer, periods_[o]);
  const int64_t bytes = bytes_of(code_->operands_[o]);
  repeat(buffer, periods_[o] * bytes, block.repeated * bytes);
}

void MixedRun::gather_operand(size_t o, const OperandAxes::Position& position, int64_t n, void* to) const {
  for_size(types_[o], [&]<class T> {
    if constexpr (std::is_integral_v<T>)
      gather(axes_, o, reinterpret_cast<const T*>(data_[o]), position, n, static_cast<T*>(to));
  });
}

/// Makes n elements of an operand contiguous at its place.
void MixedRun::place(size_t o, const OperandAxes::Position& position, int64_t n, Block& block) const {
  std::byte* const buffer = block.operands[o];
  const int64_t row = axes_.offset(o, position);
  block.data[o] = buffer;
  if (ways_[o] == Way::repeated) {
    repeat_operand(o, row, block);
    block.data[o] = buffer + position.within() % periods_[o] * bytes_of(code_->operands_[o]);
  } else if (ways_[o] == Way::gathered) {
    gather_operand(o, position, n, is_converted(o) ? block.gathered : buffer);
    if (is_converted(o)) load(o, block.gathered, buffer, n);
  } else if (is_converted(o)) {
    load(o, at(o, row + position.within()), buffer, n);
  } else {
    block.data[o] = at(o, row + position.within());
  }
}

void MixedRun::run_block(Block& block, void* to, int64_t n) const {
  const size_t operands = code_->operands_.size();
  const std::vector<MixedCode::Step>& steps = code_->steps_;
  for (const MixedCode::Step& s : steps) {
    void* const out = &s == &steps.back() ? to : block.buffers[s.to - operands];
    MixedCode::Reads x;
    for (unsigned j = 0; j < s.arity; ++j) {
      x.data[j] = block.data[s.from[j]];
      x.singles |= (block.singles >> s.from[j] & 1) << j;
    }
    const bool single = x.singles + 1 == 1u << s.arity;
    std::visit([&](const auto& function) { function.call(x, out, n); }, s.function);
    block.data[s.to] = out;
    block.singles = (block.singles & ~(1u << s.to)) | unsigned{single} << s.to;
  }
}

/// Stores elements of the result that were computed in a buffer.
void MixedRun::store(const void* made, int64_t begin, int64_t n) const {
  std::byte* const to = to_ + begin * bytes_of(type_);
  if (type_ == code_->made_)
    std::memcpy(to, made, static_cast<size_t>(n * bytes_of(type_)));
  else if (type_ == DataType::boolean)
    code_->store_bools_(floats(made), reinterpret_cast<uint8_t*>(to), n);
  else
    narrow(code_->isa_, type_, floats(made), to, n);
}

void MixedRun::apply(int64_t begin, int64_t n) {
  const size_t operands = code_->operands_.size();
  Block block;
  block.repeated_from.fill(-1);
  block.repeated = std::min(n, block_length) + axes_.repeated_row;
  for (size_t o = 0; o < operands; ++o)
    if (ways_[o] == Way::repeated && periods_[o] == 1) block.singles |= 1u << o;
  for (const int64_t end = begin + n; begin < end;) {
    const OperandAxes::Position position = axes_.position(begin);
    int64_t length = std::min(end - begin, block_length);
    if (!crosses_rows_) length = std::min(length, axes_.sizes[0] - position.within());
    for (size_t o = 0; o < operands; ++o) place(o, position, length, block);
    run_block(block, made_in_buffer_ ? block.made : to_ + begin * bytes_of(type_), length);
    if (made_in_buffer_) store(block.made, begin, length);
    begin += length;
  }
}

}  // namespace lathe::cpu
