// SPDX-License-Identifier: Apache-2.0
#include "net/tls_stream.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace weir::net {

using boost::asio::awaitable;

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;  // what one record carries at most
constexpr std::size_t kBatchBytes = 64 * 1024;   // records that are sent with one system call

// What OpenSSL wrote since the last send. Shared by the thread's streams: none waits while it holds bytes.
std::string& outbox() noexcept {
  thread_local std::string bytes;
  return bytes;
}

TlsError error_of_verification(long verdict) noexcept {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return TlsError::certificate_expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return TlsError::certificate_early;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return TlsError::certificate_self_signed;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return TlsError::certificate_untrusted;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return TlsError::certificate_name;
    case X509_V_ERR_CERT_REVOKED:
      return TlsError::certificate_revoked;
    default:
      return TlsError::certificate_invalid;
  }
}

}  // namespace

TlsStream::TlsStream(EventLoop& loop, int descriptor, std::shared_ptr<const TlsServerContext> context)
    : Stream(loop, descriptor, true), server_(std::move(context)) {
  attach(server_->open());
}

TlsStream::TlsStream(EventLoop& loop, int descriptor, bool connected, Client client)
    : Stream(loop, descriptor, connected),
      client_(std::move(client.context)),
      sessions_(std::move(client.sessions)) {
  attach(client_->open(client.host));
  SSL_SESSION* const last = sessions_ == nullptr ? nullptr : sessions_->last(client_.get());
  if (tls_ != nullptr && last != nullptr) SSL_set_session(tls_.get(), last);
}

TlsStream::~TlsStream() {
  TlsStream::close();
}

void TlsStream::attach(TlsHandle<SSL> tls) {
  BIO* const bio = tls == nullptr ? nullptr : BIO_new(transport());
  if (bio == nullptr) {
    failed_ = TlsError::internal;
    return;
  }
  tls_ = std::move(tls);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);  // takes it over
  SSL_set_app_data(tls_.get(), this);
}

awaitable<Result<void>> TlsStream::handshake(std::int64_t deadline_ms) {
  for (Progress progress = step(); progress != Progress::done; progress = step()) {
    if (progress == Progress::failed) co_return failed_;
    const Interest interest = unsent_.empty() ? Interest::read : Interest::either;
    const Wake wake = co_await wait(interest, deadline_ms);
    if (wake == Wake::timed_out) failed_ = TlsError::timeout;
    if (wake == Wake::canceled) failed_ = make_error_code(boost::system::errc::operation_canceled);
    if (failed_) co_return failed_;
  }
  co_return Result<void>();
}

TlsStream::Progress TlsStream::step() {
  if (failed_) return Progress::failed;
  const int result = SSL_do_handshake(tls_.get());
  if (result == 1) return finish_handshake();
  if (SSL_get_error(tls_.get(), result) == SSL_ERROR_WANT_READ) {
    const Result<void> sent = send_out();
    if (sent) return Progress::waits;
    failed_ = TlsError::closed;
    return Progress::failed;
  }
  (void)fail(result);
  (void)send_out();  // the alert
  return Progress::failed;
}

TlsStream::Progress TlsStream::finish_handshake() {
  established_ = true;
  decrypted_ = SSL_has_pending(tls_.get()) == 1;
  const TlsHandle<X509> shown(SSL_get1_peer_certificate(tls_.get()));
  const bool verifies = SSL_get_verify_mode(tls_.get()) != SSL_VERIFY_NONE;
  if (shown != nullptr && verifies && SSL_get_verify_result(tls_.get()) == X509_V_OK) {
    // A resumed session was verified when it began.
    if (not_after_of(shown.get()) * 1000 <= loop().wall_ms()) {
      failed_ = TlsError::certificate_expired;
      return Progress::failed;
    }
    if (server_ != nullptr) peer_ = describe_peer(shown.get());
  }
  if (send_out()) return Progress::done;
  failed_ = TlsError::closed;
  return Progress::failed;
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

TlsVersion TlsStream::version() const noexcept {
  return SSL_version(tls_.get()) >= TLS1_3_VERSION ? TlsVersion::tls1_3 : TlsVersion::tls1_2;
}

bool TlsStream::resumed() const noexcept {
  return SSL_session_reused(tls_.get()) == 1;
}

int TlsStream::keep_session(SSL* tls, SSL_SESSION* session) {
  auto* const self = static_cast<TlsStream*>(SSL_get_app_data(tls));
  if (self == nullptr || self->sessions_ == nullptr) return 0;
  self->sessions_->keep(TlsHandle<SSL_SESSION>(session), self->client_.get());
  return 1;  // the session is ours
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

error_code TlsStream::judge(int reason) const noexcept {
  switch (reason) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return established_ ? TlsError::truncated : TlsError::closed;
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
      return established_ ? TlsError::protocol : TlsError::plain_text;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return error_of_verification(SSL_get_verify_result(tls_.get()));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return TlsError::certificate_missing;
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return TlsError::alpn;
    case ERR_R_MALLOC_FAILURE:
      return TlsError::internal;
    default:
      break;
  }
  if (reason == SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL) return TlsError::alpn;
  return reason >= SSL_AD_REASON_OFFSET ? TlsError::alert : TlsError::protocol;
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
