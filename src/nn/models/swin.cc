// Swin with its heads. Layers first: attention within windows, which every second one shifts, and the merging
// of four patches into one.
#include "nn/models/swin.h"

#include <algorithm>
#include <cmath>

#include "nn/access.h"
#include "nn/convert.h"
#include "nn/sizes.h"
#include "nn/unsupported_config.h"

namespace lathe::nn {
namespace {

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t size_of(const SwinOptions& o, size_t stage) { return o.size << stage; }

}  // namespace

SwinLayer::SwinLayer(const SwinOptions& o, size_t stage, SwinGrid grid, bool shifted)
    : grid_(grid),
      size_(size_of(o, stage)),
      heads_(o.heads[stage]),
      window_(o.window),
      activation_(o.activation) {
  // A window that holds all patches of a side is not shifted.
  const int64_t smallest = std::min(grid.height, grid.width);
  if (smallest <= window_)
    window_ = smallest;
  else if (shifted)
    shift_ = window_ / 2;
  padded_ = {rounded_up(grid.height, window_), rounded_up(grid.width, window_)};
  const int64_t inner = static_cast<int64_t>(o.mlp_ratio * static_cast<double>(size_));
  for (LayerNorm* n : {&before, &after}) *n = LayerNorm(size_, {.epsilon = o.epsilon});
  for (Linear* l : {&query, &key, &value}) *l = Linear(size_, size_, {.bias = o.qkv_bias});
  const int64_t offsets = 2 * window_ - 1;
  bias_table = Parameter(DataType::float32, {offsets * offsets, heads_});
  attention_dense = Linear(size_, size_);
  intermediate_dense = Linear(size_, inner);
  output_dense = Linear(inner, size_);
}

std::vector<std::pair<std::string, std::string>> swin_other_parts() {
  return {{"attention.self.query", "attention.q_proj"},
          {"attention.self.key", "attention.k_proj"},
          {"attention.self.value", "attention.v_proj"},
          {"attention.self.relative_position_bias_table",
           "attention.relative_position_bias.relative_position_bias_table"},
          {"attention.output.dense", "attention.o_proj"},
          {"intermediate.dense", "mlp.fc1"},
          {"output.dense", "mlp.fc2"}};
}

void SwinLayer::fields(Fields& f) {
  f("layernorm_before", before), f("attention.self.relative_position_bias_table", bias_table);
  f("attention.self.query", query), f("attention.self.key", key), f("attention.self.value", value);
  f("attention.output.dense", attention_dense), f("layernorm_after", after);
  f("intermediate.dense", intermediate_dense), f("output.dense", output_dense);
}

TensorRef SwinLayer::operator()(const TensorRef& x) const {
  const Ops o(*this, x);
  TensorRef y = o.reshape(before(x), {0, grid_.height, grid_.width, size_});
  const int64_t below = padded_.height - grid_.height, right = padded_.width - grid_.width;
  if (below || right) y = o.op("Pad", {y, o.ints({0, 0, 0, 0, 0, below, right, 0})});
  y = rolled(o, y, shift_);

  const int64_t down = padded_.height / window_, across = padded_.width / window_;
  y = o.transpose(o.reshape(y, {-1, down, window_, across, window_, size_}), {0, 1, 3, 2, 4, 5});
  y = attended(o, o.reshape(y, {-1, window_ * window_, size_}));
  y = o.transpose(o.reshape(y, {-1, down, across, window_, window_, size_}), {0, 1, 3, 2, 4, 5});
  y = rolled(o, o.reshape(y, {-1, padded_.height, padded_.width, size_}), -shift_);
  if (below) y = o.slice(y, 1, 0, grid_.height);
  if (right) y = o.slice(y, 2, 0, grid_.width);

  const TensorRef sum = o.add(x, o.reshape(y, {-1, grid_.height * grid_.width, size_}));
  return o.add(sum, output_dense(activate(o, activation_, intermediate_dense(after(sum)))));
}

TensorRef SwinLayer::attended(const Ops& o, const TensorRef& windows) const {
  const TensorRef q = split_heads(o, query(windows), heads_), k = split_heads(o, key(windows), heads_),
                  v = split_heads(o, value(windows), heads_);
  if (shift_ == 0) return attention_dense(merge_heads(o, attend(o, q, k, v, {.mask = position_bias(o)})));
  // Masks differ from window to window, and windows are part of the batch: a reshape separates them for the
  // sum.
  const double scale = 1 / std::sqrt(static_cast<double>(size_ / heads_));
  const int64_t count = padded_.height * padded_.width / (window_ * window_), n = window_ * window_;
  TensorRef scores = o.add(o.mul(o.matmul(q, o.transpose(k, {0, 1, 3, 2})), scale), position_bias(o));
  scores = o.add(o.reshape(scores, {-1, count, heads_, n, n}),
                 o.constant(converted(shift_mask(), scores.element_type())));
  const TensorRef weights = o.softmax(o.reshape(scores, {-1, heads_, n, n}));
  return attention_dense(merge_heads(o, o.matmul(weights, v)));
}

/// [1, heads, window², window²]: a row of the table for every offset between two patches.
TensorRef SwinLayer::position_bias(const Ops& o) const {
  const int64_t n = window_ * window_;
  Tensor rows(DataType::int64, {n, n});
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = 0; b < n; ++b)
      rows.as<int64_t>()[static_cast<size_t>(a * n + b)] =
          (a / window_ - b / window_ + window_ - 1) * (2 * window_ - 1) + a % window_ - b % window_ +
          window_ - 1;
  const TensorRef bias = o.gather(o.use(bias_table), o.constant(rows));  // [n, n, heads]
  return o.unsqueeze(o.transpose(bias, {2, 0, 1}), {0});
}

/// [windows, 1, window², window²]: -100 between patches that only the shift made neighbors.
Tensor SwinLayer::shift_mask() const {
  // The part of a row or column: before the last window, in it, or moved there from the other end.
  auto part = [&](int64_t at, int64_t length) {
    return at < length - window_ ? int64_t{0} : at < length - shift_ ? int64_t{1} : int64_t{2};
  };
  const int64_t across = padded_.width / window_, count = padded_.height / window_ * across,
                n = window_ * window_;
  auto region = [&](int64_t w, int64_t i) {
    return part(w / across * window_ + i / window_, padded_.height) * 3 +
           part(w % across * window_ + i % window_, padded_.width);
  };
  Tensor mask(DataType::float32, {count, 1, n, n});
  for (int64_t w = 0; w < count; ++w)
    for (int64_t a = 0; a < n; ++a)
      for (int64_t b = 0; b < n; ++b)
        mask.as<float>()[static_cast<size_t>((w * n + a) * n + b)] =
            region(w, a) == region(w, b) ? 0.0f : -100.0f;
  return mask;
}

TensorRef SwinLayer::rolled(const Ops& o, const TensorRef& x, int64_t by) const {
  if (by == 0) return x;
  TensorRef y = x;
  for (const auto& [axis, length] : {std::pair{1, padded_.height}, {2, padded_.width}}) {
    const int64_t from = by > 0 ? by : length + by;
    y = o.concat({o.slice(y, axis, from, length), o.slice(y, axis, 0, from)}, axis);
  }
  return y;
}

SwinStage::SwinStage(const SwinOptions& o, size_t stage, SwinGrid grid, bool merges)
    : blocks(o.depths[stage], [&](int64_t i) { return SwinLayer(o, stage, grid, i % 2 == 1); }),
      grid_(grid),
      size_(size_of(o, stage)) {
  if (!merges) return;
  norm.emplace(4 * size_);
  reduction.emplace(4 * size_, 2 * size_, LinearOptions{.bias = false});
}

void SwinStage::fields(Fields& f) {
  f("blocks", blocks), f("downsample.norm", norm), f("downsample.reduction", reduction);
}

TensorRef SwinStage::operator()(TensorRef x) const {
  for (const SwinLayer& block : blocks) x = block(x);
  return reduction ? merged(Ops(*this, x), x) : x;
}

TensorRef SwinStage::merged(const Ops& o, const TensorRef& x) const {
  const int64_t height = rounded_up(grid_.height, 2), width = rounded_up(grid_.width, 2);
  TensorRef y = o.reshape(x, {0, grid_.height, grid_.width, size_});
  if (height != grid_.height || width != grid_.width)
    y = o.op("Pad", {y, o.ints({0, 0, 0, 0, 0, height - grid_.height, width - grid_.width, 0})});
  // The order is columns before rows: first the two of the left column, then those of the right.
  y = o.reshape(y, {-1, height / 2, 2, width / 2, 2, size_});
  y = o.reshape(o.transpose(y, {0, 1, 3, 4, 2, 5}), {-1, height / 2 * (width / 2), 4 * size_});
  return (*reduction)((*norm)(y));
}

SwinOptions::SwinOptions(const ModelConfig& c)
    : image(height_and_width(c, "image_size", 224)),
      patch(height_and_width(c, "patch_size", 4)),
      channels(c.get<int64_t>("num_channels", 3)),
      size(c.get<int64_t>("embed_dim", 96)),
      window(c.get<int64_t>("window_size", 7)),
      depths(c.get<std::vector<int64_t>>("depths", {2, 2, 6, 2})),
      heads(c.get<std::vector<int64_t>>("num_heads", {3, 6, 12, 24})),
      mlp_ratio(c.get<double>("mlp_ratio", 4)),
      epsilon(c.get<double>("layer_norm_eps", 1e-5)),
      activation(activation_in(c, "hidden_act", "gelu")),
      qkv_bias(c.get<bool>("qkv_bias", true)) {
  const auto refuse = [](std::string expected, std::string got) {
    throw detail::fault(Code::bad_argument, "swin", std::move(expected), std::move(got));
  };
  if (depths.empty() || heads.size() != depths.size())
    refuse("as many num_heads as depths",
           std::to_string(heads.size()) + " and " + std::to_string(depths.size()));
  if (c.get<bool>("use_absolute_embeddings", false))
    throw unsupported_config(
        "swin", "positions as biases of attention alone", "use_absolute_embeddings", "true",
        "transformers runs no such checkpoint either: its embeddings are of one position more than "
        "there are patches");
  if (window < 1 || patch[0] < 1 || patch[1] < 1) refuse("a window and patches of at least 1", "less");
  // Weights do not bound the size of the image, and masks between windows are constants.
  const int64_t rows = (image[0] + patch[0] - 1) / patch[0], columns = (image[1] + patch[1] - 1) / patch[1];
  const int64_t side = std::min(window, std::min(rows, columns));
  constexpr int64_t most = int64_t{1} << 28;
  if (rows * columns > most / (side * side))
    refuse("an 'image_size' of which " + std::to_string(most / (side * side)) +
               " patches are made in windows of " + std::to_string(side),
           std::to_string(rows * columns) + " patches");
}

SwinBody::SwinBody(const SwinOptions& o, bool norm)
    : projection(o.channels, o.size, {o.patch[0], o.patch[1]}, {.stride = {o.patch[0], o.patch[1]}}),
      embedding_norm(o.size),
      image_(o.image),
      patch_(o.patch) {
  SwinGrid grid{(image_[0] + patch_[0] - 1) / patch_[0], (image_[1] + patch_[1] - 1) / patch_[1]};
  for (size_t i = 0; i < o.depths.size(); ++i) {
    const bool last = i + 1 == o.depths.size();
    layers.push_back(SwinStage(o, i, grid, !last));
    if (!last) grid = {(grid.height + 1) / 2, (grid.width + 1) / 2};
  }
  if (norm) layernorm.emplace(o.features(), LayerNormOptions{.epsilon = o.epsilon});
}

void SwinBody::fields(Fields& f) {
  f("embeddings.patch_embeddings.projection", projection), f("embeddings.norm", embedding_norm);
  f("encoder.layers", layers), f("layernorm", layernorm);
}

TensorRef SwinBody::operator()(const TensorRef& image) const {
  const Ops o(*this, image);
  TensorRef x = image;
  const int64_t below = (patch_[0] - image_[0] % patch_[0]) % patch_[0],
                right = (patch_[1] - image_[1] % patch_[1]) % patch_[1];
  if (below || right) x = o.op("Pad", {x, o.ints({0, 0, 0, 0, 0, 0, below, right})});
  const int64_t patches = ((image_[0] + below) / patch_[0]) * ((image_[1] + right) / patch_[1]);
  x = o.reshape(projection(x), {0, 0, patches});
  x = embedding_norm(o.transpose(x, {0, 2, 1}));
  for (const SwinStage& stage : layers) x = stage(x);
  return layernorm ? (*layernorm)(x) : x;
}

namespace {

class SwinModel : public Model {
 public:
  SwinModel(const ModelConfig& config, std::string_view task)
      : SwinModel(SwinOptions(config), config, task) {}
  void fields(Fields& f) override { f("swin", body), f("classifier", classifier), f("decoder.0", decoder); }
  std::string base_prefix() const override { return "swin."; }
  std::vector<std::pair<std::string, std::string>> other_parts() const override { return swin_other_parts(); }

  Outputs forward(Network&, const Inputs& inputs) const override {
    const TensorRef x = body(inputs.at("pixel_values"));
    const Ops o(*this, x);
    if (classifier) return {{"logits", (*classifier)(o.mean(x, {1}, false))}};
    if (!decoder) return {{"last_hidden_state", x}};
    const TensorRef image = o.reshape(o.transpose(x, {0, 2, 1}), {0, 0, rows_, columns_});
    return {{"reconstruction", o.op("DepthToSpace", {(*decoder)(image)},
                                    {{"blocksize", stride_}, {"mode", std::string("CRD")}})}};
  }

  SwinBody body;
  std::optional<Linear> classifier;
  std::optional<Conv2d> decoder;

 private:
  SwinModel(const SwinOptions& o, const ModelConfig& config, std::string_view task)
      : body(o, true), stride_(config.get<int64_t>("encoder_stride", 32)) {
    if (task == "image-classification") classifier.emplace(o.features(), label_count(config));
    if (task != "masked-im") return;
    decoder.emplace(o.features(), stride_ * stride_ * o.channels, std::vector<int64_t>{1});
    rows_ = (o.image[0] + o.patch[0] - 1) / o.patch[0], columns_ = (o.image[1] + o.patch[1] - 1) / o.patch[1];
    for (size_t i = 1; i < o.depths.size(); ++i) rows_ = (rows_ + 1) / 2, columns_ = (columns_ + 1) / 2;
    require_square("swin", rows_, columns_);
  }
  int64_t stride_, rows_ = 0, columns_ = 0;
};

}  // namespace

void register_swin(ModelRegistry& all) {
  all.add("swin", {"feature-extraction", "image-classification", "masked-im"},
          [](const ModelConfig& config, std::string_view task) {
            return std::make_unique<SwinModel>(config, task);
          });
}

}  // namespace lathe::nn
