#include "cpu/elementwise/pointwise.h"

#include <algorithm>
#include <numeric>

#include "cpu/movement.h"
#include "cpu/simd/f16.h"
#include "cpu/support.h"

namespace lathe::cpu {
namespace {

/// The instruction that reads each result last; for results that nothing reads, the one that computes them.
std::vector<size_t> last_reads(const Pointwise& p) {
  std::vector<size_t> last(p.code.size());
  for (size_t i = 0; i < p.code.size(); ++i) {
    last[i] = i;
    for (uint16_t v : p.code[i].reads())
      if (v >= p.operands) last[v - p.operands] = i;
  }
  return last;
}

/// The buffer of each result. The last result is the program's and needs no buffer.
std::vector<size_t> assign_buffers(const Pointwise& p, size_t& most) {
  const std::vector<size_t> last = last_reads(p);
  std::vector<size_t> buffer(p.code.size());
  std::vector<bool> used;
  most = 0;
  for (size_t i = 0; i + 1 < p.code.size(); ++i) {
    const auto let_go = [&] {
      for (size_t j = 0; j < i; ++j)
        if (last[j] == i) used[buffer[j]] = false;
    };
    const bool writes_over = may_write_over(p.code[i]);
    if (writes_over) let_go();
    const auto free = std::find(used.begin(), used.end(), false);
    buffer[i] = static_cast<size_t>(free - used.begin());
    if (free == used.end()) used.push_back(false);
    used[buffer[i]] = last[i] > i;
    most = std::max(most, used.size());
    if (!writes_over) let_go();
  }
  return buffer;
}

}  // namespace

/// Returns whether the instruction works element by element, in order: not if elements have different sizes,
/// are moved or are converted.
bool may_write_over(const Pointwise::Instruction& s) {
  using Kind = Pointwise::Kind;
  return s.kind == Kind::floats || (s.kind != Kind::cast && s.arity < 3 && s.made() == s.type);
}

size_t buffers_of(const Pointwise& program) {
  size_t most = 0;
  assign_buffers(program, most);
  return most;
}

std::vector<uint8_t> places_of(const Pointwise& program) {
  size_t most = 0;
  const std::vector<size_t> buffers = assign_buffers(program, most);
  if (most > PointwiseCode::max_buffers)
    throw Error(
        lathe::Code::plan_malformed, "load",
        "a pointwise program with at most " + std::to_string(PointwiseCode::max_buffers) + " results at once",
        std::to_string(most), "build the plan again");
  std::vector<uint8_t> places(program.operands);
  std::iota(places.begin(), places.end(), uint8_t{0});
  for (size_t buffer : buffers) places.push_back(static_cast<uint8_t>(program.operands + buffer));
  return places;
}

PointwiseCode::PointwiseCode(Isa isa, const Pointwise& program)
    : isa_(isa),
      load_bools_(elementwise_kernels(isa).load_bools),
      store_bools_(elementwise_kernels(isa).store_bools),
      operands_(program.operands),
      bounds_(program.operands == 1 && program.code.size() == 1 && program.code[0].arity == 1
                  ? bounds_of(static_cast<UnaryOp>(program.code[0].op), program.code[0].a, program.code[0].b)
                  : std::nullopt),
      first_added_(program.first_added()) {
  if (first_added_ && program.code.size() > 1)
    after_added_ = std::make_shared<const PointwiseCode>(isa, program.without_first_added());
  if (!program.is_of_floats())
    throw Error(lathe::Code::plan_malformed, "load", "a pointwise program of float32", "one of other numbers",
                "build the plan again");
  const ElementwiseKernels& k = elementwise_kernels(isa);
  const std::vector<uint8_t> places = places_of(program);
  for (size_t i = 0; i < program.code.size(); ++i) {
    const Pointwise::Instruction& s = program.code[i];
    Step step{.arity = s.arity, .to = places[operands_ + i], .a = s.a, .b = s.b};
    for (size_t j = 0; j < s.arity; ++j) step.from[j] = places[s.from[j]];
    if (s.arity == 1)
      step.unary = k.unary[s.op];
    else if (s.arity == 2)
      step.binary = k.binary[s.op];
    else
      step.ternary = k.ternary[s.op];
    steps_.push_back(step);
  }
}

PointwiseRun::PointwiseRun(const PointwiseCode& code, std::span<const Tensor* const> operands, Tensor& to)
    : code_(&code), axes_(operands, to.shape()), to_(to.data()), type_(to.type()) {
  for (size_t o = 0; o < operands.size(); ++o) {
    data_[o] = operands[o]->data();
    types_[o] = operands[o]->type();
    all_floats_ &= types_[o] == DataType::float32;
  }
  axes_.join_short_rows();
}

/// Loads elements as floats, whatever their type in memory.
void PointwiseRun::load(size_t operand, int64_t at, float* to, int64_t n) const {
  const void* const from = data_[operand];
  if (types_[operand] == DataType::float32)
    std::copy_n(static_cast<const float*>(from) + at, n, to);
  else if (types_[operand] == DataType::boolean)
    code_->load_bools_(static_cast<const uint8_t*>(from) + at, to, n);
  else
    widen(code_->isa_, types_[operand], static_cast<const Float16*>(from) + at, to, n);
}

/// Stores elements of a result that is not float32 in memory.
void PointwiseRun::store(const float* from, int64_t at, int64_t n) const {
  if (type_ == DataType::boolean)
    code_->store_bools_(from, static_cast<uint8_t*>(to_) + at, n);
  else
    narrow(code_->isa_, type_, from, static_cast<Float16*>(to_) + at, n);
}

void PointwiseRun::apply(int64_t begin, int64_t n) {
  if (!is_flat_float32()) return apply_any(nullptr, begin, n);
  Places places;
  apply_flat(places, begin, n);
}

void PointwiseRun::apply_from(const float* computed, int64_t begin, int64_t n) {
  apply_any(computed, begin, n);
}

/// `computed`: operand 0 as float32, from element `begin` on; null: operand 0 is read from memory.
void PointwiseRun::apply_any(const float* computed, int64_t begin, int64_t n) const {
  const size_t operands = code_->operands();
  Places places;
  // Rows are repeated often enough to begin anywhere within a row; operands that are not float32 are
  // converted here too.
  constexpr int64_t repeated_length = PointwiseCode::block + OperandAxes::short_row;
  alignas(64) float repeated[Pointwise::max_operands][repeated_length];
  alignas(64) float made[PointwiseCode::block];
  std::array<int64_t, Pointwise::max_operands> repeated_from;
  repeated_from.fill(-1);
  const int64_t needed = std::min(n, PointwiseCode::block) + axes_.repeated_row;
  constexpr int64_t float_bytes = sizeof(float);
  for (const int64_t first = begin, end = begin + n; begin < end;) {
    const int64_t within = begin % axes_.sizes[0];
    const int64_t length = std::min({axes_.sizes[0] - within, end - begin, PointwiseCode::block});
    for (size_t o = 0; o < operands; ++o) {
      if (o == 0 && computed) {
        places[o] = {computed + (begin - first), false};
        continue;
      }
      const int64_t from = axes_.offset(o, begin / axes_.sizes[0]);
      const bool single = axes_.steps[o][0] == 0;
      if (axes_.repeats[o]) {
        if (repeated_from[o] != from) {
          load(o, from, repeated[o], axes_.repeated_row);
          repeat(repeated[o], float_bytes * axes_.repeated_row, float_bytes * needed);
        }
        repeated_from[o] = from;
        places[o] = {repeated[o] + within % axes_.repeated_row, false};
      } else if (types_[o] != DataType::float32) {
        load(o, from + within * axes_.steps[o][0], repeated[o], single ? 1 : length);
        places[o] = {repeated[o], single};
      } else {
        places[o] = {static_cast<const float*>(data_[o]) + from + within * axes_.steps[o][0], single};
      }
    }
    if (type_ != DataType::float32) {
      run_block(places, made, length);
      store(made, begin, length);
    } else {
      run_block(places, static_cast<float*>(to_) + begin, length);
    }
    begin += length;
  }
}

void PointwiseRun::apply_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) {
  if (n == row || !is_flat_float32()) return Epilogue::apply_rows(begin, n, rows, row);
  Places places;
  for (int64_t r = 0; r < rows; ++r) apply_flat(places, begin + r * row, n);
}

void PointwiseRun::prefetch_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) const {
  if (!is_flat_float32()) return;
  constexpr int64_t line = 16;
  for (size_t o = 0; o < code_->operands(); ++o) {
    if (axes_.steps[o][0] == 0 || data_[o] == to_) continue;
    const float* from = static_cast<const float*>(data_[o]) + begin;
    for (int64_t r = 0; r < rows; ++r, from += row)
      for (int64_t i = 0; i < n; i += line) __builtin_prefetch(from + i, 0, 3);
  }
}

/// There are no rows to divide, and no blocks if there is one instruction. One instruction with one operand
/// is a single call.
void PointwiseRun::apply_flat(Places& places, int64_t begin, int64_t n) const {
  const bool one = code_->steps_.size() == 1;
  const auto* const s = one ? code_->steps_.data() : nullptr;
  if (s && s->arity == 1 && axes_.steps[s->from[0]][0] == 1)
    return s->unary(static_cast<const float*>(data_[s->from[0]]) + begin, static_cast<float*>(to_) + begin, n,
                    s->a, s->b);
  const int64_t block = one ? n : PointwiseCode::block;
  for (const int64_t end = begin + n; begin < end; begin += block) {
    for (size_t o = 0; o < code_->operands(); ++o)
      places[o] = {static_cast<const float*>(data_[o]) + begin * axes_.steps[o][0], axes_.steps[o][0] == 0};
    run_block(places, static_cast<float*>(to_) + begin, std::min(end - begin, block));
  }
}

void PointwiseRun::run_block(Places& places, float* to, int64_t n) const {
  alignas(64) float buffers[PointwiseCode::max_buffers][PointwiseCode::block];
  const std::vector<PointwiseCode::Step>& steps = code_->steps_;
  for (size_t i = 0; i < steps.size(); ++i) {
    const PointwiseCode::Step& s = steps[i];
    const bool last = i + 1 == steps.size();
    float* const out = last ? to : buffers[s.to - code_->operands_];
    const Place x = places[s.from[0]];
    // If all operands are single elements, one result is computed, which later instructions repeat.
    bool single = x.single;
    if (s.arity == 1) {
      s.unary(x.data, out, single ? 1 : n, s.a, s.b);
    } else if (s.arity == 2) {
      const Place y = places[s.from[1]];
      single = x.single && y.single;
      const RowForm form = single     ? RowForm::both
                           : x.single ? RowForm::left_single
                           : y.single ? RowForm::right_single
                                      : RowForm::both;
      s.binary[static_cast<size_t>(form)](x.data, y.data, out, single ? 1 : n);
    } else {
      const Place y = places[s.from[1]], z = places[s.from[2]];
      single = x.single && y.single && z.single;
      const size_t singles = x.single + 2u * y.single + 4u * z.single;
      s.ternary[singles](x.data, y.data, z.data, out, single ? 1 : n);
    }
    if (!last)
      places[s.to] = {out, single};
    else if (single)
      std::fill_n(out + 1, n - 1, *out);
  }
}

namespace {
/// All operands but one.
struct OthersThan {
  OthersThan(size_t left_out, std::span<const Tensor* const> operands) {
    for (size_t o = 0; o < operands.size(); ++o)
      if (o != left_out) all[n++] = operands[o];
  }
  std::span<const Tensor* const> span() const { return {all.data(), n}; }
  std::array<const Tensor*, Pointwise::max_operands> all;
  size_t n = 0;
};
}  // namespace

PointwiseEpilogue::PointwiseEpilogue(const PointwiseCode& code, std::span<const Tensor* const> operands,
                                     Tensor& to)
    : code_(&code), all_(code, operands, to) {
  split(operands, to);
}

void PointwiseEpilogue::bind(std::span<const Tensor* const> operands, Tensor& to) {
  all_ = PointwiseRun(*code_, operands, to);
  split(operands, to);
}

void PointwiseEpilogue::split(std::span<const Tensor* const> operands, Tensor& to) {
  added_ = {};
  if (!code_->first_added() || to.rank() == 0) return;
  const Tensor& added = *operands[*code_->first_added()];
  if (added.type() != DataType::float32 || to.type() != DataType::float32 || to.size() == 0) return;
  const int64_t row = to.shape().back();
  const bool is_row = added.rank() > 0 && added.shape().back() == row && added.size() == row;
  if (!is_row && added.shape() != to.shape()) return;
  if (const PointwiseCode* rest = code_->after_added()) {
    const PointwiseRun run(*rest, OthersThan(*code_->first_added(), operands).span(), to);
    if (rest_)
      *rest_ = run;
    else
      rest_ = std::make_unique<PointwiseRun>(run);
  }
  added_ = {.data = floats(added), .length = added.size(), .rest = rest_.get()};
}

void PointwiseEpilogue::move_to(std::span<const Tensor* const> operands, Tensor& to) {
  all_.move_to(operands, to);
  if (!added_.data) return;
  added_.data = floats(*operands[*code_->first_added()]);
  if (rest_) rest_->move_to(OthersThan(*code_->first_added(), operands).span(), to);
}

void run_pointwise(Epilogue& run, int64_t elements, Workers& workers) {
  workers.parallel(elements, elements_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += elements_a_piece) {
      workers.poll();
      run.apply(i, std::min(elements_a_piece, end - i));
    }
  });
}

namespace {
class PointwiseCompiled final : public CompiledEpilogue {
 public:
  PointwiseCompiled(Isa isa, const Pointwise& program) : code_(isa, program) {}
  std::unique_ptr<StepEpilogue> bind(std::span<const Tensor* const> operands, Tensor& to) const override {
    return std::make_unique<PointwiseEpilogue>(code_, operands, to);
  }
  size_t bytes() const override { return sizeof(PointwiseEpilogue); }
  void run(Epilogue& bound, int64_t elements, Workers& workers) const override {
    run_pointwise(bound, elements, workers);
  }

 private:
  PointwiseCode code_;
};
}  // namespace

std::unique_ptr<const CompiledEpilogue> compile_epilogue(Isa isa, const Pointwise& program) {
  return std::make_unique<PointwiseCompiled>(isa, program);
}

}  // namespace lathe::cpu
