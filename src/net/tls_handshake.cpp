// SPDX-License-Identifier: Apache-2.0
// A TlsStream's beginning: handshake, session, the peer's certificate, and what a failure means.
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "net/tls_stream.hpp"

namespace weir::net {

using boost::asio::awaitable;

namespace {

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

}  // namespace weir::net
