// Graphs that only move elements, by sizes of which some are known when an engine is built and some only in a
// run, where they may be wrong: what the graph as written refuses, every level refuses.
//   LATHE_DRAWN=20000      how many graphs are drawn
//   LATHE_DRAWN_SEED=2     other ones
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "lathe/lathe.h"
#include "support/error_code.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

int number(const char* variable, int otherwise) {
  const char* said = std::getenv(variable);
  return said ? std::atoi(said) : otherwise;
}

/// A graph in text with its inputs. Sizes are those that it was written for; the run may get others.
class Movements {
 public:
  explicit Movements(unsigned seed) : random_(seed) { make(); }

  std::string text;
  NamedValues inputs;

 private:
  struct Known {
    std::string name;
    Shape shape;
  };

  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  bool one_in(size_t n) { return below(n) == 0; }
  static std::string list(const Shape& s) {
    std::string t = "{";
    for (size_t i = 0; i < s.size(); ++i) t += (i ? "," : "") + std::to_string(s[i]);
    return t + "}";
  }

  void make() {
    for (size_t i = 0, n = 1 + below(2); i < n; ++i) add_image();
    for (size_t i = 0, n = 2 + below(5); i < n; ++i) add_node();
    std::string head;
    for (const auto& [name, type] : declared_) head += (head.empty() ? "" : ", ") + type + " " + name;
    text = "(" + head + ") => (float[] y) <" + constants_ + "int64[1] zero = {0}, int64[1] ones = {1}> {" +
           body_ + " y = Identity(" + values_.back().name + ") }";
  }

  /// Sizes are numbers or symbols; a run may have another size where there is a symbol.
  void add_image() {
    Shape written, run;
    std::string type = "float[";
    for (size_t rank = 1 + below(3), i = 0; i < rank; ++i) {
      static constexpr int64_t sizes[] = {1, 2, 3, 4, 6};
      const int64_t size = sizes[below(5)];
      written.push_back(size);
      const bool open = one_in(2);
      run.push_back(open && one_in(3) ? sizes[below(5)] : size);
      type += (i ? "," : "") + (open ? "s" + std::to_string(symbols_++) : std::to_string(size));
    }
    const std::string name = "x" + std::to_string(values_.size());
    declared_.emplace_back(name, type + "]");
    inputs.emplace(name, random_tensor(DataType::float32, run, 1));
    values_.push_back({name, written});
  }

  /// A list of numbers: a constant, an input (which may have other values in a run), or one that follows from
  /// a shape.
  std::string numbers(Shape s, const Known* like = nullptr) {
    const std::string name = "n" + std::to_string(next_++);
    const size_t rank = s.size();
    if (like && like->shape == s && one_in(2)) {
      body_ += " " + name + " = Shape(" + like->name + ")";
      return name;
    }
    if (one_in(2)) {
      constants_ += "int64[" + std::to_string(rank) + "] " + name + " = " + list(s) + ", ";
      return name;
    }
    declared_.emplace_back(name, "int64[" + std::to_string(rank) + "]");
    if (one_in(2) && rank > 0) {
      int64_t& n = s[below(rank)];
      n = one_in(3) ? -1 : std::max<int64_t>(0, n + static_cast<int64_t>(below(3)) - 1);
    }
    inputs.emplace(
        name, Tensor::from<int64_t>({static_cast<int64_t>(rank)}, std::vector<int64_t>(s.begin(), s.end())));
    return name;
  }

  void add_node() {
    const Known x = values_[one_in(3) ? below(values_.size()) : values_.size() - 1];
    const auto rank = static_cast<int64_t>(x.shape.size());
    const std::string name = "v" + std::to_string(values_.size());
    Shape made = x.shape;
    std::string says;
    switch (below(10)) {
      case 0: {  // Reshape, as numbers or in part
        made = reshaped(x.shape);
        Shape wanted = made;
        if (!wanted.empty() && one_in(2))
          wanted[below(wanted.size())] = -1;
        else if (!wanted.empty() && one_in(3) && wanted[0] == (rank ? x.shape[0] : 0))
          wanted[0] = 0;
        says = "Reshape(" + x.name + ", " + numbers(wanted, &values_[below(values_.size())]) + ")";
        break;
      }
      case 1: {
        if (rank > 3) return;
        const int64_t axis = static_cast<int64_t>(below(static_cast<size_t>(rank) + 1));
        made.insert(made.begin() + axis, 1);
        says = "Unsqueeze(" + x.name + ", " + numbers({axis}) + ")";
        break;
      }
      case 2: {
        if (rank == 0) return;
        size_t axis = below(static_cast<size_t>(rank));
        for (size_t i = 0; i < made.size(); ++i)
          if (made[i] == 1) axis = i;
        if (made[axis] != 1 && !one_in(4)) return;
        made.erase(made.begin() + static_cast<int64_t>(axis));
        says = "Squeeze(" + x.name + ", " + numbers({static_cast<int64_t>(axis)}) + ")";
        break;
      }
      case 3: {
        Shape to = x.shape;
        for (int64_t& n : to)
          if (n == 1 && one_in(2)) n = 1 + static_cast<int64_t>(below(3));
        made = to;
        says = "Expand(" + x.name + ", " + numbers(to, &values_[below(values_.size())]) + ")";
        break;
      }
      case 4: {
        std::vector<int64_t> perm;
        for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
        std::shuffle(perm.begin(), perm.end(), random_);
        std::string p;
        for (size_t i = 0; i < perm.size(); ++i) {
          made[i] = x.shape[static_cast<size_t>(perm[i])];
          p += (i ? "," : "") + std::to_string(perm[i]);
        }
        if (rank == 0) return;
        says = "Transpose<perm=[" + p + "]>(" + x.name + ")";
        break;
      }
      case 5: {
        const auto axis = below(static_cast<size_t>(rank) + 1);
        int64_t rows = 1, columns = 1;
        for (size_t i = 0; i < made.size(); ++i) (i < axis ? rows : columns) *= made[i];
        made = {rows, columns};
        says = "Flatten<axis=" + std::to_string(axis) + ">(" + x.name + ")";
        break;
      }
      case 6: {
        if (rank == 0) return;
        const auto axis = below(static_cast<size_t>(rank));
        const Known& other = values_[below(values_.size())];
        if (other.shape.size() != x.shape.size()) return;
        made[axis] += other.shape[axis];
        says = "Concat<axis=" + std::to_string(axis) + ">(" + x.name + ", " + other.name + ")";
        break;
      }
      case 7: {
        const Known& other = values_[below(values_.size())];
        if (other.shape != x.shape) return;
        says = std::string(one_in(2) ? "Add(" : "Max(") + x.name + ", " + other.name + ")";
        break;
      }
      case 8:
        says = std::string(one_in(2) ? "Relu(" : "Neg(") + x.name + ")";
        break;
      default: {
        if (rank == 0 || made[0] < 2) return;
        const int64_t end = 1 + static_cast<int64_t>(below(static_cast<size_t>(made[0])));
        made[0] = end;
        says = "Slice(" + x.name + ", zero, " + numbers({end}) + ", zero)";
      }
    }
    body_ += " " + name + " = " + says;
    values_.push_back({name, made});
  }

  /// Another shape of as many elements.
  Shape reshaped(const Shape& from) {
    int64_t left = 1;
    for (int64_t n : from) left *= n;
    Shape to;
    while (left > 1 && to.size() < 3) {
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= left; ++d)
        if (left % d == 0) divisors.push_back(d);
      const int64_t d = divisors[below(divisors.size())];
      to.push_back(d);
      left /= d;
    }
    to.push_back(left);
    return to;
  }

  std::mt19937 random_;
  std::vector<Known> values_;
  std::vector<std::pair<std::string, std::string>> declared_;
  std::string body_, constants_;
  int symbols_ = 0, next_ = 0;
};

struct Ending {
  Code build = Code::none, run = Code::none;
  std::optional<Tensor> y;
  bool refused() const { return build != Code::none || run != Code::none; }
};

Ending ending(const onnx::Model& m, const NamedValues& inputs, OptimizationLevel level) {
  Ending e;
  BuildOptions options;
  options.threads = 1;
  options.level = level;
  std::optional<Engine> engine;
  e.build = code_of([&] { engine = Engine::build(m, options); });
  if (engine) e.run = code_of([&] { e.y = engine->create_context().run(inputs).at("y").tensor().clone(); });
  return e;
}

TEST(MovementChecks, EveryLevelRefusesWhatTheGraphAsWrittenDoes) {
  const int drawn = number("LATHE_DRAWN", 500), seed = number("LATHE_DRAWN_SEED", 1);
  int refused = 0, ran = 0;
  for (int i = 0; i < drawn; ++i) {
    const Movements graph(static_cast<unsigned>(seed * 1'000'000 + i));
    const onnx::Model m = model_of(graph.text);
    const Ending want = ending(m, graph.inputs, OptimizationLevel::none);
    if (want.build != Code::none) continue;  // the importer knows already
    (want.refused() ? refused : ran) += 1;
    for (const auto level : {OptimizationLevel::basic, OptimizationLevel::extended, OptimizationLevel::all}) {
      const Ending got = ending(m, graph.inputs, level);
      ASSERT_NE(got.build, Code::internal) << graph.text;
      EXPECT_EQ(want.refused(), got.refused()) << graph.text << "\nlevel " << static_cast<int>(level) << ": "
                                               << code_name(want.run) << " and " << code_name(got.run);
      if (!want.y || !got.y) continue;
      ASSERT_EQ(want.y->shape(), got.y->shape()) << graph.text;
      EXPECT_TRUE(std::ranges::equal(want.y->as<float>(), got.y->as<float>())) << graph.text;
    }
  }
  std::printf("%d refused, %d ran\n", refused, ran);
  EXPECT_GT(refused, drawn / 20);
  EXPECT_GT(ran, drawn / 20);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
