// The demo's second act: a sentence encoder as it is published (config.json, weights, tokenizer.json) becomes
// a model, then an engine, and says which sentences mean the same.
//   example_sentences CHECKPOINT_DIR [MODEL.lathe|MODEL.onnx [SENTENCE…]]
// Without a model the checkpoint is exported first.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lathe/lathe.h"

namespace {

const std::vector<std::string> usual = {
    "A man is eating food.",    "Someone is having lunch.",
    "A girl plays the violin.", "A musician is playing the fiddle.",
    "The new film is awesome.", "I loved that movie.",
};

/// [sentences, size]: the mean over tokens that are no padding, of length 1, as sentence-transformers has it.
std::vector<std::vector<float>> embed(lathe::Context& context, const lathe::NamedValues& inputs) {
  const lathe::NamedValues outputs = context.run(inputs);
  const lathe::Tensor& hidden = outputs.at("last_hidden_state").tensor();  // [sentences, tokens, size]
  const auto mask = inputs.at("attention_mask").tensor().as<int64_t>();
  const auto tokens = static_cast<size_t>(hidden.dim(1)), size = static_cast<size_t>(hidden.dim(2));
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < static_cast<size_t>(hidden.dim(0)); ++i) {
    std::vector<float> sum(size);
    for (size_t t = 0; t < tokens; ++t)
      if (mask[i * tokens + t])
        for (size_t k = 0; k < size; ++k) sum[k] += hidden.as<float>()[(i * tokens + t) * size + k];
    double length = 0;
    for (float x : sum) length += static_cast<double>(x) * x;
    for (float& x : sum) x /= static_cast<float>(std::sqrt(length));
    all.push_back(std::move(sum));
  }
  return all;
}

float similarity(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// From dark blue for nothing in common to yellow for the same; in shades where the output is no terminal.
std::string cell(float x, bool colors) {
  if (!colors) {
    static constexpr const char* shades[] = {" ", "░", "▒", "▓", "█"};
    char text[32];
    std::snprintf(text, sizeof text, "%s%5.2f ", shades[std::lround(std::clamp(x, 0.0f, 1.0f) * 4)],
                  static_cast<double>(x));
    return text;
  }
  struct Color {
    float r, g, b;
  };
  static constexpr Color stops[] = {
      {20, 24, 60}, {60, 50, 130}, {160, 50, 130}, {235, 110, 70}, {250, 220, 90}};
  const float at = std::clamp(x, 0.0f, 1.0f) * 4;
  const int i = std::min(static_cast<int>(at), 3);
  const auto mix = [&](float Color::*c) {
    return static_cast<int>(stops[i].*c + (stops[i + 1].*c - stops[i].*c) * (at - static_cast<float>(i)));
  };
  char text[80];
  std::snprintf(text, sizeof text, "\033[48;2;%d;%d;%dm\033[38;5;%dm %5.2f \033[0m", mix(&Color::r),
                mix(&Color::g), mix(&Color::b), x > 0.6f ? 16 : 231, static_cast<double>(x));
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CHECKPOINT_DIR [MODEL [SENTENCE...]]\n", argv[0]);
    return 2;
  }
  const std::filesystem::path checkpoint = argv[1];
  std::filesystem::path model = argc > 2 ? argv[2] : "";
  if (model.empty()) {
    const auto exported = std::filesystem::temp_directory_path() / "lathe_sentences";
    lathe::exporters::export_checkpoint(checkpoint, exported, {.task = "feature-extraction"});
    model = exported / "model.onnx";
  }
  const std::vector<std::string> sentences =
      argc > 3 ? std::vector<std::string>(argv + 3, argv + argc) : usual;
  const auto start = std::chrono::steady_clock::now();
  const auto tokenizer = lathe::Tokenizer::open(checkpoint)
                             .with_truncation(lathe::Truncation{.max_length = 256})
                             .with_padding(lathe::Padding{});
  const auto engine =
      model.extension() == ".lathe" ? lathe::Engine::load(model) : lathe::Engine::build(model);
  auto context = engine.create_context();
  const auto ready = std::chrono::steady_clock::now();
  const auto inputs = tokenizer.inputs({sentences.begin(), sentences.end()});
  const auto embeddings = embed(context, inputs);
  const auto done = std::chrono::steady_clock::now();

  const bool colors = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  size_t widest = 0;
  for (const std::string& s : sentences) widest = std::max(widest, s.size());
  std::puts("");
  for (size_t i = 0; i < sentences.size(); ++i) {
    std::printf("  %zu  %-*s  ", i + 1, static_cast<int>(widest), sentences[i].c_str());
    for (const auto& other : embeddings)
      std::fputs(cell(similarity(embeddings[i], other), colors).c_str(), stdout);
    std::puts("");
  }
  std::printf("  %*s", static_cast<int>(widest) + 5, "");
  for (size_t i = 0; i < sentences.size(); ++i) std::printf(" %5zu ", i + 1);
  const auto ms = [](auto duration) { return std::chrono::duration<double, std::milli>(duration).count(); };
  std::printf("\n\n  ready in %.0f ms; %zu sentences embedded in %.1f ms on %d thread%s\n", ms(ready - start),
              sentences.size(), ms(done - ready), engine.threads(), engine.threads() == 1 ? "" : "s");
  return 0;
} catch (const lathe::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
