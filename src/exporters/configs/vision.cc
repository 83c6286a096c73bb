// Images: vit, deit, swin, resnet.
#include "lathe/exporters/configs.h"
#include "lathe/exporters/tasks_manager.h"

namespace lathe::exporters {
namespace {

const Axes image = {{0, "batch_size"}, {1, "num_channels"}, {2, "height"}, {3, "width"}};

class ViTOnnxConfig : public VisionOnnxConfig {
 public:
  using VisionOnnxConfig::VisionOnnxConfig;
  NamedAxes inputs() const override { return {{"pixel_values", image}}; }
  NamedAxes outputs() const override {
    if (task() == "feature-extraction") return {{"last_hidden_state", {{0, "batch_size"}}}};
    return VisionOnnxConfig::outputs();
  }
};

}  // namespace

void register_configs_vision(TasksManager& tasks) {
  for (const char* type : {"vit", "deit", "swin"})
    tasks.register_config<ViTOnnxConfig>(type, {"feature-extraction", "image-classification", "masked-im"});
  tasks.register_config<ViTOnnxConfig>("resnet", {"feature-extraction", "image-classification"});
  tasks.register_config<ViTOnnxConfig>("donut-swin", {"feature-extraction"});
}

}  // namespace lathe::exporters
