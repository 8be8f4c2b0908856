// SPDX-License-Identifier: Apache-2.0
#include "redis/tls_layer.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <new>
#include <utility>

namespace weir::redis {

TlsLayer::TlsLayer(net::TlsHandle<SSL> tls)
    : tls_(std::move(tls)), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
  if (in_ == nullptr || out_ == nullptr) throw std::bad_alloc();
  SSL_set_bio(tls_.get(), in_, out_);
  SSL_set_connect_state(tls_.get());
}

TlsLayer::Progress TlsLayer::progress(int result) const {
  if (result > 0) return Progress::done;
  const int error = SSL_get_error(tls_.get(), result);
  return error == SSL_ERROR_WANT_READ ? Progress::wants_more : Progress::failed;
}

TlsLayer::Progress TlsLayer::handshake() {
  ERR_clear_error();
  return progress(SSL_do_handshake(tls_.get()));
}

bool TlsLayer::received(std::string_view bytes) {
  return BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
}

TlsLayer::Progress TlsLayer::decrypt(std::span<char> into, std::size_t& size) {
  ERR_clear_error();
  const int result = SSL_read(tls_.get(), into.data(), static_cast<int>(into.size()));
  size = result > 0 ? static_cast<std::size_t>(result) : 0;
  return progress(result);
}

bool TlsLayer::encrypt(std::string_view bytes) {
  ERR_clear_error();
  while (!bytes.empty()) {
    // One record at a time, where the context says so.
    const int written = SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void TlsLayer::take_output(std::string& out) {
  const auto size = static_cast<std::size_t>(BIO_ctrl_pending(out_));
  const std::size_t before = out.size();
  out.resize(before + size);
  if (size > 0) BIO_read(out_, out.data() + before, static_cast<int>(size));
}

}  // namespace weir::redis
