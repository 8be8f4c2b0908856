// SPDX-License-Identifier: Apache-2.0
#include "net/tls_ticket_keys.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <cstring>

namespace weir::net {
namespace {

bool set_mac_key(EVP_MAC_CTX* mac, TicketKeys::Key& key) noexcept {
  char digest[] = "SHA256";
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, params) == 1;
}

// Index of the TicketKeys among a context's own data.
int keys_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// OpenSSL's contract: 1 good, 2 good but renew, 0 no such key (a full handshake follows), -1 broken.
int seal_or_open(SSL* tls, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                 int sealing) {
  auto& keys = *static_cast<TicketKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(tls), keys_index()));
  if (sealing != 0) {
    TicketKeys::Key key = keys.current();
    if (!key.usable || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
    std::memcpy(name, key.name.data(), key.name.size());
    const bool ready = EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv) == 1 &&
                       set_mac_key(mac, key);
    return ready ? 1 : -1;
  }
  TicketKeys::Key key = keys.find(name);
  if (!key.usable) return 0;
  const bool ready = set_mac_key(mac, key) &&
                     EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv) == 1;
  if (!ready) return -1;
  // TLS 1.3 clients get fresh tickets anyway; to them 2 and 1 are the same.
  return keys.is_current(key) ? 1 : 2;
}

}  // namespace

void TicketKeys::rotate_if_due() {
  const std::int64_t now_ms = clock_.monotonic_ms();
  if (current_.usable && now_ms - current_.made_ms < kRotateMs) return;
  Key fresh;
  fresh.made_ms = now_ms;
  fresh.usable = RAND_bytes(fresh.name.data(), static_cast<int>(fresh.name.size())) == 1 &&
                 RAND_priv_bytes(fresh.cipher.data(), static_cast<int>(fresh.cipher.size())) == 1 &&
                 RAND_priv_bytes(fresh.mac.data(), static_cast<int>(fresh.mac.size())) == 1;
  // A key whose time has long passed unused is not kept: its tickets are as old.
  previous_ = current_.usable && now_ms - current_.made_ms < 2 * kRotateMs ? current_ : Key();
  current_ = fresh;
}

TicketKeys::Key TicketKeys::current() {
  const std::scoped_lock guard(lock_);
  rotate_if_due();
  return current_;
}

TicketKeys::Key TicketKeys::find(const unsigned char* name) {
  const std::scoped_lock guard(lock_);
  rotate_if_due();
  for (const Key& key : {current_, previous_}) {
    if (key.usable && std::memcmp(key.name.data(), name, key.name.size()) == 0) return key;
  }
  return {};
}

bool TicketKeys::is_current(const Key& key) {
  const std::scoped_lock guard(lock_);
  return key.name == current_.name;
}

void TicketKeys::install(SSL_CTX* context) {
  SSL_CTX_set_ex_data(context, keys_index(), this);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, seal_or_open);
}

TicketKeys& process_ticket_keys() {
  static TicketKeys keys(system_clock());
  return keys;
}

}  // namespace weir::net
