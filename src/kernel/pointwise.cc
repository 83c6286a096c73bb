#include "kernel/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "lathe/error.h"

namespace lathe {

void Epilogue::apply_from(const float*, int64_t, int64_t) {
  throw Error(Code::internal, "run", "the epilogue of a step", "another one");
}

namespace {

/// The number of functions of a kind and arity.
int functions(Pointwise::Kind kind, uint8_t arity) {
  using Kind = Pointwise::Kind;
  if (kind == Kind::clip) return arity == 1 ? 1 : 0;
  if (kind == Kind::cast) return arity == 1 ? data_type_count : 0;
  const bool floats = kind == Kind::floats;
  switch (arity) {
    case 1:
      return floats ? static_cast<int>(UnaryOp::count) : static_cast<int>(SingleOp::count);
    case 2:
      return floats ? static_cast<int>(BinaryOp::count) : static_cast<int>(TypedBinaryOp::count);
    case 3:
      return static_cast<int>(TernaryOp::count);
    default:
      return 0;
  }
}

uint64_t bits_at(const void* element, DataType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(bits_of(type) / 8));
  return bits;
}

template <class Of>
Pointwise fold(size_t operands, Of of) {
  Pointwise p{static_cast<uint16_t>(operands), {of(0, 1)}};
  for (size_t i = 2; i < operands; ++i)
    p.code.push_back(of(static_cast<uint16_t>(operands + i - 2), static_cast<uint16_t>(i)));
  return p;
}

}  // namespace

DataType Pointwise::Instruction::read(size_t i) const {
  return kind == Kind::numbers && arity == 3 && i == 0 ? DataType::boolean : type;
}

DataType Pointwise::Instruction::made() const {
  if (kind == Kind::cast) return static_cast<DataType>(op);
  const bool is_bool = kind == Kind::numbers && arity == 2 && makes_bools(static_cast<TypedBinaryOp>(op));
  return is_bool ? DataType::boolean : type;
}

Pointwise Pointwise::single(SingleOp op, DataType type) {
  return {1, {{.op = static_cast<uint8_t>(op), .kind = Kind::numbers, .type = type}}};
}

Pointwise Pointwise::choose(DataType type) {
  return {3,
          {{.arity = 3,
            .op = static_cast<uint8_t>(TernaryOp::choose),
            .from = {0, 1, 2},
            .kind = Kind::numbers,
            .type = type}}};
}

Pointwise Pointwise::clip(DataType type, const void* low, const void* high) {
  return {1, {{.kind = Kind::clip, .type = type, .bounds = {bits_at(low, type), bits_at(high, type)}}}};
}

Pointwise Pointwise::folded(BinaryOp op, size_t operands) {
  return fold(operands, [&](uint16_t x, uint16_t y) { return of(op, x, y); });
}

Pointwise Pointwise::folded(TypedBinaryOp op, DataType type, size_t operands) {
  return fold(operands, [&](uint16_t x, uint16_t y) { return of(op, type, x, y); });
}

bool Pointwise::changes_nothing() const {
  return operands == 1 && code.size() == 1 && code[0].kind == Kind::floats && code[0].arity == 1 &&
         code[0].op == static_cast<uint8_t>(UnaryOp::linear) && code[0].a == 1 && code[0].b == 0 &&
         std::signbit(code[0].b);
}

std::optional<uint16_t> Pointwise::first_added() const {
  if (code.empty() || operands < 2) return std::nullopt;
  const Instruction& first = code[0];
  if (!is_of_floats() || first.arity != 2 || static_cast<BinaryOp>(first.op) != BinaryOp::add)
    return std::nullopt;
  const auto [x, y] =
      std::pair(std::min(first.from[0], first.from[1]), std::max(first.from[0], first.from[1]));
  if (x != 0 || y == 0) return std::nullopt;
  for (size_t i = 1; i < code.size(); ++i)
    for (uint16_t v : code[i].reads())
      if (v == x || v == y) return std::nullopt;
  return y;
}

Pointwise Pointwise::without_first_added() const {
  const uint16_t added = *first_added();
  Pointwise rest{static_cast<uint16_t>(operands - 1), {code.begin() + 1, code.end()}};
  for (Instruction& s : rest.code)
    for (uint16_t& v : s.reads())
      v = v == operands ? 0 : static_cast<uint16_t>(v - (v > added ? 1 : 0) - (v > operands ? 1 : 0));
  return rest;
}

bool Pointwise::is_of_floats() const {
  return std::all_of(code.begin(), code.end(), [](const Instruction& s) { return s.kind == Kind::floats; });
}

std::optional<std::vector<DataType>> Pointwise::types() const {
  std::vector<DataType> list(operands, DataType::undefined);
  for (const Instruction& s : code) {
    for (size_t i = 0; i < s.arity; ++i) {
      DataType& type = list[s.from[i]];
      if (type == DataType::undefined) type = s.read(i);
      if (type != s.read(i)) return std::nullopt;
    }
    list.push_back(s.made());
  }
  std::replace(list.begin(), list.end(), DataType::undefined, DataType::float32);
  return list;
}

bool Pointwise::well_formed() const {
  if (operands == 0 || operands > max_operands || code.empty() || code.size() > max_instructions)
    return false;
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& s = code[i];
    const size_t made = operands + i;
    if (s.kind >= Kind::count || s.op >= functions(s.kind, s.arity)) return false;
    if (s.kind == Kind::floats && s.type != DataType::float32) return false;
    if (s.type == DataType::undefined || static_cast<int>(s.type) >= data_type_count) return false;
    for (uint16_t v : s.reads())
      if (v >= made) return false;
  }
  return is_of_floats() || types().has_value();
}

std::vector<int64_t> Pointwise::integers() const {
  std::vector<int64_t> list{operands};
  for (const Instruction& s : code)
    list.insert(list.end(), {s.arity, s.op, s.from[0], s.from[1], s.from[2], static_cast<int64_t>(s.kind),
                             static_cast<int64_t>(s.type), static_cast<int64_t>(s.bounds[0]),
                             static_cast<int64_t>(s.bounds[1])});
  return list;
}

std::vector<float> Pointwise::constants() const {
  std::vector<float> list;
  for (const Instruction& s : code) list.insert(list.end(), {s.a, s.b});
  return list;
}

Pointwise Pointwise::from(const std::vector<int64_t>& integers, const std::vector<float>& constants) {
  const auto refuse = [](const char* got) -> void {
    throw Error(Code::plan_malformed, "load", "a pointwise program", got, "build the plan again");
  };
  constexpr size_t each = 9, small = 7;  // numbers of an instruction, and how many of them come before the
                                         // bounds
  const size_t n = integers.size() / each;
  if (integers.size() != 1 + each * n || constants.size() != 2 * n) refuse("lists of other lengths");
  const auto byte = [&](size_t i) {
    if (integers[i] < 0 || integers[i] > UINT8_MAX) refuse("numbers out of range");
    return static_cast<uint8_t>(integers[i]);
  };
  Pointwise p{byte(0), {}};
  for (size_t i = 0; i < n; ++i) {
    const size_t at = 1 + each * i, bounds = at + small;
    p.code.push_back(
        {.arity = byte(at),
         .op = byte(at + 1),
         .from = {byte(at + 2), byte(at + 3), byte(at + 4)},
         .a = constants[2 * i],
         .b = constants[2 * i + 1],
         .kind = static_cast<Kind>(byte(at + 5)),
         .type = static_cast<DataType>(byte(at + 6)),
         .bounds = {static_cast<uint64_t>(integers[bounds]), static_cast<uint64_t>(integers[bounds + 1])}});
  }
  if (!p.well_formed()) refuse("instructions that read what is not there");
  return p;
}

}  // namespace lathe
