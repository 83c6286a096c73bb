// LATHE_API marks the symbols that the shared libraries export; there are no others.
#pragma once

#if defined(LATHE_STATIC)
#define LATHE_API
#elif defined(_WIN32)
#define LATHE_API __declspec(dllexport)
#else
#define LATHE_API __attribute__((visibility("default")))
#endif
