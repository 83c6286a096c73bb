// Attention and RotaryEmbedding for float32. Keys and values may be floats of 16 bits, or int8 with scales in
// the cache: no operator allows the mixture, the builder makes it.
#include "cpu/attention.h"

#include "cpu/support.h"
#include "ops/attention/attention.h"
#include "ops/poller.h"

namespace lathe {
namespace {

using cpu::AttentionRun;
using cpu::floats;

using Operands = std::vector<const KernelQuery::Operand*>;
Operands present(const KernelQuery& r, std::initializer_list<size_t> inputs,
                 std::initializer_list<size_t> outputs) {
  Operands list;
  for (size_t i : inputs)
    if (cpu::has_input(r, i)) list.push_back(&r.inputs[i]);
  for (size_t o : outputs)
    if (o < r.outputs.size() && r.outputs[o].present) list.push_back(&r.outputs[o]);
  return list;
}
/// Returns whether the operands are of one type, float32 or a float of 16 bits.
bool agree(const Operands& list) {
  return std::ranges::all_of(list, [&](const auto* o) {
    return o->type == list[0]->type && (o->type == DataType::float32 || cpu::is_f16(o->type));
  });
}

/// The type of keys and values, some of them or all.
enum class Narrow : uint8_t { none, f16, int8 };

/// `shows`: for nodes whose scores are an output.
template <Narrow narrow, bool shows>
Support supports(const Attention& op, const KernelQuery& r) {
  for (size_t i : {0, 1, 2})
    if (!cpu::has_input(r, i)) return Support::no("an input is missing");
  if (r.inputs[0].type != DataType::float32) return Support::no("only float32");
  const Operands fresh = present(r, {1, 2}, {}), cached = present(r, {4, 5}, {1, 2});
  const auto is_int8 = [](const auto* o) { return o->type == DataType::int8; };
  const bool scaled = op.scaled_cache && !cached.empty() && std::ranges::all_of(cached, is_int8);
  if ((narrow == Narrow::int8) != op.scaled_cache)
    return Support::no(op.scaled_cache ? "keys and values with scales" : "keys and values without scales");
  if (!agree(fresh) || !(scaled || agree(cached))) return Support::no("keys and values of other types");
  const auto has_f16 = [](const auto* o) { return cpu::is_f16(o->type); };
  if (has_f16(fresh[0]) && !cached.empty() && cached[0]->type != fresh[0]->type)
    return Support::no("keys of 16 bits that are handed on as others");
  if (scaled && has_f16(fresh[0])) return Support::no("keys of 16 bits that are handed on as others");
  constexpr bool f16 = narrow == Narrow::f16;
  if (f16 != (std::ranges::any_of(fresh, has_f16) || std::ranges::any_of(cached, has_f16)))
    return Support::no(f16 ? "keys and values of float32" : "keys or values of 16 bits");
  if (cpu::has_input(r, 3) && r.inputs[3].type != DataType::float32 && r.inputs[3].type != DataType::boolean)
    return Support::no("a mask of " + std::string(name_of(r.inputs[3].type)));
  if (cpu::has_input(r, 6) && cpu::has_input(r, 4)) return Support::no("lengths of keys that are joined");
  const bool wanted = r.outputs.size() > 3 && r.outputs[3].present;
  if (shows != wanted) return Support::no(shows ? "no scores are wanted" : "the scores are wanted");
  if (wanted && r.outputs[3].type != DataType::float32) return Support::no("scores of another type");
  const int32_t rows = r.inputs[0].shape && r.inputs[0].shape->size() == 3 ? 1 : 2;
  const auto grows_along = [](const KernelQuery::Operand& o, int32_t axis) {
    return o.grows_along < 0 || o.grows_along == axis;
  };
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    if (!grows_along(r.inputs[i], i < 3 ? rows : 2)) return Support::no("keys that grow along another axis");
    if (i < 3 && r.inputs[i].in_blocks) return Support::no("blocks of keys that something else appends");
  }
  // Either cache is written in place, or neither.
  if (cpu::has_input(r, 4) && (r.inputs[4].grows_along >= 0) != (r.inputs[5].grows_along >= 0))
    return Support::no("one of keys and values is a state");
  if (op.softmax_precision && *op.softmax_precision != static_cast<int64_t>(DataType::float32))
    return Support::no("a softmax of another precision");
  return Support::yes();
}

/// The sizes that follow from the attributes and the shapes. `past_key` is empty if the input is absent.
struct Sizes {
  Sizes(const Attention& op, const Shape& q, const Shape& k, const Shape& v, const Shape& past_key)
      : heads_last(q.size() == 3) {
    run.batch = q[0];
    run.q_heads = heads_last ? *op.q_num_heads : q[1];
    run.kv_heads = heads_last ? *op.kv_num_heads : k[1];
    run.queries = q[heads_last ? 1 : 2];
    run.fresh = k[heads_last ? 1 : 2];
    run.head = heads_last ? q[2] / run.q_heads : q[3];
    run.v_head = heads_last ? v[2] / run.kv_heads : v[3];
    run.past = past_key.empty() ? 0 : past_key[2];
    run.keys = run.past + run.fresh;
    run.left = op.left_window;
    run.right = op.is_causal ? 0 : op.right_window;
    run.shows = static_cast<cpu::ShownScores>(op.qk_matmul_output_mode);
  }
  cpu::HeadRows rows(const Tensor& t, int64_t heads, int64_t seq, int64_t size) const {
    if (heads_last) return {t.data(), seq * heads * size, size, heads * size, t.type()};
    return {t.data(), heads * seq * size, seq * size, size, t.type()};
  }

  AttentionRun run;
  bool heads_last;
};

cpu::ScoreBias bias(const Tensor& mask) {
  cpu::ScoreBias b;
  if (mask.type() == DataType::boolean)
    b.bools = mask.as<bool>().data();
  else
    b.numbers = floats(mask);
  int64_t* const strides[] = {&b.key, &b.query, &b.head, &b.batch};
  int64_t stride = 1;
  for (size_t i = 0; i < mask.rank(); ++i) {
    const int64_t size = mask.dim(mask.rank() - 1 - i);
    *strides[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return b;
}

Sizes sizes_of(const Attention& op, std::span<const Shape> in) {
  return {op, in[0], in[1], in[2], in.size() > 4 ? in[4] : Shape()};
}

template <Isa isa, Narrow narrow, bool shows>
size_t workspace(const Attention& op, std::span<const Shape> inputs, int threads) {
  AttentionRun r = sizes_of(op, inputs).run;
  // A mask takes scratch memory, whatever its shape; so do scores that are an output.
  static float somewhere = 0;
  if (inputs.size() > 3 && !inputs[3].empty()) r.bias.numbers = &somewhere;
  if (shows) r.shown = &somewhere;
  if (r.bias.present()) r.keys = std::min(r.keys, inputs[3].back());
  return cpu::attention_workspace(isa, r, narrow != Narrow::none, threads);
}

template <Isa isa, Narrow narrow>
void attention(const Attention& op, KernelContext& c) {
  Sizes s(op, c.in(0).shape(), c.in(1).shape(), c.in(2).shape(),
          cpu::has_input(c, 4) ? c.in(4).shape() : Shape());
  AttentionRun& r = s.run;
  r.q = s.rows(c.in(0), r.q_heads, r.queries, r.head);
  r.k = s.rows(c.in(1), r.kv_heads, r.fresh, r.head);
  r.v = s.rows(c.in(2), r.kv_heads, r.fresh, r.v_head);
  if (const int64_t capacity = c.capacity(1); capacity > 0)
    r.k = s.rows(c.in(1), r.kv_heads, capacity, r.head);
  if (const int64_t capacity = c.capacity(2); capacity > 0)
    r.v = s.rows(c.in(2), r.kv_heads, capacity, r.v_head);
  // Where the cache is updated in place, new rows go behind those of each head.
  const auto present = [&](size_t i, size_t from) -> cpu::CachedRows<void*> {
    Tensor& t = c.out(i);
    r.cached = t.type();
    const bool in_place = cpu::has_input(c, from) && c.capacity(from) > 0 && c.in(from).data() == t.data();
    return {t.data(), in_place ? c.capacity(from) : r.past + r.fresh, in_place ? c.blocks(from) : nullptr};
  };
  if (c.wants(1)) r.present_k = present(1, 4);
  if (c.wants(2)) r.present_v = present(2, 5);
  // Once the outputs are there, the blocks of a state are.
  const auto past = [&](size_t i) -> cpu::CachedRows<const void*> {
    r.cached = c.in(i).type();
    return {c.in(i).data(), c.capacity(i) > 0 ? c.capacity(i) : r.past, c.blocks(i)};
  };
  if (r.past > 0 || (cpu::has_input(c, 4) && c.capacity(4) > 0)) r.past_k = past(4), r.past_v = past(5);
  if (c.outputs() > 3 && c.wants(3)) r.shown = floats(c.out(3));
  r.y = floats(c.out(0));
  const cpu::HeadRows y = s.rows(c.out(0), r.q_heads, r.queries, r.v_head);
  r.y_batch = y.batch, r.y_head = y.head, r.y_row = y.row;
  r.scale = op.scale ? *op.scale : 1 / std::sqrt(static_cast<float>(r.head));
  r.softcap = op.softcap;
  r.first = r.past;
  if (cpu::has_input(c, 6)) r.lengths = c.in(6).as<int64_t>().data();
  if (cpu::has_input(c, 3)) {
    r.bias = bias(c.in(3));
    r.keys = std::min(r.keys, c.in(3).shape().back());  // what the mask does not reach is masked
  }
  void* const scratch = c.workspace(cpu::attention_workspace(isa, r, narrow != Narrow::none, c.threads()));
  cpu::attention(isa, r, narrow != Narrow::none, c.strict(), scratch, c);
}

Support supports_rotary(const RotaryEmbedding&, const KernelQuery& r) {
  if (auto refusal = cpu::refuse_unless_float32(r, 3)) return *refusal;
  return Support::yes();
}

/// Pairs [begin, end) of a row, in loops that compilers turn into vectors.
void rotate(const RotaryEmbedding& op, const float* from, const float* cosines, const float* sines,
            int64_t half, int64_t begin, int64_t end, float* to) {
  const int64_t step = op.interleaved ? 2 : 1, apart = op.interleaved ? 1 : half;
  for (int64_t k = begin; k < end; ++k) {
    const float x = from[k * step], y = from[k * step + apart];
    to[k * step] = cosines[k] * x - sines[k] * y;
    to[k * step + apart] = sines[k] * x + cosines[k] * y;
  }
}

void rotary_embedding(const RotaryEmbedding& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const bool heads_last = x.rank() == 3, cached = cpu::has_input(c, 3);
  const int64_t heads = heads_last ? op.num_heads : x.dim(1), seq = x.dim(heads_last ? 1 : 2);
  const int64_t head = heads_last ? x.dim(2) / heads : x.dim(3);
  const int64_t rotated = op.rotary_embedding_dim > 0 ? op.rotary_embedding_dim : head, half = rotated / 2;
  const int64_t positions = c.in(1).dim(0);
  const int64_t* const ids = cached ? c.in(3).as<int64_t>().data() : nullptr;
  for (int64_t i = 0; ids && i < c.in(3).size(); ++i)
    if (ids[i] < 0 || ids[i] >= positions)
      c.fail(Code::run_bad_index, "position_ids in [0, " + std::to_string(positions) + ")",
             std::to_string(ids[i]));
  if (x.size() == 0) return;
  const float *cosines = floats(c.in(1)), *sines = floats(c.in(2)), *from = floats(x);
  float* const to = floats(c.out(0));
  c.parallel(x.size() / head, std::max<int64_t>(1, 8192 / head), [&](int64_t begin, int64_t end) {
    Poller poll(c);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t step = heads_last ? row / heads % seq : row % seq;
      const int64_t place = row / (heads * seq) * seq + step, angle = (ids ? ids[place] : place) * half;
      poll.pieces(half, 2, [&](int64_t first, int64_t last) {
        rotate(op, from + row * head, cosines + angle, sines + angle, half, first, last, to + row * head);
      });
      poll.copy(from + row * head + rotated, head - rotated, to + row * head + rotated);
    }
  });
}

}  // namespace

void cpu_attention(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    const auto add = [&]<Narrow narrow, bool shows>(std::string_view name) {
      k.add<Attention>({.op = "Attention",
                        .name = cpu::kernel_name(name, isa),
                        .isa = isa,
                        .strict = "each query is computed by itself",
                        .takes_states = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5,
                        .takes_blocks = true,
                        .appends = {{4, 1}, {5, 2}}},
                       {.run = attention<isa, narrow>,
                        .supports = supports<narrow, shows>,
                        .workspace = workspace<isa, narrow, shows>});
    };
    add.template operator()<Narrow::none, false>("attention");
    add.template operator()<Narrow::f16, false>("attention.f16_kv");
    add.template operator()<Narrow::int8, false>("attention.int8_kv");
    add.template operator()<Narrow::none, true>("attention.scores");
    add.template operator()<Narrow::f16, true>("attention.f16_kv.scores");
    add.template operator()<Narrow::int8, true>("attention.int8_kv.scores");
  });
  k.add<RotaryEmbedding>(
      {.op = "RotaryEmbedding", .name = cpu::kernel_name("rotary_embedding", Isa::generic)},
      {.run = rotary_embedding, .supports = supports_rotary});
}

}  // namespace lathe
