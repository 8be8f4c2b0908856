// SPDX-License-Identifier: Apache-2.0
#include "net/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/ip/address.hpp>

#include "net/tls_stream.hpp"

namespace weir::net {
namespace {

constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";  // of TLS 1.2; those of 1.3 are all as good
constexpr std::string_view kHttp11("\x08http/1.1", 9);           // as ALPN writes it: length, name
constexpr long kSessionSeconds = 2 * 60 * 60;                    // what the ticket keys live at most

std::string fault_of(const TlsFile& file, std::string_view reason) {
  ERR_clear_error();
  return file.name + ": " + std::string(reason);
}

TlsHandle<SSL_CTX> make_context(const SSL_METHOD* method, TlsVersion min_version) {
  TlsHandle<SSL_CTX> context(SSL_CTX_new(method));
  if (context == nullptr) return nullptr;
  SSL_CTX* const tls = context.get();
  SSL_CTX_set_min_proto_version(tls, min_version == TlsVersion::tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(tls, kCiphers);
  SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(
      tls, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A record's header and its body in one read.
  SSL_CTX_set_read_ahead(tls, 1);
  return context;
}

// All certificates of a PEM file; false if there is none.
bool add_authorities(X509_STORE* store, const TlsFile& file, STACK_OF(X509_NAME) * names) {
  const TlsHandle<BIO> pem(BIO_new_mem_buf(file.bytes.data(), static_cast<int>(file.bytes.size())));
  int found = 0;
  while (X509* const read = PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)) {
    const TlsHandle<X509> authority(read);
    X509_STORE_add_cert(store, read);
    if (names != nullptr) sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(read)));
    ++found;
  }
  ERR_clear_error();
  return found > 0;
}

bool use_certificate(SSL* tls, const TlsCertificate& certificate) noexcept {
  return SSL_use_cert_and_key(tls, certificate.leaf(), certificate.key(), certificate.chain(), 1) == 1;
}

// Clients without ALPN are HTTP/1.1's.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  const auto* ours = reinterpret_cast<const unsigned char*>(kHttp11.data());
  unsigned char* found = nullptr;
  const int verdict = SSL_select_next_proto(&found, chosen_size, ours, kHttp11.size(), offered, offered_size);
  *chosen = found;
  return verdict == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

std::string_view tls_version_name(TlsVersion version) noexcept {
  return version == TlsVersion::tls1_3 ? "TLSv1.3" : "TLSv1.2";
}

TlsDemands tls_demands(const TlsServerContext* context) noexcept {
  using Ask = TlsServerOptions::ClientCertificate;
  if (context == nullptr) return TlsDemands::none;
  switch (context->options().client_certificate) {
    case Ask::none:
      return TlsDemands::tls;
    case Ask::optional:
      return TlsDemands::optional_certificate;
    case Ask::required:
      break;
  }
  return TlsDemands::certificate;
}

std::shared_ptr<const TlsServerContext> TlsServerContext::make(TlsServerOptions options, std::string& why) {
  std::shared_ptr<TlsServerContext> made(new TlsServerContext);
  made->options_ = std::move(options);
  made->context_ = make_context(TLS_server_method(), made->options_.min_version);
  SSL_CTX* const tls = made->context_.get();
  if (tls == nullptr) {
    why = "out of memory";
    return nullptr;
  }
  SSL_CTX_set_options(tls, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(tls, kSessionSeconds);
  made->options_.ticket_keys->install(tls);
  SSL_CTX_set_cert_cb(tls, choose, made.get());
  SSL_CTX_set_alpn_select_cb(tls, choose_protocol, nullptr);
  SSL_CTX_set_tlsext_status_cb(tls, staple);
  SSL_CTX_set_tlsext_status_arg(tls, made.get());
  if (!made->trust_clients(why)) return nullptr;
  return made;
}

// A session is resumed only where its client was judged by the same rules.
bool TlsServerContext::trust_clients(std::string& why) {
  using Ask = TlsServerOptions::ClientCertificate;
  SSL_CTX* const tls = context_.get();
  const Ask ask = options_.client_certificate;
  std::string rules = ask == Ask::none ? std::string("-") : options_.client_ca.bytes;
  rules += static_cast<char>('0' + static_cast<int>(ask));
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(rules.data()), rules.size(), digest.data());
  SSL_CTX_set_session_id_context(tls, digest.data(), digest.size());
  if (ask == Ask::none) return true;

  STACK_OF(X509_NAME)* const names = sk_X509_NAME_new_null();
  const bool found = add_authorities(SSL_CTX_get_cert_store(tls), options_.client_ca, names);
  SSL_CTX_set_client_CA_list(tls, names);  // takes them over
  if (!found) {
    why = fault_of(options_.client_ca, "holds no certificate in PEM form");
    return false;
  }
  const int required = ask == Ask::required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | required, nullptr);
  return true;
}

TlsHandle<SSL> TlsServerContext::open() const {
  TlsHandle<SSL> tls(SSL_new(context_.get()));
  if (tls != nullptr) SSL_set_accept_state(tls.get());
  return tls;
}

// Called once the client's hello has been read. Certificates for the same name may differ in the kind of
// their key; OpenSSL takes the one that the client can verify.
int TlsServerContext::choose(SSL* tls, void* self) noexcept {
  const auto& certificates = static_cast<TlsServerContext*>(self)->options_.certificates;
  const char* asked = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
  const std::string_view name = asked == nullptr ? std::string_view() : std::string_view(asked);
  const std::size_t chosen = choose_certificate(certificates, name);
  const auto best = certificates[chosen]->match(name);
  for (std::size_t n = certificates.size(); n-- > 0;) {
    const bool twin = best != TlsCertificate::Match::none && certificates[n]->match(name) == best;
    if (twin && n != chosen && !use_certificate(tls, *certificates[n])) return 0;
  }
  return use_certificate(tls, *certificates[chosen]) ? 1 : 0;
}

int TlsServerContext::staple(SSL* tls, void* self) noexcept {
  const X509* shown = SSL_get_certificate(tls);
  for (const auto& certificate : static_cast<TlsServerContext*>(self)->options_.certificates) {
    if (certificate->leaf() != shown || certificate->ocsp().empty()) continue;
    const std::string& response = certificate->ocsp();
    void* const copy = OPENSSL_memdup(response.data(), response.size());  // the connection frees it
    if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_tlsext_status_ocsp_resp(tls, static_cast<unsigned char*>(copy),
                                    static_cast<long>(response.size()));
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

std::shared_ptr<const TlsClientContext> TlsClientContext::make(TlsClientOptions options, std::string& why) {
  std::shared_ptr<TlsClientContext> made(new TlsClientContext);
  made->options_ = std::move(options);
  const TlsClientOptions& wanted = made->options_;
  made->context_ = make_context(TLS_client_method(), wanted.min_version);
  SSL_CTX* const tls = made->context_.get();
  if (tls == nullptr) {
    why = "out of memory";
    return nullptr;
  }
  SSL_CTX_set_verify(tls, wanted.verify == TlsClientOptions::Verify::on ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                     nullptr);
  if (wanted.ca.bytes.empty()) {
    SSL_CTX_set_default_verify_paths(tls);
  } else if (!add_authorities(SSL_CTX_get_cert_store(tls), wanted.ca, nullptr)) {
    why = fault_of(wanted.ca, "holds no certificate in PEM form");
    return nullptr;
  }
  if (wanted.certificate != nullptr) {
    const TlsCertificate& own = *wanted.certificate;
    SSL_CTX_use_cert_and_key(tls, own.leaf(), own.key(), own.chain(), 1);
  }
  SSL_CTX_set_alpn_protos(tls, reinterpret_cast<const unsigned char*>(kHttp11.data()), kHttp11.size());
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(tls, TlsStream::keep_session);
  return made;
}

TlsHandle<SSL> TlsClientContext::open(std::string_view host) const {
  TlsHandle<SSL> tls(SSL_new(context_.get()));
  if (tls == nullptr) return nullptr;
  SSL_set_connect_state(tls.get());
  const std::string name = options_.server_name.empty() ? std::string(host) : options_.server_name;
  error_code no_literal;
  (void)boost::asio::ip::make_address(name, no_literal);
  const bool checks = options_.verify == TlsClientOptions::Verify::on;
  if (!no_literal) {
    // An address is not sent as a name (RFC 6066, 3); the certificate has to list it.
    const bool set = !checks || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls.get()), name.c_str()) == 1;
    return set ? std::move(tls) : nullptr;
  }
  if (SSL_set_tlsext_host_name(tls.get(), name.c_str()) != 1) return nullptr;
  SSL_set_hostflags(tls.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (checks && SSL_set1_host(tls.get(), name.c_str()) != 1) return nullptr;
  return tls;
}

}  // namespace weir::net
