// Attention and RotaryEmbedding for float32.
#include "cpu/attention.h"

#include "cpu/ask.h"
#include "ops/attention/attention.h"
#include "ops/poller.h"

namespace lathe {
namespace {

using cpu::AttentionRun;
using cpu::floats;

Verdict ask(const Attention& op, const KernelRequest& r) {
  for (size_t i : {0, 1, 2, 4, 5})
    if (cpu::has_input(r, i) && r.inputs[i].type != DataType::float32) return Verdict::no("only float32");
  for (size_t i : {0, 1, 2})
    if (!cpu::has_input(r, i)) return Verdict::no("an input is missing");
  if (cpu::has_input(r, 3) && r.inputs[3].type != DataType::float32 && r.inputs[3].type != DataType::boolean)
    return Verdict::no("a mask of " + std::string(name_of(r.inputs[3].type)));
  if (cpu::has_input(r, 6)) return Verdict::no("lengths of the keys");
  if (r.outputs.size() > 3 && r.outputs[3].present) return Verdict::no("the scores are wanted");
  if (op.softmax_precision && *op.softmax_precision != static_cast<int64_t>(DataType::float32))
    return Verdict::no("a softmax of another precision");
  return Verdict::yes();
}

/// What follows from the shapes. `past`: of past_key, empty where there is none.
struct Sizes {
  Sizes(const Attention& op, const Shape& q, const Shape& k, const Shape& v, const Shape& past_key)
      : heads_last(q.size() == 3), past(past_key.empty() ? 0 : past_key[2]) {
    run.batch = q[0];
    run.q_heads = heads_last ? *op.q_num_heads : q[1];
    run.kv_heads = heads_last ? *op.kv_num_heads : k[1];
    run.queries = q[heads_last ? 1 : 2];
    kv_seq = k[heads_last ? 1 : 2];
    run.head = heads_last ? q[2] / run.q_heads : q[3];
    run.v_head = heads_last ? v[2] / run.kv_heads : v[3];
    run.keys = past + kv_seq;
  }
  cpu::HeadRows rows(const float* data, int64_t heads, int64_t seq, int64_t size) const {
    if (heads_last) return {data, seq * heads * size, size, heads * size};
    return {data, heads * seq * size, seq * size, size};
  }
  int64_t joined_keys() const { return run.batch * run.kv_heads * run.keys * run.head; }
  int64_t joined_values() const { return run.batch * run.kv_heads * run.keys * run.v_head; }

  AttentionRun run;
  bool heads_last;
  int64_t past, kv_seq = 0;
};

/// Past and present rows of each head, one after the other: [batch, heads, total, size].
void join(const Sizes& s, const float* past, const cpu::HeadRows& now, int64_t size, float* to,
          KernelContext& c) {
  const int64_t heads = s.run.kv_heads, total = s.run.keys;
  c.parallel(s.run.batch * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      float* at = to + i * total * size;
      if (s.past > 0) at = std::copy_n(past + i * s.past * size, s.past * size, at);
      for (int64_t j = 0; j < s.kv_seq; ++j)
        at = std::copy_n(now.at(i / heads, i % heads) + j * now.row, size, at);
    }
  });
}

cpu::ScoreBias bias(const Tensor& mask) {
  cpu::ScoreBias b;
  if (mask.type() == DataType::boolean)
    b.truths = mask.as<bool>().data();
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

/// Bytes for past and present together, where the outputs have no room for them.
size_t joined_bytes(const Sizes& s) {
  return s.past == 0
             ? 0
             : static_cast<size_t>((s.joined_keys() + s.joined_values() + 31) / 16 * 16) * sizeof(float);
}

/// A mask takes scratch memory, whatever its shape.
void note_mask(AttentionRun& r, bool present) {
  static constexpr float somewhere = 0;
  if (present) r.bias.numbers = &somewhere;
}

template <Isa isa>
size_t workspace(const Attention& op, std::span<const Shape> inputs, int threads) {
  Sizes s = sizes_of(op, inputs);
  note_mask(s.run, inputs.size() > 3 && !inputs[3].empty());
  if (s.run.bias.present()) s.run.keys = std::min(s.run.keys, inputs[3].back());
  return joined_bytes(sizes_of(op, inputs)) + cpu::attention_workspace(isa, s.run, threads);
}

template <Isa isa>
void attention(const Attention& op, KernelContext& c) {
  Sizes s(op, c.in(0).shape(), c.in(1).shape(), c.in(2).shape(),
          cpu::has_input(c, 4) ? c.in(4).shape() : Shape());
  AttentionRun& r = s.run;
  r.q = s.rows(floats(c.in(0)), r.q_heads, r.queries, r.head);
  r.k = s.rows(floats(c.in(1)), r.kv_heads, s.kv_seq, r.head);
  r.v = s.rows(floats(c.in(2)), r.kv_heads, s.kv_seq, r.v_head);
  r.y = floats(c.out(0));
  const cpu::HeadRows y = s.rows(r.y, r.q_heads, r.queries, r.v_head);
  r.y_batch = y.batch, r.y_head = y.head, r.y_row = y.row;
  r.scale = op.scale ? *op.scale : 1 / std::sqrt(static_cast<float>(r.head));
  r.softcap = op.softcap;
  r.first = s.past;
  r.left = op.left_window;
  r.right = op.is_causal ? 0 : op.right_window;

  const bool mask = cpu::has_input(c, 3);
  Sizes limited = s;
  if (mask) {
    limited.run.bias = bias(c.in(3));
    limited.run.keys = std::min(r.keys, c.in(3).shape().back());  // what the mask does not reach is masked
  }
  const size_t room = joined_bytes(s);
  auto* const scratch =
      static_cast<char*>(c.workspace(room + cpu::attention_workspace(isa, limited.run, c.threads())));
  float* const spare[] = {reinterpret_cast<float*>(scratch),
                          reinterpret_cast<float*>(scratch) + (s.joined_keys() + 15) / 16 * 16};
  for (size_t i : {0, 1}) {
    const bool wanted = c.wants(1 + i);
    if (!wanted && s.past == 0) continue;
    cpu::HeadRows& rows = i == 0 ? limited.run.k : limited.run.v;
    const int64_t size = i == 0 ? r.head : r.v_head;
    float* const to = wanted ? floats(c.out(1 + i)) : spare[i];
    join(s, s.past > 0 ? floats(c.in(4 + i)) : nullptr, rows, size, to, c);
    rows = {to, r.kv_heads * r.keys * size, r.keys * size, size};
  }
  cpu::attention(isa, limited.run, scratch + room, c);
}

Verdict ask_rotary(const RotaryEmbedding&, const KernelRequest& r) {
  if (auto refusal = cpu::refuse_unless_float32(r, 3)) return *refusal;
  return Verdict::yes();
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
    k.add<Attention>({.op = "Attention", .name = cpu::kernel_name("attention", isa), .isa = isa},
                     {.run = attention<isa>, .ask = ask, .workspace = workspace<isa>});
  });
  k.add<RotaryEmbedding>(
      {.op = "RotaryEmbedding", .name = cpu::kernel_name("rotary_embedding", Isa::generic)},
      {.run = rotary_embedding, .ask = ask_rotary});
}

}  // namespace lathe
