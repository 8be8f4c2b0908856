// SPDX-License-Identifier: Apache-2.0
// Bytes through TLS: reading, writing, ending, and the transport under OpenSSL. Beginning is in
// tls_handshake.cpp.
#include "net/tls_stream.hpp"

#include <openssl/err.h>

#include <algorithm>

namespace weir::net {
namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;  // what one record carries at most
constexpr std::size_t kBatchBytes = 64 * 1024;   // records that are sent with one system call

// What OpenSSL wrote since the last send. Shared by the thread's streams: none waits while it holds bytes.
std::string& outbox() noexcept {
  thread_local std::string bytes;
  return bytes;
}

}  // namespace

TlsStream::~TlsStream() {
  TlsStream::close();
}

Result<std::size_t> TlsStream::try_read(std::span<char> into) noexcept {
  if (failed_) return failed_;
  if (ended_) return std::size_t{0};
  if (!may_read()) return make_error_code(boost::system::errc::operation_would_block);
  std::size_t total = 0;
  while (total < into.size()) {
    std::size_t got = 0;
    const int result = SSL_read_ex(tls_.get(), into.data() + total, into.size() - total, &got);
    if (result == 1) {
      total += got;
      continue;
    }
    decrypted_ = false;
    const int error = SSL_get_error(tls_.get(), result);
    ended_ = error == SSL_ERROR_ZERO_RETURN;
    if (error != SSL_ERROR_WANT_READ && !ended_) (void)fail(result);
    (void)send_out();
    if (total > 0) {
      decrypted_ = ended_ || failed_;  // to be told with the next call
      return total;
    }
    if (failed_) return failed_;
    if (ended_) return std::size_t{0};
    return make_error_code(boost::system::errc::operation_would_block);
  }
  decrypted_ = SSL_has_pending(tls_.get()) == 1;
  if (!outbox().empty()) (void)send_out();
  return total;
}

// OpenSSL has taken a record for good before the kernel has: so the last byte is not confirmed while records
// are unsent, and the caller waits and comes again with it, as with any stream.
Result<std::size_t> TlsStream::try_write(std::string_view bytes) noexcept {
  if (failed_ && failed_ != TlsError::truncated) return failed_;
  Result<void> sent = send_out();
  if (!sent) return sent.error();
  if (!unsent_.empty() || bytes.empty()) return std::size_t{0};
  std::size_t taken = owes_byte_ ? 1 : 0;
  owes_byte_ = false;
  while (taken < bytes.size() && unsent_.empty()) {
    while (taken < bytes.size() && outbox().size() < kBatchBytes) {
      const std::size_t size = std::min(bytes.size() - taken, kRecordBytes);
      std::size_t written = 0;
      const int result = SSL_write_ex(tls_.get(), bytes.data() + taken, size, &written);
      if (result != 1) return fail(result);
      taken += written;
    }
    sent = send_out();
    if (!sent) return sent.error();
  }
  owes_byte_ = !unsent_.empty();
  return owes_byte_ ? taken - 1 : taken;
}

// What OpenSSL wrote goes behind what had to wait.
Result<void> TlsStream::send_out() noexcept {
  std::string& fresh = outbox();
  if (!unsent_.empty()) {
    unsent_ += fresh;
    fresh.clear();
    const auto taken = Stream::try_write(unsent_);
    if (!taken) return taken.error();
    unsent_.erase(0, *taken);
    if (unsent_.empty()) std::string().swap(unsent_);
    return {};
  }
  if (fresh.empty()) return {};
  const auto taken = Stream::try_write(fresh);
  if (taken) unsent_.assign(fresh, *taken);
  fresh.clear();
  if (!taken) return taken.error();
  return {};
}

void TlsStream::deliver() {
  if (!unsent_.empty() && may_write()) (void)send_out();
  Stream::deliver();
}

bool TlsStream::has_unread_bytes() noexcept {
  if (failed_ || ended_) return true;
  // Tickets and key updates are no bytes of the peer's; looking takes them in.
  char byte = 0;
  std::size_t got = 0;
  (void)Stream::has_unread_bytes();
  const int result = SSL_peek_ex(tls_.get(), &byte, 1, &got);
  decrypted_ = result == 1;
  if (result != 1) {
    const int error = SSL_get_error(tls_.get(), result);
    ended_ = error == SSL_ERROR_ZERO_RETURN;
    if (error != SSL_ERROR_WANT_READ && !ended_) (void)fail(result);
  }
  (void)send_out();
  return decrypted_ || ended_ || failed_;
}

void TlsStream::shutdown_write() noexcept {
  if (!open() || !established_) return Stream::shutdown_write();
  if (!failed_) (void)SSL_shutdown(tls_.get());
  ERR_clear_error();
  const Result<void> sent = send_out();
  if (!sent || unsent_.empty()) Stream::shutdown_write();
}

void TlsStream::close() noexcept {
  if (!open()) return;
  if (established_ && !failed_ && !broken()) {
    (void)SSL_shutdown(tls_.get());
    ERR_clear_error();
    (void)send_out();
  }
  Stream::close();
}

error_code TlsStream::fail(int result) noexcept {
  const int error = SSL_get_error(tls_.get(), result);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  ERR_clear_error();
  failed_ = error == SSL_ERROR_SSL ? judge(reason) : error_code(wire_ ? wire_ : TlsError::closed);
  if (!established_ && error != SSL_ERROR_SSL) failed_ = TlsError::closed;
  if (failed_ == TlsError::plain_text) refuse_plain_text();
  return failed_;
}

// OpenSSL says nothing to a peer that does not speak TLS; an alert (fatal, protocol_version) lets tools say
// what is wrong.
void TlsStream::refuse_plain_text() noexcept {
  constexpr std::string_view kAlert("\x15\x03\x01\x00\x02\x02\x46", 7);
  if (server_ != nullptr) outbox().append(kAlert);
}

const BIO_METHOD* TlsStream::transport() noexcept {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir stream");
    BIO_meth_set_read(made, read_wire);
    BIO_meth_set_write(made, write_wire);
    BIO_meth_set_ctrl(made, control_wire);
    return made;
  }();
  return method;
}

int TlsStream::read_wire(BIO* bio, char* into, int size) noexcept {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const auto got = self.Stream::try_read({into, static_cast<std::size_t>(size)});
  if (got) {
    self.wire_ended_ = *got == 0;
    return static_cast<int>(*got);
  }
  if (would_block(got.error())) {
    BIO_set_retry_read(bio);
  } else {
    self.wire_ = got.error();
  }
  return -1;
}

int TlsStream::write_wire(BIO*, const char* bytes, int size) noexcept {
  outbox().append(bytes, static_cast<std::size_t>(size));
  return size;
}

long TlsStream::control_wire(BIO* bio, int command, long, void*) noexcept {
  if (command == BIO_CTRL_EOF) return static_cast<TlsStream*>(BIO_get_data(bio))->wire_ended_ ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace weir::net
