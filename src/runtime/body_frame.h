// A body of If, Loop or Scan: a frame of its own, as the kernel of its step sees it.
#pragma once

#include "runtime/frame.h"

namespace lathe {

class BodyFrame final : public KernelBody {
 public:
  BodyFrame(RunState& state, const PlanBody& body, Frame* parent)
      : frame_(state, body.graph, &body, parent) {}
  size_t inputs() const override { return frame_.graph_.plan->inputs.size(); }
  size_t outputs() const override { return frame_.graph_.plan->outputs.size(); }
  int64_t input_rank(size_t i) const override {
    const PlanGraph& plan = *frame_.graph_.plan;
    const auto& shape = plan.values[plan.inputs[i]].type.shape;
    return shape ? static_cast<int64_t>(shape->size()) : -1;
  }
  void run(std::span<const Value> inputs) override { frame_.run(inputs, {}); }
  const Value& output(size_t i) const override {
    if (i >= outputs())
      throw Error(Code::internal, "run", "an output below " + std::to_string(outputs()), std::to_string(i));
    return frame_.output(i);
  }
  void trim() { frame_.trim(); }

 private:
  Frame frame_;
};

}  // namespace lathe
