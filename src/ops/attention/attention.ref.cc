#include "ops/attention/attention.h"

#include <cmath>

#include "ops/movement.h"

namespace lathe {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// A 4-D view of an input of rank 3 or 4, read as double.
class HeadView {
 public:
  HeadView(const Tensor& t, int64_t heads) : rank_(t.rank()), elements_(static_cast<size_t>(t.size())) {
    batch = t.dim(0);
    if (rank_ == 4)
      this->heads = t.dim(1), length = t.dim(2), size = t.dim(3);
    else
      this->heads = heads, length = t.dim(1), size = t.dim(2) / heads;
    for (size_t i = 0; i < elements_.size(); ++i) elements_[i] = load_double(t, static_cast<int64_t>(i));
  }
  const double* row(int64_t b, int64_t h, int64_t l) const {
    const int64_t at =
        rank_ == 4 ? ((b * heads + h) * length + l) * size : (b * length + l) * heads * size + h * size;
    return elements_.data() + at;
  }
  int64_t batch = 0, heads = 0, length = 0, size = 0;

 private:
  size_t rank_;
  std::vector<double> elements_;
};

/// What the element type makes of a number: intermediate results are kept in it, as the specification's body
/// does.
using Rounding = double (*)(double);
Rounding rounding_of(DataType t) {
  switch (t) {
    case DataType::float64:
      return [](double v) { return v; };
    case DataType::float16:
      return [](double v) { return static_cast<double>(to_float(to_float16(static_cast<float>(v)))); };
    case DataType::bfloat16:
      return [](double v) { return static_cast<double>(to_float(to_bfloat16(static_cast<float>(v)))); };
    default:
      return [](double v) { return static_cast<double>(static_cast<float>(v)); };
  }
}

/// Appends the new keys (or values) to the past ones: [batch, heads, past + length, size].
Tensor append_cache(const Tensor* past, const Tensor& now, int64_t heads) {
  const HeadView view(now, heads);
  const int64_t before = past ? past->dim(2) : 0;
  if (past && (past->dim(0) != view.batch || past->dim(1) != view.heads || past->dim(3) != view.size))
    throw Error(Code::run_bad_shape, "run", "a cache that fits the new keys and values", describe(*past));
  Tensor all(now.type(), {view.batch, view.heads, before + view.length, view.size});
  int64_t at = 0;
  for (int64_t b = 0; b < view.batch; ++b)
    for (int64_t h = 0; h < view.heads; ++h) {
      for (int64_t i = 0; i < before * view.size; ++i)
        store_double(all, at++, load_double(*past, (b * view.heads + h) * before * view.size + i));
      for (int64_t l = 0; l < view.length; ++l)
        for (int64_t i = 0; i < view.size; ++i) store_double(all, at++, view.row(b, h, l)[i]);
    }
  return all;
}

/// attn_mask, broadcast to [batch, heads, queries, keys]; keys beyond its end are masked.
class Mask {
 public:
  Mask(const Tensor* t, const KernelContext& c, int64_t batch, int64_t heads, int64_t queries, int64_t keys)
      : t_(t) {
    if (!t) return;
    const int64_t whole[4] = {batch, heads, queries, keys};
    if (t->rank() > 4) c.fail(Code::run_bad_shape, "attn_mask of rank at most 4", describe(*t));
    const size_t skip = 4 - t->rank();
    int64_t stride = 1;
    for (size_t a = 4; a-- > skip;) {
      const int64_t d = t->dim(a - skip);
      const bool fits = d == 1 || d == whole[a] || (a == 3 && d < whole[a]);
      if (!fits) c.fail(Code::run_bad_shape, "attn_mask that broadcasts to the scores", describe(*t));
      strides_[a] = d == 1 && !(a == 3 && whole[3] != 1) ? 0 : stride;
      stride *= d;
    }
    given_keys_ = t->rank() ? t->dim(t->rank() - 1) : 1;
    if (given_keys_ == 1 && keys > 1) given_keys_ = t->rank() ? 1 : keys;
  }
  double bias(int64_t b, int64_t h, int64_t q, int64_t k) const {
    if (!t_) return 0;
    if (k >= given_keys_) return minus_infinity;
    const int64_t at = b * strides_[0] + h * strides_[1] + q * strides_[2] + k * strides_[3];
    if (t_->type() == DataType::boolean) return t_->as<bool>()[static_cast<size_t>(at)] ? 0 : minus_infinity;
    return load_double(*t_, at);
  }

 private:
  const Tensor* t_;
  int64_t strides_[4] = {};
  int64_t given_keys_ = 0;
};

/// Turns scores into probabilities in place; a row without any key becomes zeros.
void softmax_row(std::vector<double>& row, bool masked, Rounding round) {
  double largest = minus_infinity, total = 0;
  for (double v : row) largest = std::max(largest, v);
  if (masked || largest == minus_infinity) return std::fill(row.begin(), row.end(), 0.0);
  for (double& v : row) total += v = round(std::exp(round(v - largest)));
  total = round(total);
  for (double& v : row) v = round(v / total);
}

void attention(const Attention& op, KernelContext& c) {
  const Tensor& q_input = c.in(0);
  const Tensor* past_key = c.has(4) ? &c.in(4) : nullptr;
  const Tensor* past_value = c.has(5) ? &c.in(5) : nullptr;
  const Tensor* valid = c.has(6) ? &c.in(6) : nullptr;
  const int64_t kv_heads = op.kv_num_heads.value_or(0);
  const Tensor keys = append_cache(past_key, c.in(1), kv_heads),
               values = append_cache(past_value, c.in(2), kv_heads);
  const HeadView q(q_input, op.q_num_heads.value_or(0)), k(keys, 0), v(values, 0);
  if (k.heads == 0 || q.heads % k.heads != 0)
    c.fail(Code::run_bad_shape, "q heads that are a multiple of kv heads",
           std::to_string(q.heads) + " and " + std::to_string(k.heads));
  if (valid && valid->size() != q.batch)
    c.fail(Code::run_bad_shape, "nonpad_kv_seqlen of one number per batch", describe(*valid));
  const int64_t group = q.heads / k.heads;
  const Mask mask(c.has(3) ? &c.in(3) : nullptr, c, q.batch, q.heads, q.length, k.length);
  const Rounding round = rounding_of(q_input.type());
  const Rounding soft =
      op.softmax_precision ? rounding_of(static_cast<DataType>(*op.softmax_precision)) : round;
  // Both factors carry the root of the scale, which keeps the products of narrow types in range.
  const double scale = round(
      std::sqrt(op.scale ? static_cast<double>(*op.scale) : 1 / std::sqrt(static_cast<double>(q.size))));

  Tensor& y = c.out(0);
  if (c.wants(1)) copy_elements(keys, c.out(1), c);
  if (c.wants(2)) copy_elements(values, c.out(2), c);
  Tensor* products = c.wants(3) ? &c.out(3) : nullptr;

  c.parallel(q.batch * q.heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> scores(static_cast<size_t>(k.length));
    for (int64_t bh = begin; bh < end; ++bh) {
      const int64_t b = bh / q.heads, h = bh % q.heads, shared = h / group;
      const int64_t nonpad = valid ? valid->as<int64_t>()[static_cast<size_t>(b)] : k.length;
      const int64_t offset = past_key ? past_key->dim(2) : valid ? nonpad - q.length : 0;
      for (int64_t i = 0; i < q.length; ++i) {
        c.poll();
        auto emit = [&](int64_t mode) {
          if (!products || op.qk_matmul_output_mode != mode) return;
          for (int64_t j = 0; j < k.length; ++j)
            store_double(*products, (bh * q.length + i) * k.length + j, scores[static_cast<size_t>(j)]);
        };
        const double* query = q.row(b, h, i);
        for (int64_t j = 0; j < k.length; ++j) {
          const double* key = k.row(b, shared, j);
          double sum = 0;
          for (int64_t d = 0; d < q.size; ++d) sum += round(query[d] * scale) * round(key[d] * scale);
          scores[static_cast<size_t>(j)] = round(sum);
        }
        emit(0);
        const auto cap = static_cast<double>(op.softcap);
        if (cap > 0)
          for (double& s : scores) s = round(std::tanh(s / cap) * cap);
        emit(1);
        bool masked = true;
        for (int64_t j = 0; j < k.length; ++j) {
          double bias = mask.bias(b, h, i, j);
          const int64_t ahead = j - (i + offset);
          const bool hidden = (op.is_causal && ahead > 0) ||
                              (op.left_window_size >= 0 && -ahead > op.left_window_size) ||
                              (op.right_window_size >= 0 && ahead > op.right_window_size) || j >= nonpad;
          if (hidden) bias = minus_infinity;
          masked &= bias == minus_infinity;
          double& s = scores[static_cast<size_t>(j)];
          s = bias == minus_infinity ? minus_infinity : round(s + bias);
        }
        emit(2);
        softmax_row(scores, masked, soft);
        emit(3);
        for (int64_t d = 0; d < v.size; ++d) {
          double sum = 0;
          for (int64_t j = 0; j < k.length; ++j)
            sum += round(scores[static_cast<size_t>(j)]) * v.row(b, shared, j)[d];
          const int64_t at = q_input.rank() == 3 ? (b * q.length + i) * q.heads * v.size + h * v.size + d
                                                 : (bh * q.length + i) * v.size + d;
          store_double(y, at, sum);
        }
      }
    }
  });
}

void rotary_embedding(const RotaryEmbedding& op, KernelContext& c) {
  const Tensor &x = c.in(0), &cosines = c.in(1), &sines = c.in(2);
  Tensor& y = c.out(0);
  const Tensor* positions = c.has(3) ? &c.in(3) : nullptr;
  const bool flat = x.rank() == 3;
  const int64_t batch = x.dim(0), heads = flat ? op.num_heads : x.dim(1), length = flat ? x.dim(1) : x.dim(2);
  const int64_t size = flat ? x.dim(2) / heads : x.dim(3);
  const int64_t rotated = op.rotary_embedding_dim ? op.rotary_embedding_dim : size, half = rotated / 2;
  if (rotated > size || rotated < 0 || (flat && x.dim(2) % heads != 0))
    c.fail(Code::run_bad_value, "rotary_embedding_dim within the head size " + std::to_string(size),
           std::to_string(rotated));
  if (!(cosines.shape() == sines.shape()) || cosines.dim(cosines.rank() - 1) != half)
    c.fail(Code::run_bad_shape, "caches whose last axis is " + std::to_string(half), describe(cosines));
  const Shape per_token{batch, length};
  if (positions && !(positions->shape() == per_token))
    c.fail(Code::run_bad_shape, "position_ids of shape " + describe(per_token), describe(*positions));
  if (!positions && (cosines.dim(0) != batch || cosines.dim(1) != length))
    c.fail(Code::run_bad_shape, "caches of shape [batch, length, " + std::to_string(half) + "]",
           describe(cosines));
  copy_elements(x, y, c);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t l = 0; l < length; ++l) {
      c.poll();
      int64_t row = b * length + l;
      if (positions)
        row = checked_index(c, positions->as<int64_t>()[static_cast<size_t>(row)], cosines.dim(0));
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t at =
            flat ? ((b * length + l) * heads + h) * size : ((b * heads + h) * length + l) * size;
        for (int64_t i = 0; i < half; ++i) {
          const int64_t first = at + (op.interleaved ? 2 * i : i),
                        second = at + (op.interleaved ? 2 * i + 1 : i + half);
          const double u = load_double(x, first), v = load_double(x, second);
          const double cosine = load_double(cosines, row * half + i),
                       sine = load_double(sines, row * half + i);
          store_double(y, first, cosine * u - sine * v);
          store_double(y, second, sine * u + cosine * v);
        }
      }
    }
}

}  // namespace

void reference_attention(KernelCatalog& k) {
  k.reference<Attention>("Attention", attention);
  k.reference<RotaryEmbedding>("RotaryEmbedding", rotary_embedding);
}

}  // namespace lathe
