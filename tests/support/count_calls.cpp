// SPDX-License-Identifier: Apache-2.0
// Preloaded into a gateway under test: counts its heap allocations and its system calls, as far as they go
// through the C library, into the 16 bytes of the file that WEIR_COUNTS names (two 64-bit numbers).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

struct Counts {
  std::atomic<std::uint64_t> allocations;
  std::atomic<std::uint64_t> calls;
};
Counts unshared;
Counts* counts = &unshared;

__attribute__((constructor)) void share_counts() {
  const char* path = std::getenv("WEIR_COUNTS");
  const int file = path != nullptr ? ::open(path, O_RDWR) : -1;
  if (file < 0) return;
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) counts = static_cast<Counts*>(memory);
  ::close(file);
}

void count_allocation() {
  counts->allocations.fetch_add(1, std::memory_order_relaxed);
}

void count_call() {
  counts->calls.fetch_add(1, std::memory_order_relaxed);
}

// The C library's own function of that name.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  count_allocation();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count_allocation();
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}

long syscall(long number, ...) noexcept {
  static const auto call = next<long (*)(long, ...)>("syscall");
  count_call();
  __builtin_va_list given;
  __builtin_va_start(given, number);
  long argument[6];
  for (long& each : argument) each = __builtin_va_arg(given, long);
  __builtin_va_end(given);
  return call(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
ssize_t recv(int descriptor, void* bytes, std::size_t size, int flags) {
  static const auto call = next<ssize_t (*)(int, void*, std::size_t, int)>("recv");
  count_call();
  return call(descriptor, bytes, size, flags);
}
ssize_t send(int descriptor, const void* bytes, std::size_t size, int flags) {
  static const auto call = next<ssize_t (*)(int, const void*, std::size_t, int)>("send");
  count_call();
  return call(descriptor, bytes, size, flags);
}
ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static const auto call = next<ssize_t (*)(int, msghdr*, int)>("recvmsg");
  count_call();
  return call(descriptor, message, flags);
}
ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto call = next<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  count_call();
  return call(descriptor, message, flags);
}
ssize_t read(int descriptor, void* bytes, std::size_t size) {
  static const auto call = next<ssize_t (*)(int, void*, std::size_t)>("read");
  count_call();
  return call(descriptor, bytes, size);
}
ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  static const auto call = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  count_call();
  return call(descriptor, bytes, size);
}
int epoll_wait(int set, epoll_event* events, int most, int timeout) {
  static const auto call = next<int (*)(int, epoll_event*, int, int)>("epoll_wait");
  count_call();
  return call(set, events, most, timeout);
}
int epoll_ctl(int set, int change, int descriptor, epoll_event* event) noexcept {
  static const auto call = next<int (*)(int, int, int, epoll_event*)>("epoll_ctl");
  count_call();
  return call(set, change, descriptor, event);
}

}  // extern "C"
