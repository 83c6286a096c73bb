#include "exporters/task_names.h"

#include <array>
#include <map>
#include <utility>

namespace lathe::exporters {

const NamedAxes* common_outputs(std::string_view task) {
  static const Axes batch = {{0, "batch_size"}};
  static const Axes sequence = {{0, "batch_size"}, {1, "sequence_length"}};
  static const Axes queries = {{0, "batch_size"}, {1, "num_queries"}};
  static const std::map<std::string, NamedAxes, std::less<>> all = {
      {"audio-classification", {{"logits", batch}}},
      {"audio-frame-classification", {{"logits", sequence}}},
      {"automatic-speech-recognition", {{"logits", sequence}}},
      {"audio-xvector", {{"logits", batch}, {"embeddings", batch}}},
      {"depth-estimation", {{"predicted_depth", {{0, "batch_size"}, {1, "height"}, {2, "width"}}}}},
      {"document-question-answering", {{"logits", sequence}}},
      {"feature-extraction", {{"last_hidden_state", sequence}}},
      {"fill-mask", {{"logits", sequence}}},
      {"image-classification", {{"logits", batch}}},
      {"image-segmentation", {{"logits", {{0, "batch_size"}, {2, "height"}, {3, "width"}}}}},
      {"image-to-text", {{"logits", sequence}}},
      {"image-to-image",
       {{"reconstruction", {{0, "batch_size"}, {1, "num_channels"}, {2, "height"}, {3, "width"}}}}},
      {"keypoint-detection",
       {{"heatmaps", {{0, "batch_size"}, {1, "num_keypoints"}, {2, "height"}, {3, "width"}}}}},
      {"mask-generation", {{"logits", batch}}},
      {"masked-im", {{"reconstruction", batch}}},
      {"multiple-choice", {{"logits", {{0, "batch_size"}, {1, "num_choices"}}}}},
      {"object-detection", {{"logits", queries}, {"pred_boxes", queries}}},
      {"question-answering", {{"start_logits", sequence}, {"end_logits", sequence}}},
      {"semantic-segmentation",
       {{"logits", {{0, "batch_size"}, {1, "num_labels"}, {2, "height"}, {3, "width"}}}}},
      {"text2text-generation", {{"logits", {{0, "batch_size"}, {1, "decoder_sequence_length"}}}}},
      {"text-classification", {{"logits", batch}}},
      {"text-generation", {{"logits", sequence}}},
      {"time-series-forecasting", {{"prediction_outputs", batch}}},
      {"token-classification", {{"logits", sequence}}},
      {"visual-question-answering", {{"logits", sequence}}},
      {"zero-shot-image-classification",
       {{"logits_per_image", {{0, "image_batch_size"}, {1, "text_batch_size"}}},
        {"logits_per_text", {{0, "text_batch_size"}, {1, "image_batch_size"}}},
        {"text_embeds", {{0, "text_batch_size"}}},
        {"image_embeds", {{0, "image_batch_size"}}}}},
      {"zero-shot-object-detection",
       {{"logits", queries},
        {"pred_boxes", queries},
        {"text_embeds", {{0, "text_batch_size"}}},
        {"image_embeds", {{0, "image_batch_size"}}}}},
  };
  const auto at = all.find(task);
  return at == all.end() ? nullptr : &at->second;
}

std::string task_of_architecture(std::string_view name) {
  // Whole names come first, because "ForConditionalGeneration" makes text from text, sound and images alike.
  constexpr std::pair<std::string_view, std::string_view> whole[] = {
      {"WhisperForConditionalGeneration", "automatic-speech-recognition"},
      {"Speech2TextForConditionalGeneration", "automatic-speech-recognition"},
      {"MoonshineForConditionalGeneration", "automatic-speech-recognition"},
      {"SpeechEncoderDecoderModel", "automatic-speech-recognition"},
      {"VisionEncoderDecoderModel", "image-to-text"},
      {"Pix2StructForConditionalGeneration", "image-to-text"},
      {"BlipForConditionalGeneration", "image-to-text"},
      {"Blip2ForConditionalGeneration", "image-to-text"},
      {"CLIPForImageClassification", "image-classification"},
      {"CLIPTextModelWithProjection", "feature-extraction"},
      {"CLIPVisionModelWithProjection", "feature-extraction"},
      {"EncoderDecoderModel", "text2text-generation"},
      {"MarianMTModel", "text2text-generation"},
  };
  // Suffixes come next; the longest one that fits is the first in the list.
  constexpr std::pair<std::string_view, std::string_view> endings[] = {
      {"ForAudioFrameClassification", "audio-frame-classification"},
      {"ForAudioClassification", "audio-classification"},
      {"ForZeroShotImageClassification", "zero-shot-image-classification"},
      {"ForZeroShotObjectDetection", "zero-shot-object-detection"},
      {"ForImageClassificationWithTeacher", "image-classification"},
      {"ForImageClassification", "image-classification"},
      {"ForMaskedImageModeling", "masked-im"},
      {"ForMaskedLM", "fill-mask"},
      {"WithLMHeadModel", "text-generation"},
      {"LMHeadModel", "text-generation"},
      {"ForCausalLM", "text-generation"},
      {"ForSeq2SeqLM", "text2text-generation"},
      {"ForConditionalGeneration", "text2text-generation"},
      {"ForMultipleChoice", "multiple-choice"},
      {"ForVisualQuestionAnswering", "visual-question-answering"},
      {"ForQuestionAnsweringSimple", "question-answering"},
      {"ForQuestionAnswering", "question-answering"},
      {"ForSequenceClassification", "text-classification"},
      {"ForTokenClassification", "token-classification"},
      {"ForUniversalSegmentation", "image-segmentation"},
      {"ForInstanceSegmentation", "image-segmentation"},
      {"ForImageSegmentation", "image-segmentation"},
      {"ForSemanticSegmentation", "semantic-segmentation"},
      {"ForDepthEstimation", "depth-estimation"},
      {"ForObjectDetection", "object-detection"},
      {"ForPoseEstimation", "keypoint-detection"},
      {"ForSpeechSeq2Seq", "automatic-speech-recognition"},
      {"ForCTC", "automatic-speech-recognition"},
      {"ForXVector", "audio-xvector"},
      {"ForTextToSpeech", "text-to-audio"},
      {"ForImageSuperResolution", "image-to-image"},
      {"ForPrediction", "time-series-forecasting"},
      {"ForPreTraining", "feature-extraction"},
      {"ForRetrieval", "feature-extraction"},
      {"DoubleHeadsModel", "text-generation"},
      {"EncoderModel", "feature-extraction"},
      {"Model", "feature-extraction"},
  };
  for (const auto& [known, task] : whole)
    if (name == known) return std::string(task);
  for (const auto& [ending, task] : endings)
    if (name.ends_with(ending) && name.size() > ending.size()) return std::string(task);
  return {};
}

}  // namespace lathe::exporters
