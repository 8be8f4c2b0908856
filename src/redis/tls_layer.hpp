// SPDX-License-Identifier: Apache-2.0
// TLS for a connection whose socket somebody else reads and writes: bytes go in, bytes come out, nothing
// waits.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "net/tls_handles.hpp"

namespace weir::redis {

class TlsLayer {
 public:
  // A fresh client side (net::TlsClientContext::open).
  explicit TlsLayer(net::TlsHandle<SSL> tls);

  enum class Progress : std::uint8_t { done, wants_more, failed };
  // After start and after each received(): done once encrypt() and decrypt() work.
  Progress handshake();
  // Bytes off the wire. False: out of memory.
  bool received(std::string_view bytes);
  // The next decrypted bytes; done: `size` (at least 1) of them are in `into`.
  Progress decrypt(std::span<char> into, std::size_t& size);
  // False: the connection is broken.
  bool encrypt(std::string_view bytes);
  // Moves what is to be sent to the end of `out`.
  void take_output(std::string& out);

 private:
  Progress progress(int result) const;

  net::TlsHandle<SSL> tls_;
  BIO* in_;   // owned by tls_
  BIO* out_;  // the same
};

}  // namespace weir::redis
