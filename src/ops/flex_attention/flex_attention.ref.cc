#include "ops/flex_attention/flex_attention.h"

#include <limits>

#include "ops/compute.h"

namespace lathe {
namespace {

/// Runs a body on `t`; its output must have the same shape and type.
Tensor changed(KernelContext& c, size_t number, Tensor t) {
  KernelBody& body = c.body(number);
  if (body.inputs() != 1 || body.outputs() != 1)
    c.fail(Code::run_bad_value, "a body with one input and one output", std::to_string(body.inputs()));
  const Value in(std::move(t));
  body.run(std::span(&in, 1));
  const Value& out = body.output(0);
  if (!out.is_tensor() || !(out.tensor().shape() == in.tensor().shape()) ||
      out.tensor().type() != in.tensor().type())
    c.fail(Code::run_bad_shape, "a body that gives " + describe(in), describe(out));
  return out.tensor();
}

void softmax_rows(Tensor& t, KernelContext& c) {
  const int64_t n = t.dim(3);
  std::pmr::vector<double> row(static_cast<size_t>(n), c.scratch());
  Poller poll(c);
  for (int64_t first = 0; n > 0 && first < t.size(); first += n) {
    double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double v = row[static_cast<size_t>(i)] = load_double(t, first + i);
      if (v > greatest || std::isnan(v)) greatest = v;
    }
    for (double& v : row) sum += v = std::exp(v - greatest);
    for (int64_t i = 0; i < n; ++i) store_double(t, first + i, row[static_cast<size_t>(i)] / sum);
    poll.did(16 * n);
  }
}

void flex_attention(const FlexAttention& op, KernelContext& c) {
  const Tensor q = in_double(c.in(0), c), k = in_double(c.in(1), c), v = in_double(c.in(2), c);
  const int64_t batch = q.dim(0), heads = q.dim(1), length = q.dim(2), size = q.dim(3), kv_heads = k.dim(1),
                keys = k.dim(2), out_size = v.dim(3), shared = kv_heads > 0 ? heads / kv_heads : 1;
  if (heads > 0 && (kv_heads == 0 || heads % kv_heads != 0))
    c.fail(Code::run_bad_shape, "heads of Q that are a multiple of those of K",
           std::to_string(heads) + " and " + std::to_string(kv_heads));
  const double scale = op.scale ? static_cast<double>(*op.scale) : 1 / std::sqrt(static_cast<double>(size));
  /// The index of the key head of query head `i`; both count the heads of all batches.
  const auto shared_head = [&](int64_t i) { return i / heads * kv_heads + i % heads / shared; };
  Tensor scores = temporary(c, op.precision(c.in(0).type()), {batch, heads, length, keys});
  Poller poll(c);
  for (int64_t head = 0; head < batch * heads; ++head)
    for (int64_t i = 0; i < length; ++i)
      for (int64_t j = 0; j < keys; ++j) {
        const double* x = q.as<double>().data() + (head * length + i) * size;
        const double* y = k.as<double>().data() + (shared_head(head) * keys + j) * size;
        double sum = 0;
        for (int64_t e = 0; e < size; ++e) sum += x[e] * y[e];
        store_double(scores, (head * length + i) * keys + j, sum * scale);
        poll.did(size + 8);
      }
  Tensor weights =
      op.has_score_mod ? changed(c, op.has_prob_mod ? 1 : 0, std::move(scores)).clone() : std::move(scores);
  softmax_rows(weights, c);
  if (op.has_prob_mod) weights = changed(c, 0, std::move(weights));
  Tensor& out = c.out(0);
  for (int64_t head = 0; head < batch * heads; ++head)
    for (int64_t i = 0; i < length; ++i)
      for (int64_t e = 0; e < out_size; ++e) {
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j)
          sum += load_double(weights, (head * length + i) * keys + j) *
                 v.as<double>()[static_cast<size_t>((shared_head(head) * keys + j) * out_size + e)];
        store_double(out, (head * length + i) * out_size + e, sum);
        poll.did(8 * keys + 8);
      }
}

}  // namespace

void reference_flex_attention(KernelCatalog& k) {
  k.reference<FlexAttention>("FlexAttention", flex_attention, "ai.onnx.preview");
}

}  // namespace lathe
