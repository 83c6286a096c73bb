#include "shape_options.h"

#include "command.h"

namespace lathe::cli {

void add_shapes(CLI::App* sub, exporters::DummyShapes& s) {
  const auto add = [&](const char* name, int64_t& size, const char* what) {
    sub->add_option(name, size, what)
        ->capture_default_str()
        ->check(positive)
        ->group("Sizes of synthetic inputs");
  };
  add("--batch-size", s.batch_size, "Items of a batch");
  add("--sequence-length", s.sequence_length, "Tokens of a text");
  add("--num-choices", s.num_choices, "Choices, for multiple-choice");
  add("--width", s.width, "Of an image whose size the configuration does not say");
  add("--height", s.height, "Of such an image");
  add("--num-channels", s.num_channels, "Of such an image");
  add("--feature-size", s.feature_size, "Features of a sound");
  add("--nb-max-frames", s.nb_max_frames, "Frames of a sound as features");
  add("--audio-sequence-length", s.audio_sequence_length, "Samples of a sound as a wave");
  add("--point-batch-size", s.point_batch_size, "Masks for every point");
  add("--nb-points-per-image", s.nb_points_per_image, "Points of an image");
  add("--visual-seq-length", s.visual_seq_length, "Regions of an image");
}

}  // namespace lathe::cli
