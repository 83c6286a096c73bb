// Counts locks that are taken (mutexes and read-write locks, of std or of pthread) and waits for conditions,
// to show that something takes none. Include in one source of a test. Under sanitizers, which look at the
// same calls, nothing is counted: see `counts_locks`.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace lathe::test {
inline std::atomic<long> locks{0};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool counts_locks = false;
#else
inline constexpr bool counts_locks = true;
#endif

/// The function of that name in the C library.
template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
}  // namespace lathe::test

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// Looked up at each call: what is slow here does not matter, and nothing has to be there before the first.
#define LATHE_COUNTED_LOCK(name, ...)                                   \
  extern "C" __attribute__((noinline)) int name(__VA_ARGS__) noexcept { \
    ++lathe::test::locks;                                               \
    static auto* const original = lathe::test::real<int(__VA_ARGS__)>(#name);
LATHE_COUNTED_LOCK(pthread_mutex_lock, pthread_mutex_t* m)
return original(m);
}
LATHE_COUNTED_LOCK(pthread_mutex_trylock, pthread_mutex_t* m)
return original(m);
}
LATHE_COUNTED_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t* l)
return original(l);
}
LATHE_COUNTED_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t* l)
return original(l);
}
LATHE_COUNTED_LOCK(pthread_spin_lock, pthread_spinlock_t* l)
return original(l);
}
#undef LATHE_COUNTED_LOCK
#endif
