#include "lathe/version.h"

#define LATHE_TEXT_(x) #x
#define LATHE_TEXT(x) LATHE_TEXT_(x)

namespace lathe {
std::string_view version() {
  return LATHE_TEXT(LATHE_VERSION_MAJOR) "." LATHE_TEXT(LATHE_VERSION_MINOR) "." LATHE_TEXT(
      LATHE_VERSION_PATCH);
}
}  // namespace lathe
