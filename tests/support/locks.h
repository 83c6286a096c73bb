// Counts what makes a thread wait for others: locks that are taken (mutexes, read-write locks and spin locks,
// of std or of pthread, with a deadline or without), waits for conditions and for semaphores of pthread, to
// show that something does none of it. Include in one source of a test. Under sanitizers, which look at the
// same calls, nothing is counted: see `counts_locks`.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

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
LATHE_COUNTED_LOCK(pthread_mutex_timedlock, pthread_mutex_t* m, const timespec* until)
return original(m, until);
}
LATHE_COUNTED_LOCK(pthread_mutex_clocklock, pthread_mutex_t* m, clockid_t clock, const timespec* until)
return original(m, clock, until);
}
LATHE_COUNTED_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t* l)
return original(l);
}
LATHE_COUNTED_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t* l)
return original(l);
}
LATHE_COUNTED_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_t* l, const timespec* until)
return original(l, until);
}
LATHE_COUNTED_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_t* l, const timespec* until)
return original(l, until);
}
LATHE_COUNTED_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t* l, clockid_t clock, const timespec* until)
return original(l, clock, until);
}
LATHE_COUNTED_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t* l, clockid_t clock, const timespec* until)
return original(l, clock, until);
}
LATHE_COUNTED_LOCK(sem_trywait, sem_t* s)
return original(s);
}
#undef LATHE_COUNTED_LOCK

// A thread can be cancelled in these, which the C library does by an exception.
#define LATHE_COUNTED_WAIT(name, ...)                          \
  extern "C" __attribute__((noinline)) int name(__VA_ARGS__) { \
    ++lathe::test::locks;                                      \
    static auto* const original = lathe::test::real<int(__VA_ARGS__)>(#name);
LATHE_COUNTED_WAIT(pthread_cond_wait, pthread_cond_t* c, pthread_mutex_t* m)
return original(c, m);
}
LATHE_COUNTED_WAIT(pthread_cond_timedwait, pthread_cond_t* c, pthread_mutex_t* m, const timespec* until)
return original(c, m, until);
}
LATHE_COUNTED_WAIT(pthread_cond_clockwait, pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                   const timespec* until)
return original(c, m, clock, until);
}
LATHE_COUNTED_WAIT(sem_wait, sem_t* s)
return original(s);
}
LATHE_COUNTED_WAIT(sem_timedwait, sem_t* s, const timespec* until)
return original(s, until);
}
LATHE_COUNTED_WAIT(sem_clockwait, sem_t* s, clockid_t clock, const timespec* until)
return original(s, clock, until);
}
#undef LATHE_COUNTED_WAIT
#endif
