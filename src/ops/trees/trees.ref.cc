#include <algorithm>

#include "ops/compute.h"
#include "ops/trees/tree_model.h"

namespace lathe {
namespace {

template <class Op>
TreeModel read(const Op& op, KernelContext& c) {
  Poller poll(c);
  try {
    return read_trees(op, {c.scratch(), [&](int64_t elements) { poll.did(elements); }});
  } catch (const BadTrees& e) {
    bad_attribute(c, e.expected, e.got);
  }
}

template <class Op>
void run(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const int64_t features = x.dim(x.rank() - 1), rows = x.rank() == 1 ? 1 : x.dim(0);
  const TreeModel model = read(op, c);
  const Forest& forest = model.forest;
  check_features(forest, features, c);
  if (rows == 0) return;
  // More targets than fit memory are refused here, by a file's attribute.
  checked_count(Shape{rows, static_cast<int64_t>(model.targets)}, DataType::float64, "scores");
  std::pmr::vector<double> sums(model.targets, c.scratch());
  std::pmr::vector<char> voted(Votes::notes_voted(model.how) ? model.targets : 0, c.scratch());
  Votes votes(model.how, sums, voted);
  Poller poll(c);
  for (int64_t row = 0; row < rows; ++row) {
    votes.clear();
    for (size_t root : forest.roots) {
      const Forest::Branch* leaf = forest.leaf(
          root, [&](int64_t feature) { return load_double(x, row * features + feature); }, poll);
      if (!leaf) bad_attribute(c, "branches that end in leaves", "a circle");
      for (size_t i = leaf->first_leaf; i < leaf->end_leaf; ++i)
        votes.add(forest.votes[i].target, forest.votes[i].weight);
      poll.did(8);
    }
    votes.finish(forest.roots.size());
    model.finish(c, row, votes.scores());
    poll.did(static_cast<int64_t>(4 * model.targets));
  }
}

}  // namespace

void reference_trees(KernelCatalog& k) {
  k.reference<TreeEnsemble>("TreeEnsemble", run, "ai.onnx.ml");
  k.reference<TreeEnsembleRegressor>("TreeEnsembleRegressor", run, "ai.onnx.ml");
  k.reference<TreeEnsembleClassifier>("TreeEnsembleClassifier", run, "ai.onnx.ml");
}

}  // namespace lathe
