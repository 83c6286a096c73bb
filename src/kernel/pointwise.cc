#include "kernel/pointwise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lathe/error.h"

namespace lathe {

void Epilogue::finish_from(const float*, int64_t, int64_t) {
  throw Error(Code::internal, "run", "the epilogue of a step", "another one");
}

namespace {

/// Of a given number of operands.
int functions(uint8_t arity) {
  switch (arity) {
    case 1:
      return static_cast<int>(UnaryOp::count);
    case 2:
      return static_cast<int>(BinaryOp::count);
    case 3:
      return static_cast<int>(TernaryOp::count);
    default:
      return 0;
  }
}

}  // namespace

Pointwise Pointwise::folded(BinaryOp op, size_t operands) {
  Pointwise p{static_cast<uint16_t>(operands), {of(op, 0, 1)}};
  for (size_t i = 2; i < operands; ++i)
    p.code.push_back(of(op, static_cast<uint16_t>(operands + i - 2), static_cast<uint16_t>(i)));
  return p;
}

bool Pointwise::changes_nothing() const {
  return operands == 1 && code.size() == 1 && code[0].arity == 1 &&
         code[0].op == static_cast<uint8_t>(UnaryOp::linear) && code[0].a == 1 && code[0].b == 0 &&
         std::signbit(code[0].b);
}

std::optional<uint16_t> Pointwise::first_added() const {
  if (code.empty() || operands < 2) return std::nullopt;
  const Instruction& first = code[0];
  if (first.arity != 2 || static_cast<BinaryOp>(first.op) != BinaryOp::add) return std::nullopt;
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

bool Pointwise::well_formed() const {
  if (operands == 0 || operands > most_operands || code.empty() || code.size() > most_instructions)
    return false;
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& s = code[i];
    const size_t made = operands + i;
    if (s.op >= functions(s.arity)) return false;
    for (uint16_t v : s.reads())
      if (v >= made) return false;
  }
  return true;
}

std::vector<int64_t> Pointwise::integers() const {
  std::vector<int64_t> list{operands};
  for (const Instruction& s : code) list.insert(list.end(), {s.arity, s.op, s.from[0], s.from[1], s.from[2]});
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
  const size_t n = integers.size() / 5;
  if (integers.size() != 1 + 5 * n || constants.size() != 2 * n) refuse("lists of other lengths");
  for (int64_t v : integers)
    if (v < 0 || v > UINT8_MAX) refuse("numbers out of range");
  Pointwise p{static_cast<uint16_t>(integers[0]), {}};
  for (size_t i = 0; i < n; ++i) {
    const int64_t* s = integers.data() + 1 + 5 * i;
    p.code.push_back({static_cast<uint8_t>(s[0]),
                      static_cast<uint8_t>(s[1]),
                      {static_cast<uint16_t>(s[2]), static_cast<uint16_t>(s[3]), static_cast<uint16_t>(s[4])},
                      constants[2 * i],
                      constants[2 * i + 1]});
  }
  if (!p.well_formed()) refuse("instructions that read what is not there");
  return p;
}

}  // namespace lathe
