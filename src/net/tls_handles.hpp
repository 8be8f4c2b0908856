// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL's objects.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace weir::net {

struct FreeTls {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL* tls) const noexcept { SSL_free(tls); }
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(STACK_OF(X509) * chain) const noexcept { sk_X509_pop_free(chain, X509_free); }
  void operator()(STACK_OF(GENERAL_NAME) * names) const noexcept { GENERAL_NAMES_free(names); }
};

template <class T>
using TlsHandle = std::unique_ptr<T, FreeTls>;

}  // namespace weir::net
