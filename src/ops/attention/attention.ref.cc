#include "ops/attention/attention.h"

#include <vector>

#include "ops/compute.h"
#include "ops/movement.h"

namespace lathe {
namespace {

/// Sizes of one execution, and inputs as doubles.
struct AttentionProblem {
  int64_t batch, q_heads, kv_heads, q_seq, kv_seq, past, total, head, v_head;
  Tensor q, k, v;  // as given: rank 3 or 4
  bool heads_last;

  AttentionProblem(const Attention& op, KernelContext& c)
      : q(in_double(c.in(0), c)),
        k(in_double(c.in(1), c)),
        v(in_double(c.in(2), c)),
        heads_last(q.rank() == 3) {
    batch = q.dim(0);
    q_heads = heads_last ? *op.q_num_heads : q.dim(1);
    kv_heads = heads_last ? *op.kv_num_heads : k.dim(1);
    q_seq = q.dim(heads_last ? 1 : 2);
    kv_seq = k.dim(heads_last ? 1 : 2);
    head = heads_last ? q.dim(2) / q_heads : q.dim(3);
    v_head = heads_last ? v.dim(2) / kv_heads : v.dim(3);
    past = c.has(4) ? c.in(4).dim(2) : 0;
    total = past + kv_seq;
  }
  /// The offset of row `i` of a head in a tensor of `heads` heads of `size` elements and `seq` rows.
  int64_t row(int64_t b, int64_t h, int64_t i, int64_t heads, int64_t seq, int64_t size) const {
    return (heads_last ? (b * seq + i) * heads + h : (b * heads + h) * seq + i) * size;
  }
  /// Past and present rows of keys or values: [batch, kv_heads, total, size].
  Tensor joined(const Tensor* past_rows, const Tensor& now, int64_t size, KernelContext& c) const {
    Tensor all = temporary(c, DataType::float64, {batch, kv_heads, total, size});
    const Tensor before = past_rows ? in_double(*past_rows, c) : Tensor();
    if (all.size() == 0) return all;
    double* to = all.as<double>().data();
    Poller poll(c);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < kv_heads; ++h) {
        poll.did(total * size);
        if (past > 0)
          std::copy_n(before.as<double>().data() + (b * kv_heads + h) * past * size, past * size, to);
        for (int64_t i = 0; i < kv_seq; ++i)
          std::copy_n(now.as<double>().data() + row(b, h, i, kv_heads, kv_seq, size), size,
                      to + (past + i) * size);
        to += total * size;
      }
    return all;
  }
};

/// The number added to the score of a query for a key: 0, an element of the mask, or minus infinity.
class AttentionBias {
 public:
  AttentionBias(const Attention& op, const AttentionProblem& p, KernelContext& c)
      : op_(op), p_(p), mask_(c.scratch()), lengths_(c.scratch()) {
    if (c.has(3)) {
      const Tensor& mask = c.in(3);
      keys_ = mask.dim(mask.rank() - 1);
      mask_.resize(static_cast<size_t>(mask.size()));
      Poller poll(c);
      for (size_t i = 0; i < mask_.size(); ++i) {
        const double v = load_double(mask, static_cast<int64_t>(i));
        mask_[i] = mask.type() == DataType::boolean ? (v != 0 ? 0 : masked) : v;
        poll.did(1);
      }
      int64_t stride = 1;
      for (size_t k = 0; k < mask.rank(); ++k) {
        const int64_t size = mask.dim(mask.rank() - 1 - k);
        strides_[3 - k] = size == 1 ? 0 : stride;
        stride *= size;
      }
      has_mask_ = true;
    }
    if (c.has(6)) lengths_ = integers_of(c.in(6), c);
  }

  double at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double bias = 0;
    if (has_mask_) {
      if (j >= keys_) return masked;
      bias =
          mask_[static_cast<size_t>(b * strides_[0] + h * strides_[1] + i * strides_[2] + j * strides_[3])];
    }
    int64_t offset = p_.past;  // keys before the first query
    if (!lengths_.empty()) {
      const int64_t length = lengths_[static_cast<size_t>(b)];
      if (j >= length) return masked;
      // A length below 0 has masked every key; one beyond the cache may be as large as it likes.
      offset = std::min(length, p_.total) - p_.q_seq;
    }
    const int64_t position = i + offset;
    if (op_.is_causal && j > position) return masked;
    if (op_.left_window >= 0 && position - j > op_.left_window) return masked;
    if (op_.right_window >= 0 && j - position > op_.right_window) return masked;
    return bias;
  }
  static constexpr double masked = -std::numeric_limits<double>::infinity();

 private:
  const Attention& op_;
  const AttentionProblem& p_;
  bool has_mask_ = false;
  int64_t keys_ = 0;
  std::pmr::vector<double> mask_;
  int64_t strides_[4] = {0, 0, 0, 0};
  std::pmr::vector<int64_t> lengths_;
};

/// Rounds to a narrower type and back.
double rounded(double x, DataType type) {
  if (type == DataType::float64) return x;
  return for_type(type, Types<float, Float16, BFloat16>{}, [&]<class T> {
    return static_cast<double>(Element<T>::load(Element<T>::store(static_cast<float>(x))));
  });
}

void attention(const Attention& op, KernelContext& c) {
  if (op.scaled_cache) c.fail(Code::not_supported, "keys and values without scales", "int8 with scales");
  const AttentionProblem p(op, c);
  const Tensor keys = p.joined(c.has(4) ? &c.in(4) : nullptr, p.k, p.head, c);
  const Tensor values = p.joined(c.has(5) ? &c.in(5) : nullptr, p.v, p.v_head, c);
  const AttentionBias bias(op, p, c);
  const double scale = op.scale ? static_cast<double>(*op.scale) : 1 / std::sqrt(static_cast<double>(p.head));
  const double softcap = static_cast<double>(op.softcap);
  Tensor& y = c.out(0);
  Tensor* shown = c.wants(3) ? &c.out(3) : nullptr;
  for (size_t i : {1, 2}) {
    if (!c.wants(i)) continue;
    const Tensor& from = i == 1 ? keys : values;
    for (int64_t k = 0; k < from.size(); ++k) {
      if ((k & 65535) == 0) c.poll();
      store_double(c.out(i), k, from.as<double>()[static_cast<size_t>(k)]);
    }
  }

  if (y.size() == 0 && !shown) return;  // keys without elements may be any number

  c.parallel(p.batch * p.q_heads * p.q_seq, 1, [&](int64_t begin, int64_t end) {
    Poller poll(c);
    std::pmr::vector<double> scores(static_cast<size_t>(p.total), c.scratch()),
        sum(static_cast<size_t>(p.v_head), c.scratch());
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece % p.q_seq, h = piece / p.q_seq % p.q_heads, b = piece / p.q_seq / p.q_heads;
      const int64_t group = b * p.kv_heads + h / (p.q_heads / p.kv_heads);
      const double* query = p.q.as<double>().data() + p.row(b, h, i, p.q_heads, p.q_seq, p.head);
      const auto show = [&](int64_t mode, int64_t j, double v) {
        if (shown && op.qk_matmul_output_mode == mode) store_double(*shown, piece * p.total + j, v);
      };
      double greatest = AttentionBias::masked;
      bool all_masked = true;
      for (int64_t j = 0; j < p.total; ++j) {
        poll.did(p.head + 1);
        const double* key = keys.as<double>().data() + (group * p.total + j) * p.head;
        double score = 0;
        for (int64_t k = 0; k < p.head; ++k) score += query[k] * key[k];
        score *= scale;
        show(0, j, score);
        if (softcap > 0) score = softcap * std::tanh(score / softcap);
        show(1, j, score);
        // A masked key is skipped, because its score may be any number.
        const double added = bias.at(b, h, i, j);
        if (added != AttentionBias::masked) all_masked = false;
        score = added == AttentionBias::masked ? added : score + added;
        show(2, j, score);
        if (op.softmax_precision) score = rounded(score, static_cast<DataType>(*op.softmax_precision));
        scores[static_cast<size_t>(j)] = score;
        if (!std::isnan(greatest) && !(score < greatest)) greatest = score;  // NaN stays
      }
      double weight = 0;
      for (double& s : scores) {
        s = all_masked ? 0 : std::exp(s - greatest);
        weight += s;
        poll.did(1);
      }
      std::fill(sum.begin(), sum.end(), 0.0);
      for (int64_t j = 0; j < p.total; ++j) {
        poll.did(p.v_head + 1);
        const double probability = all_masked ? 0 : scores[static_cast<size_t>(j)] / weight;
        show(3, j, probability);
        const double* value = values.as<double>().data() + (group * p.total + j) * p.v_head;
        for (int64_t k = 0; k < p.v_head && probability != 0; ++k)
          sum[static_cast<size_t>(k)] += probability * value[k];
      }
      const int64_t to = p.row(b, h, i, p.q_heads, p.q_seq, p.v_head);
      for (int64_t k = 0; k < p.v_head; ++k) store_double(y, to + k, sum[static_cast<size_t>(k)]);
    }
  });
}

void rotary_embedding(const RotaryEmbedding& op, KernelContext& c) {
  const Tensor x = in_double(c.in(0), c), cosines = in_double(c.in(1), c), sines = in_double(c.in(2), c);
  Tensor& y = c.out(0);
  const bool heads_last = x.rank() == 3;
  const int64_t heads = heads_last ? op.num_heads : x.dim(1), seq = x.dim(heads_last ? 1 : 2);
  const int64_t head = heads_last ? x.dim(2) / heads : x.dim(3);
  const int64_t rotated = op.rotary_embedding_dim > 0 ? op.rotary_embedding_dim : head, half = rotated / 2;
  const std::pmr::vector<int64_t> ids = c.has(3) ? integers_of(c.in(3), c) : std::pmr::vector<int64_t>();
  const int64_t positions = c.in(1).dim(0);
  for (int64_t id : ids)
    if (id < 0 || id >= positions)
      c.fail(Code::run_bad_index, "position_ids in [0, " + std::to_string(positions) + ")",
             std::to_string(id));
  if (head == 0) return;
  Poller poll(c);
  for (int64_t row = 0; row < x.size() / head; ++row) {
    poll.did(head - rotated + 1);
    const int64_t batch = row / (heads * seq), step = heads_last ? row / heads % seq : row % seq;
    const int64_t angle =
        (c.has(3) ? ids[static_cast<size_t>(batch * seq + step)] : batch * seq + step) * half;
    const double* from = x.as<double>().data() + row * head;
    for (int64_t k = 0; k < half; ++k) {
      poll.did(2);
      const int64_t first = op.interleaved ? 2 * k : k, second = op.interleaved ? 2 * k + 1 : k + half;
      const double cosine = cosines.as<double>()[static_cast<size_t>(angle + k)];
      const double sine = sines.as<double>()[static_cast<size_t>(angle + k)];
      store_double(y, row * head + first, cosine * from[first] - sine * from[second]);
      store_double(y, row * head + second, sine * from[first] + cosine * from[second]);
    }
    for (int64_t k = rotated; k < head; ++k) store_double(y, row * head + k, from[k]);
  }
}

}  // namespace

void reference_attention(KernelCatalog& k) {
  k.reference<Attention>("Attention", attention);
  k.reference<RotaryEmbedding>("RotaryEmbedding", rotary_embedding);
}

}  // namespace lathe
