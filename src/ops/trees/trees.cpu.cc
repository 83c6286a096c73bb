// Trees that are read when the engine is built, or its plan opened, and walked several at a time. Sums are in
// double, tree after tree, as those of the reference.
#include "cpu/support.h"
#include "cpu/tasks.h"
#include "ops/trees/fast_forest.h"
#include "ops/trees/tree_model.h"

namespace lathe {
namespace {

/// An operator with its trees, read once.
template <class Op>
struct Prepared : Op {
  explicit Prepared(Op given) : Op(std::move(given)) {
    try {
      model.emplace(
          read_trees(static_cast<const Op&>(*this), {std::pmr::new_delete_resource(), [](int64_t) {}}));
      forest.emplace(model->forest);
      refusal = forest->refusal();
      // Only their votes are needed.
      model->forest.branches.clear();
      model->forest.branches.shrink_to_fit();
    } catch (const BadTrees& e) {
      refusal = "attributes that do not fit: " + e.expected + ", not " + e.got;  // the reference says so
    }
  }
  Prepared(const Prepared&) = delete;  // the labels are the operator's
  std::optional<TreeModel> model;
  std::optional<FastForest> forest;
  std::string refusal;
};

/// The number of rows that are computed together: their features and sums stay in the first-level cache.
int64_t rows_together(int64_t features, size_t targets) {
  constexpr int64_t numbers = 4096;
  return std::clamp<int64_t>(numbers / std::max<int64_t>(1, features + static_cast<int64_t>(targets)),
                             FastForest::lanes, 64);
}

/// The tasks of a run, and the sizes of each task's memory: features and sums in double, and flags of votes.
struct Cut {
  Cut(const TreeModel& m, const Shape& x)
      : features(x.back()),
        rows(x.size() == 1 ? 1 : x[0]),
        together(std::min(rows, rows_together(features, m.targets))),
        tasks(together > 0 ? (rows + together - 1) / together : 0),
        targets(static_cast<int64_t>(m.targets)),
        voted(Votes::notes_voted(m.how) ? targets * together : 0) {
    checked_count(Shape{rows, targets}, DataType::float64, "scores");
  }
  int64_t slot() const { return 2 * together * (std::max<int64_t>(1, features) + targets) + (voted + 3) / 4; }
  size_t bytes(int threads) const {
    return static_cast<size_t>(cpu::task_slots(tasks, threads) * cpu::slot_stride(slot(), threads)) *
           sizeof(float);
  }
  int64_t features, rows, together, tasks, targets, voted;
};

template <class Op>
Support supports(const void* decoded, const KernelQuery&) {
  const auto& op = *static_cast<const Prepared<Op>*>(decoded);
  return op.refusal.empty() ? Support::yes() : Support::no(op.refusal);
}

template <class Op>
size_t workspace(const void* decoded, std::span<const Shape> inputs, int threads) {
  return Cut(*static_cast<const Prepared<Op>*>(decoded)->model, inputs[0]).bytes(threads);
}

/// Adds the votes of the leaves of some rows; rows of sums follow each other.
class Adding {
 public:
  Adding(const TreeModel& m, const FastForest& forest, const Cut& cut, double* sums, char* voted)
      : model_(m),
        forest_(forest),
        cut_(cut),
        single_(forest.is_single() && cut.targets == 1 && cut.voted == 0),
        sums_(sums),
        voted_(voted) {}
  Votes votes(int64_t row) const {
    return {model_.how, std::span(sums_ + row * cut_.targets, static_cast<size_t>(cut_.targets)),
            std::span(voted_ + row * cut_.targets, static_cast<size_t>(cut_.voted > 0 ? cut_.targets : 0))};
  }
  void add(int64_t row, uint32_t leaf) const {
    if (single_) {
      sums_[row] += forest_.value(leaf);
      return;
    }
    const auto [first, end] = forest_.votes(leaf);
    Votes v = votes(row);
    for (uint32_t i = first; i < end; ++i)
      v.add(model_.forest.votes[i].target, model_.forest.votes[i].weight);
  }

 private:
  const TreeModel& model_;
  const FastForest& forest_;
  const Cut& cut_;
  const bool single_;
  double* sums_;
  char* voted_;
};

void load(const Tensor& x, int64_t first, int64_t n, double* to) {
  if (x.type() == DataType::float32)
    std::copy_n(cpu::floats(x) + first, n, to);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = load_double(x, first + i);
}

template <class Op>
void run(const void* decoded, KernelContext& c) {
  const auto& op = *static_cast<const Prepared<Op>*>(decoded);
  const TreeModel& model = *op.model;
  const FastForest& forest = *op.forest;
  const Tensor& x = c.in(0);
  const Cut cut(model, x.shape());
  check_features(model.forest, cut.features, c);
  auto* const scratch = static_cast<float*>(c.workspace(cut.bytes(c.threads())));
  const int64_t stride = cpu::slot_stride(cut.slot(), c.threads());
  constexpr int lanes = FastForest::lanes;
  const int64_t width = std::max<int64_t>(1, cut.features);
  cpu::for_each_task(c, cut.tasks, [&](int64_t task, int64_t slot) {
    const int64_t row0 = task * cut.together, rows = std::min(cut.together, cut.rows - row0);
    auto* const given = reinterpret_cast<double*>(scratch + slot * stride);
    double* const sums = given + cut.together * width;
    const Adding adding(model, forest, cut, sums, reinterpret_cast<char*>(sums + cut.together * cut.targets));
    if (cut.features == 0) std::fill_n(given, rows, 0.0);  // leaves read the first
    load(x, row0 * cut.features, rows * cut.features, given);
    for (int64_t i = 0; i < rows; ++i) adding.votes(i).clear();
    uint32_t leaves[lanes];
    const int64_t whole = rows / lanes * lanes;
    for (size_t tree = 0; whole > 0 && tree < forest.trees(); ++tree) {
      if (tree % 64 == 0) c.poll();
      for (int64_t i = 0; i < whole; i += lanes) {
        forest.leaves_of_tree(tree, given + i * width, width, leaves);
        for (int j = 0; j < lanes; ++j) adding.add(i + j, leaves[j]);
      }
    }
    for (int64_t i = whole; i < rows; ++i)
      for (size_t tree = 0; tree < forest.trees(); tree += lanes) {
        if (tree % 512 == 0) c.poll();
        const int n = static_cast<int>(std::min<size_t>(lanes, forest.trees() - tree));
        forest.leaves_of_row(tree, n, given + i * width, leaves);
        for (int j = 0; j < n; ++j) adding.add(i, leaves[j]);
      }
    for (int64_t i = 0; i < rows; ++i) {
      Votes v = adding.votes(i);
      v.finish(forest.trees());
      model.finish(c, row0 + i, v.scores());
    }
  });
}

template <class Op>
void add(KernelCatalog& k, std::string op, std::string_view name) {
  k.add({.op = std::move(op),
         .domain = "ai.onnx.ml",
         .name = cpu::kernel_name(name, Isa::generic),
         .decode = [](const Attributes& a) -> std::shared_ptr<const void> {
           return std::make_shared<const Prepared<Op>>(decode<Op>(a));
         },
         .run = run<Op>,
         .supports = supports<Op>,
         .workspace = workspace<Op>});
}

}  // namespace

void cpu_trees(KernelCatalog& k) {
  add<TreeEnsemble>(k, "TreeEnsemble", "tree_ensemble");
  add<TreeEnsembleRegressor>(k, "TreeEnsembleRegressor", "tree_ensemble_regressor");
  add<TreeEnsembleClassifier>(k, "TreeEnsembleClassifier", "tree_ensemble_classifier");
}

}  // namespace lathe
