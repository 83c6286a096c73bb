// Types of values: text, and what two of them have in common.
#include "graph/type.h"

#include <gtest/gtest.h>

#include "lathe/error.h"

namespace lathe {
namespace LATHE_TEST_FILE {

ValueType t(std::string_view s) { return ValueType::parse(s); }

TEST(ValueType, PrintsAndReads) {
  for (const char* s : {"float", "float[]", "float[N,3]", "seq(float)", "optional(seq(int64[2]))",
                        "map(string,float)", "none", "sparse(float)[3]", "bool[max(a, b),floor((n + 1)/2)]",
                        "double[\"x,]\\\"y\",2]", "seq(none)"})
    EXPECT_EQ(t(s).str(), s);
  EXPECT_EQ(t("float[N,3]").str(false), "float");
  EXPECT_EQ(t("seq(float[N])").str(false), "seq(float)");
  EXPECT_EQ(t("tensor(float32)[ N , 3 ]"), t("float[N,3]"));
  for (const char* bad :
       {"", "floot", "float[", "float[N", "float[N,]", "seq(float", "float]", "map(float)", "float x"})
    EXPECT_THROW(t(bad), Error) << bad;
  EXPECT_THROW(t(std::string(100000, 's')), Error);
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "seq(";
  EXPECT_THROW(t(deep), Error);
}

TEST(ValueType, UnifyKeepsTheMorePrecise) {
  auto u = [](const char* a, const char* b) {
    auto r = unify(t(a), t(b));
    return r ? r->str() : "contradiction";
  };
  EXPECT_EQ(u("none", "float[2]"), "float[2]");
  EXPECT_EQ(u("float", "float[N,3]"), "float[N,3]");
  EXPECT_EQ(u("float[N,3]", "float[M,3]"), "float[N,3]");
  EXPECT_EQ(u("float[N]", "float[4]"), "float[4]");
  EXPECT_EQ(u("float[?7]", "float[M]"), "float[M]");
  EXPECT_EQ(u("float[2]", "float[3]"), "contradiction");
  EXPECT_EQ(u("float[2]", "float[2,1]"), "contradiction");
  EXPECT_EQ(u("float", "int64"), "contradiction");
  EXPECT_EQ(u("float", "seq(float)"), "contradiction");
  EXPECT_EQ(u("seq(float)", "seq(float[3])"), "seq(float[3])");
  EXPECT_EQ(u("seq(float)", "seq(int64)"), "contradiction");
}

TEST(ValueType, JoinKeepsWhatHoldsForBoth) {
  EXPECT_EQ(join(t("float[N,3]"), t("float[N,3]"))->str(), "float[N,3]");
  const auto mixed = join(t("float[N,3]"), t("float[N,4]"));
  EXPECT_EQ((*mixed->shape)[0], Dim::symbol("N"));
  EXPECT_TRUE((*mixed->shape)[1].has_unknown());
  EXPECT_EQ(join(t("float[N]"), t("float[N,3]"))->str(), "float");
  EXPECT_EQ(join(t("float[N]"), t("float"))->str(), "float");
  EXPECT_FALSE(join(t("float"), t("double")));
  EXPECT_FALSE(join(t("float"), t("seq(float)")));
  EXPECT_FALSE(join(t("none"), t("float"))->known());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
