// SPDX-License-Identifier: Apache-2.0
// The keys that session tickets are sealed with: one set for all workers and listeners of the process, kept
// across reloads, so that a client resumes wherever the kernel sends its next connection. A new key every
// kRotateMs; the one before still opens its tickets (and those are renewed). Any thread.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "weir/base/clock.hpp"

namespace weir::net {

class TicketKeys {
 public:
  static constexpr std::int64_t kRotateMs = 60 * 60 * 1000;

  explicit TicketKeys(const Clock& clock) noexcept : clock_(clock) {}

  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{};  // AES-256-CBC
    std::array<unsigned char, 32> mac{};     // HMAC-SHA256
    std::int64_t made_ms = 0;
    bool usable = false;
  };

  // The key to seal with now; `usable` is false if the random source failed.
  Key current();
  // The key with that name, which may be the one before; `usable` is false if there is none.
  Key find(const unsigned char* name);
  bool is_current(const Key& key);

  // Lets `context` seal and open its tickets with these keys, which outlive it.
  void install(SSL_CTX* context);

 private:
  void rotate_if_due();  // requires the lock

  const Clock& clock_;
  std::mutex lock_;
  Key current_;
  Key previous_;
};

// The process's own.
TicketKeys& process_ticket_keys();

}  // namespace weir::net
