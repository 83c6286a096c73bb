// Generators: an answer depends on its request alone, whatever was computed before and in which pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "causal_lm/wanted_rows.h"
#include "generate/answers.h"
#include "support/error_code.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"
#include "support/worker_context.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using nlohmann::json;

TEST(Generator, PiecesAndThreadsGiveTheSameBits) {
  LATHE_NEEDS_SHARED(shared);
  for (const char* name : decoders) {
    std::vector<Answer> answers;
    std::vector<std::vector<float>> scores;
    for (const auto& [threads, piece] : {std::pair{1, 256}, {1, 64}, {2, 7}, {1, 1}, {2, 64}}) {
      const auto g = Generator::open(shared / "models" / name, options(threads, piece));
      const Ids ids = some_tokens(g, 150);
      answers.push_back(answer(g, g.sequence(ids)));
      scores.push_back(g.score(ids));
      EXPECT_EQ(answers.back(), answers.front()) << name << " " << piece;
      EXPECT_EQ(std::memcmp(scores.back().data(), scores.front().data(), 149 * sizeof(float)), 0)
          << name << " " << piece;
    }
    EXPECT_EQ(scores.front().size(), 149u);
  }
}

TEST(Generator, PiecesGiveTheSameBitsWithAnyInstructions) {
  LATHE_NEEDS_SHARED(shared);
  for (Isa isa : test::usable_isas())
    for (Precision precision : precisions) {
      std::vector<Answer> answers;
      for (int64_t piece : {256, 9, 1}) {
        GeneratorOptions o = options(1, piece);
        o.build.isa = name_of(isa);
        o.build.precision = precision;
        const auto g = Generator::open(shared / "models" / decoders[0], o);
        answers.push_back(answer(g, g.sequence(some_tokens(g, 70))));
        EXPECT_EQ(answers.back(), answers.front()) << name_of(isa) << " " << piece;
      }
    }
}

TEST(Generator, GreedyTokensAreThoseOfTheReference) {
  LATHE_NEEDS_SHARED(shared);
  const auto folder = shared / "models" / "stories260k_opset17";
  const json recorded = json::parse(std::ifstream(folder / "generation.json"));
  const Ids expected = recorded["greedy_tokens"];
  const auto g = Generator::open(folder, options(1, 64, 512));
  auto all =
      g.generate(g.sequence(Ids{recorded["start_token"].get<int32_t>()}),
                 {.config = config(static_cast<int64_t>(expected.size()) - 1, false), .ignore_eos = true});
  all.text();
  const auto tokens = all.sequence().tokens();
  EXPECT_EQ(Ids(tokens.begin(), tokens.end()), expected);
  EXPECT_EQ(all.finish_reason(), FinishReason::length);
  EXPECT_EQ(all.usage().prompt_tokens, 1);
  EXPECT_EQ(all.usage().generated_tokens, static_cast<int64_t>(expected.size()) - 1);
}

TEST(Generator, ForksRewindsAndFilesGiveTheSameBits) {
  LATHE_NEEDS_SHARED(shared);
  const TempDirectory folder;
  for (const char* name : decoders) {
    const auto g = Generator::open(shared / "models" / name, options());
    const Ids ids = some_tokens(g, 90);
    const Answer expected = answer(g, g.sequence(ids));
    TokenSequence s = g.sequence(ids);
    EXPECT_EQ(s.memory().own + s.memory().shared, 0u);
    g.compute(s);
    EXPECT_EQ(s.cached(), 90);
    EXPECT_GT(s.memory().own, 0u);
    TokenSequence fork = s.fork();
    EXPECT_EQ(s.memory().own, 0u);
    EXPECT_GT(s.memory().shared, 0u);
    EXPECT_EQ(answer(g, fork), expected);
    EXPECT_EQ(answer(g, s), expected);
    // Another continuation in between, taken back.
    fork.append(some_tokens(g, 30));
    g.compute(fork);
    fork.rewind(90);
    EXPECT_EQ(answer(g, fork), expected);
    fork.rewind(40);
    EXPECT_LE(fork.cached(), 40);
    fork.assign(ids);
    EXPECT_EQ(answer(g, fork), expected);
    for (int64_t cached : {int64_t{0}, int64_t{90}}) {
      TokenSequence saved = cached == 0 ? g.sequence(ids) : s;
      saved.save(folder / "s.kv");
      const auto other = Generator::open(shared / "models" / name, options(2, 7));
      const TokenSequence loaded = other.load_sequence(folder / "s.kv");
      EXPECT_EQ(loaded.cached(), cached);
      EXPECT_EQ(answer(other, loaded), expected);
    }
  }
}

TEST(Generator, DamagedAndForeignSequencesAreRefused) {
  LATHE_NEEDS_SHARED(shared);
  const TempDirectory folder;
  const auto g = Generator::open(shared / "models" / decoders[0], options());
  const auto other = Generator::open(shared / "models" / decoders[1], options());
  TokenSequence s = g.sequence(some_tokens(g, 20));
  g.compute(s);
  s.save(folder / "s.kv");
  EXPECT_EQ(code_of([&] { other.load_sequence(folder / "s.kv"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { other.compute(s); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { other.generate(s); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.generate(TokenSequence()); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.generate(g.sequence()); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { TokenSequence().save(folder / "n.kv"); }), Code::bad_argument);
  std::ifstream in(folder / "s.kv", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 997) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto file = folder.write("d.kv", damaged);
    EXPECT_EQ(code_of([&] { g.load_sequence(file); }), Code::state_malformed) << at;
  }
  for (size_t bytes : {size_t{0}, size_t{7}, size_t{55}, size_t{56}, whole.size() / 2, whole.size() - 1}) {
    const auto file = folder.write("t.kv", whole.substr(0, bytes));
    EXPECT_EQ(code_of([&] { g.load_sequence(file); }), Code::state_malformed) << bytes;
  }
}

TEST(Generator, WhatIsBeyondTheContextIsRefusedWithBothNumbers) {
  LATHE_NEEDS_SHARED(shared);
  const auto g = Generator::open(shared / "models" / decoders[0], options(1, 64, 40));
  EXPECT_EQ(g.context_length(), 40);
  auto all = g.generate(g.sequence(some_tokens(g, 40)));
  EXPECT_EQ(code_of([&] { all.next(); }), Code::run_state_full);
  auto more = g.generate(g.sequence(some_tokens(g, 50)));
  const std::string sentence = sentence_of([&] { more.next(); });
  EXPECT_NE(sentence.find("40"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("50"), std::string::npos) << sentence;
  auto end = g.generate(g.sequence(some_tokens(g, 30)), {.config = config(100), .ignore_eos = true});
  end.text();
  EXPECT_EQ(end.usage().generated_tokens, 10);
  EXPECT_EQ(end.finish_reason(), FinishReason::length);
  EXPECT_FALSE(end.next());
  EXPECT_EQ(code_of([&] { g.score(some_tokens(g, 42)); }), Code::run_state_full);
  EXPECT_EQ(g.score(some_tokens(g, 41)).size(), 40u);
  EXPECT_EQ(code_of([&] { g.sequence(Ids{-1}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.sequence(Ids{512}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.memory(1, 41); }), Code::bad_argument);
}

TEST(Generator, CancelledAnswersGoOn) {
  LATHE_NEEDS_SHARED(shared);
  for (const char* name : decoders) {
    const auto g = Generator::open(shared / "models" / name, options(1, 8));
    const Ids ids = some_tokens(g, 60);
    const Answer expected = answer(g, g.sequence(ids));
    RunControl control;
    int64_t seen = 0;
    const auto stop_in_the_prompt = [&](int64_t done, int64_t total) {
      EXPECT_EQ(total, 60);
      if (done == 24 && seen < 24) control.cancel();
      seen = std::max(seen, done);
    };
    auto all = g.generate(g.sequence(ids), {.config = config(20),
                                            .logprobs = true,
                                            .ignore_eos = true,
                                            .prompt_progress = stop_in_the_prompt,
                                            .control = &control});
    EXPECT_EQ(code_of([&] { all.next(); }), Code::cancelled);
    EXPECT_EQ(seen, 24);
    EXPECT_LE(all.sequence().cached(), 24);
    Answer made;
    for (int64_t i = 0; i < 20; ++i) {
      if (i == 5) {
        control.cancel();
        EXPECT_EQ(code_of([&] { all.next(); }), Code::cancelled);
      }
      control.reset();
      const auto t = all.next();
      ASSERT_TRUE(t);
      made.tokens.push_back(t->token);
      made.logprobs.push_back(t->logprob);
    }
    EXPECT_EQ(made, expected) << name;
  }
}

/// A prompt that many pieces compute is stopped, once or more often, and goes on.
TEST(Generator, LongPromptsAreCancelledAndGoOn) {
  LATHE_NEEDS_SHARED(shared);
  for (const char* name : decoders)
    for (int64_t piece : {int64_t{16}, int64_t{512}}) {
      const auto g = Generator::open(shared / "models" / name, options(1, piece));
      const Ids ids = some_tokens(g, 240);
      const Answer expected = answer(g, g.sequence(ids), 8);
      RunControl control;
      const TokenSequence prompt = g.sequence(ids);

      // From the callback, at each call of it: each attempt ends one piece later.
      int64_t attempts = 0, last = -1;
      auto all = g.generate(prompt, {.config = config(8),
                                     .logprobs = true,
                                     .ignore_eos = true,
                                     .prompt_progress =
                                         [&](int64_t done, int64_t total) {
                                           EXPECT_EQ(total, 240);
                                           if (done > last && done < total) control.cancel();
                                           last = std::max(last, done);
                                         },
                                     .control = &control});
      Answer made;
      const auto take = [&](const std::optional<GeneratedToken>& t) {
        if (!t) return false;
        made.tokens.push_back(t->token);
        made.logprobs.push_back(t->logprob);
        return true;
      };
      for (bool more = true; more;) {
        control.reset();
        try {
          more = take(all.next());
        } catch (const Error& e) {
          ASSERT_EQ(e.code(), Code::cancelled) << e.what();
          ++attempts;
          const Ids now(all.sequence().tokens().begin(), all.sequence().tokens().end());
          EXPECT_EQ(now, ids) << "no token is lost or added";
          EXPECT_LE(all.sequence().cached(), last);
          EXPECT_EQ(all.finish_reason(), FinishReason::none);
          EXPECT_EQ(all.usage().generated_tokens, 0);
          ASSERT_LE(attempts, 240);
        }
      }
      EXPECT_EQ(made, expected) << name << " in pieces of " << piece;
      EXPECT_GE(attempts, piece == 16 ? 240 / 16 : 1);
      EXPECT_EQ(prompt.cached(), 0) << "the sequence that it began with is a value";

      // By another thread, which does so as soon as the prompt has begun, in the midst of a run or between
      // two.
      for (int round = 0; round < 8; ++round) {
        TokenSequence s = g.sequence(ids);
        control.reset();
        std::atomic<bool> begun{false};
        auto stopped = g.generate(s, {.config = config(8),
                                      .logprobs = true,
                                      .ignore_eos = true,
                                      .prompt_progress =
                                          [&](int64_t, int64_t) {
                                            if (begun.exchange(true) || round > 0) return;
                                            while (!control.cancelled()) std::this_thread::yield();
                                          },
                                      .control = &control});
        std::thread other([&] {
          while (!begun) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::microseconds(round * 150));
          control.cancel();
        });
        made = {};
        int cancelled = 0;
        for (bool more = true; more;) {
          try {
            more = take(stopped.next());
          } catch (const Error& e) {
            ASSERT_EQ(e.code(), Code::cancelled) << e.what();
            ++cancelled;
            other.join();
            control.reset();
          }
        }
        if (other.joinable()) other.join();
        EXPECT_LE(cancelled, 1);
        if (round == 0) {
          EXPECT_EQ(cancelled, 1);
        }
        EXPECT_EQ(made, expected) << name << " in pieces of " << piece << ", round " << round;
      }

      // compute() alone, which a fork goes on with.
      TokenSequence s = g.sequence(ids);
      control.cancel();
      EXPECT_EQ(code_of([&] { g.compute(s, {}, &control); }), Code::cancelled);
      EXPECT_EQ(s.size(), 240);
      EXPECT_EQ(answer(g, s.fork(), 8), expected);
    }
}

/// A tokenizer whose token i is the word "w<i> ".
std::string words(int64_t n) {
  json vocabulary;
  for (int64_t i = 0; i < n; ++i) vocabulary["w" + std::to_string(i)] = i;
  return json{{"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}},
              {"pre_tokenizer", {{"type", "WhitespaceSplit"}}}}
      .dump();
}

Generator with_words(const Generator& g) {
  return Generator(g.engine(), {{"tokenizer.json", words(g.vocabulary_size())},
                                {"tokenizer_config.json", R"({"eos_token": "w5", "chat_template":
                      "{% for m in messages %}{{ m.content }} {% endfor %}{% if add_generation_prompt %}w9{% endif %}"})"}});
}

/// Takes the tokens of a list, one after the other.
std::function<void(std::span<const int32_t>, std::span<float>)> scripted(size_t prompt, Ids script) {
  return [prompt, script](std::span<const int32_t> tokens, std::span<float> logits) {
    std::ranges::fill(logits, -std::numeric_limits<float>::infinity());
    logits[static_cast<size_t>(script[tokens.size() - prompt])] = 0;
  };
}

TEST(Generator, TextsEndWhereTheyShould) {
  LATHE_NEEDS_SHARED(shared);
  const auto g = with_words(Generator::open(shared / "models" / decoders[0], options()));
  ASSERT_TRUE(g.has_tokenizer() && g.has_chat_template());
  EXPECT_EQ(g.defaults().eos_token_id, Ids{5});
  EXPECT_EQ(g.encode("w3 w4"), (Ids{3, 4}));
  EXPECT_EQ(g.encode_chat(std::vector<ChatMessage>{{"user", "w1 w2"}, {"assistant", "w3"}}),
            (Ids{1, 2, 3, 9}));
  const auto run = [&](Ids script, GenerationConfig c,
                       std::function<bool(std::span<const int32_t>)> ends = {}) {
    auto all = g.chat({{"user", "w1"}}, {.config = std::move(c),
                                         .logits_processor = scripted(2, std::move(script)),
                                         .stopping_criterion = std::move(ends)});
    std::string text = all.text();
    return std::pair{text, all.finish_reason()};
  };
  EXPECT_EQ(run({7, 8, 5, 6}, {}), std::pair(std::string("w7 w8"), FinishReason::eos));
  EXPECT_EQ(run({7, 8, 6, 6}, {.max_new_tokens = 2}), std::pair(std::string("w7 w8"), FinishReason::length));
  EXPECT_EQ(run({7, 8, 6, 6}, {.max_length = 5}), std::pair(std::string("w7 w8 w6"), FinishReason::length));
  EXPECT_EQ(run({7, 8, 6, 4}, {.max_new_tokens = 9, .stop_strings = {"8 w6"}}),
            std::pair(std::string("w7 w"), FinishReason::stop_string));
  // What may begin a stop string is held back, and comes when the text ends.
  EXPECT_EQ(run({7, 8, 5}, {.stop_strings = {"w8 w6"}}), std::pair(std::string("w7 w8"), FinishReason::eos));
  EXPECT_EQ(run({7, 8, 6, 4}, {}, [](std::span<const int32_t> tokens) { return tokens.back() == 6; }),
            std::pair(std::string("w7 w8 w6"), FinishReason::criterion));
  const auto bare = Generator::open(shared / "models" / decoders[0], options());
  EXPECT_EQ(code_of([&] { bare.tokenizer(); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { bare.chat({{"user", "x"}}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] {
              bare.generate(bare.sequence(Ids{1}), {.config = GenerationConfig{.stop_strings = {"x"}}});
            }),
            Code::bad_argument);
}

TEST(Generator, APlanKeepsTokenizerAndTemplate) {
  LATHE_NEEDS_SHARED(shared);
  const TempDirectory folder;
  const auto made = with_words(Generator::open(shared / "models" / decoders[0], options()));
  made.save(folder / "m.lathe");
  for (const auto& g :
       {Generator::load(folder / "m.lathe", options(2, 16)), Generator::open(folder / "m.lathe")}) {
    EXPECT_EQ(g.encode_chat(std::vector<ChatMessage>{{"user", "w1 w2"}}), (Ids{1, 2, 9}));
    EXPECT_EQ(g.defaults().eos_token_id, Ids{5});
    EXPECT_EQ(answer(g, g.sequence("w3 w4 w300")), answer(made, made.sequence("w3 w4 w300")));
  }
  // Other engines are no generators.
  BuildOptions plain;
  plain.threads = 1;
  const auto engine = Engine::build(shared / "models" / decoders[0] / "model.onnx", plain);
  engine.save(folder / "e.lathe");
  EXPECT_EQ(code_of([&] { Generator::load(folder / "e.lathe"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { Generator::open(shared / "models" / "mnist_8", options()); }), Code::not_supported);
  EXPECT_EQ(code_of([&] { Generator::open(folder.path() / "none", options()); }), Code::file_not_found);
}

/// A folder with the decoder of the tests and these files in the place of its own.
void write_decoder(const TempDirectory& folder, const std::map<std::string, std::string>& files) {
  const std::filesystem::path from = std::filesystem::path(LATHE_SOURCE_DIR) / "tests" / "data" / "decoder";
  std::filesystem::copy(from / "model.onnx", folder.path());
  for (const auto& [name, contents] : files) {
    std::filesystem::create_directories((folder / name).parent_path());
    folder.write(name, contents);
  }
}

TEST(Generator, AFolderHasItsTextInFilesOfAnyKind) {
  const auto ids = [](const Generator& g, const char* text) { return g.encode(text, false); };
  const auto check = [&](const std::map<std::string, std::string>& files, const Ids& want) {
    const TempDirectory folder;
    write_decoder(folder, files);
    const auto made = Generator::open(folder.path(), options(1, 64, 32));
    made.save(folder / "m.lathe");
    for (const auto& g : {made, Generator::load(folder / "m.lathe", options(1, 64, 32))}) {
      EXPECT_EQ(ids(g, "abab<e>"), want) << files.begin()->first;
      ASSERT_TRUE(g.has_chat_template());
      EXPECT_EQ(g.chat_template().render({.messages = R"([{"content": "a"}])"}), "a<e>");
    }
  };
  const std::string config =
      R"("eos_token": "<e>", "added_tokens_decoder": {"30": {"content": "<e>", "special": true}})";
  const std::string source = "{{ messages[0].content }}{{ eos_token }}";
  check({{"vocab.json", R"({"a": 3, "b": 4, "ab": 5, "<e>": 30})"},
         {"merges.txt", "a b\n"},
         {"tokenizer_config.json", "{" + config + R"(, "chat_template": ")" + source + "\"}"}},
        {5, 5, 30});
  const auto piece = [](const std::string& text, int type) {
    return std::string("\x0a") + static_cast<char>(text.size() + 9) + "\x0a" +
           static_cast<char>(text.size()) + text + std::string("\x15\0\0\x80\xbf\x18", 6) +
           static_cast<char>(type);
  };
  for (const char* name : {"tokenizer.model", "spiece.model"})
    check({{name, piece("<unk>", 2) + piece("a", 1) + piece("b", 1) + piece("ab", 1) +
                      std::string("\x12\x02\x18\x02\x1a\x02\x18\x00", 8)},
           {"added_tokens.json", R"({"<e>": 30})"},
           {"tokenizer_config.json", R"({"eos_token": "<e>"})"},
           {"additional_chat_templates/default.jinja", source}},
          {3, 3, 30});
  // Ranks whose name says the encoding; ids beyond the vocabulary of the decoder are those of single bytes.
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string ranks = "YWI= 5\n";
  for (size_t b = 0; b < 256; ++b)
    ranks += letters.substr(b / 4, 1) + letters[b % 4 * 16] + "== " + std::to_string(b + 50) + "\n";
  check({{"gpt2.tiktoken", ranks},
         {"tokenizer_config.json", "{" + config + "}"},
         {"chat_template.json", R"({"chat_template": ")" + source + "\"}"}},
        {5, 5, 30});
  const TempDirectory folder;
  write_decoder(
      folder,
      {{"vocab.json", "{}"}, {"merges.txt", ""}, {"tokenizer_config.json", R"({"tokenizer_class": "X"})"}});
  EXPECT_EQ(code_of([&] { Generator::open(folder.path(), options()); }), Code::not_supported);
}

TEST(Generator, LogitsAreThoseOfTheWholeModel) {
  LATHE_NEEDS_SHARED(shared);
  const auto file = shared / "models" / decoders[0] / "model.onnx";
  const auto g = Generator::open(file, options(1, 16));
  const auto has_rows = [](const Engine& e) {
    return std::ranges::any_of(e.inputs(), [](const IoInfo& i) { return i.name == "logits_rows"; });
  };
  EXPECT_TRUE(has_rows(g.engine()));
  BuildOptions build;
  build.threads = 1;
  build.numerics = Numerics::strict;
  build.states = {{"auto", ""}};
  build.state_capacity = 256;
  // The same without a choice of rows.
  const Generator all(Engine::build(file, build), {});
  EXPECT_FALSE(has_rows(all.engine()));
  const Ids ids = some_tokens(g, 50);
  std::vector<std::vector<float>> logits[2];
  for (int i : {0, 1}) {
    const Generator& now = i == 0 ? g : all;
    TokenSequence s = now.sequence(ids);
    now.compute(s, [&](int64_t position, std::span<const float> row) {
      EXPECT_EQ(position, static_cast<int64_t>(logits[i].size()));
      logits[i].emplace_back(row.begin(), row.end());
    });
    EXPECT_EQ(answer(now, now.sequence(ids)), answer(g, g.sequence(ids)));
  }
  EXPECT_EQ(logits[0], logits[1]);
  EXPECT_EQ(logits[0].size(), 50u);
  build.numerics = Numerics::normal;
  EXPECT_EQ(code_of([&] { Generator(Engine::build(file, build), {}); }), Code::bad_argument);
}

TEST(SelectLogitsRows, LeavesAloneWhatItDoesNotUnderstand) {
  LATHE_NEEDS_SHARED(shared);
  onnx::Model decoder = onnx::Model::load(shared / "models" / decoders[0] / "model.onnx");
  const size_t nodes = decoder.proto.graph->node.size();
  EXPECT_TRUE(select_logits_rows(decoder));
  EXPECT_EQ(decoder.proto.graph->node.size(), nodes + 1);
  EXPECT_FALSE(select_logits_rows(decoder));  // once is enough
  EXPECT_EQ(decoder.proto.graph->node.size(), nodes + 1);
  onnx::Model other = onnx::Model::load(shared / "models" / "mnist_8" / "model.onnx");
  const size_t before = other.proto.graph->node.size();
  EXPECT_FALSE(select_logits_rows(other));
  EXPECT_EQ(other.proto.graph->node.size(), before);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
