// Tests of what registrations say: the folder of each operator, and the internal forms that replace it.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/kernel.h"
#include "lathe/operators.h"
#include "schema/schema.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

TEST(OperatorFolders, EveryOperatorHasOne) {
  for (const auto& [key, schema] : SchemaCatalog::standard().all())
    EXPECT_FALSE(schema.folder().empty()) << schema.name();
  for (const auto& kernel : KernelCatalog::standard().all())
    EXPECT_FALSE(kernel->folder.empty()) << kernel->name;
}

TEST(OperatorFolders, EveryInternalFormSaysWhatItReplaces) {
  const KernelCatalog& kernels = KernelCatalog::standard();
  for (const auto& kernel : kernels.all()) {
    if (kernel->domain == "lathe") {
      EXPECT_TRUE(kernels.is_internal_form(kernel->op)) << kernel->op;
    }
  }
}

TEST(OperatorFolders, InternalFormsOfConv) {
  const OperatorInfo conv = operators("Conv").at(0);
  EXPECT_EQ(conv.folder, "conv");
  const auto form = std::ranges::find(conv.internal_forms, "BlockedConv", &OperatorInfo::InternalForm::name);
  ASSERT_NE(form, conv.internal_forms.end());
  EXPECT_EQ(form->folder, "blocked_conv");
  EXPECT_FALSE(form->kernels.empty());
  EXPECT_TRUE(operators("Det").at(0).internal_forms.empty());
}

TEST(OperatorFolders, ArithmeticIsDeclaredOnceForBothSides) {
  for (const auto& [key, schema] : SchemaCatalog::standard().all()) {
    const OpCodec* codec = KernelCatalog::standard().codec_of(schema.domain(), schema.name());
    if (codec) {
      EXPECT_EQ(schema.operations() != nullptr, static_cast<bool>(codec->operations)) << schema.name();
    }
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
