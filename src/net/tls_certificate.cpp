// SPDX-License-Identifier: Apache-2.0
#include "net/tls_certificate.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>

namespace weir::net {
namespace {

using Match = TlsCertificate::Match;

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, lower, lower);
}

TlsHandle<BIO> reader_of(const std::string& bytes) {
  return TlsHandle<BIO>(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

// A key that asks for a passphrase gets none: nobody is there to type it.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

std::int64_t seconds_of(const ASN1_TIME* time) noexcept {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return ::timegm(&parts);
}

std::string date_of(const ASN1_TIME* time) {
  const std::time_t seconds = seconds_of(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string text_of(const ASN1_STRING* value) {
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
  return {data, static_cast<std::size_t>(ASN1_STRING_length(value))};
}

// UTF-8. A name with a NUL in it is no name: it could be read as two.
std::string common_name_of(X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name.find('\0') == std::string::npos ? name : std::string();
}

std::vector<std::string> alternative_names(X509* certificate, int type) {
  std::vector<std::string> found;
  const TlsHandle<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int n = 0; n < sk_GENERAL_NAME_num(names.get()); ++n) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), n);
    if (name->type != type) continue;
    std::string text = text_of(name->d.ia5);
    if (text.find('\0') == std::string::npos) found.push_back(std::move(text));
  }
  return found;
}

std::string first_alternative_name(X509* certificate, int type) {
  std::vector<std::string> names = alternative_names(certificate, type);
  return names.empty() ? std::string() : std::move(names.front());
}

std::string subject_of(X509* certificate) {
  const TlsHandle<BIO> out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB));
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

Match match_server_name(std::string_view pattern, std::string_view server_name) noexcept {
  if (same_name(pattern, server_name)) return Match::exact;
  if (!pattern.starts_with("*.")) return Match::none;
  const std::size_t dot = server_name.find('.');
  const bool covers =
      dot != std::string_view::npos && dot > 0 && same_name(pattern.substr(1), server_name.substr(dot));
  return covers ? Match::wildcard : Match::none;
}

Match TlsCertificate::match(std::string_view server_name) const noexcept {
  Match best = Match::none;
  for (const std::string& name : names_) best = std::max(best, match_server_name(name, server_name));
  return best;
}

std::size_t choose_certificate(std::span<const std::shared_ptr<const TlsCertificate>> certificates,
                               std::string_view server_name) noexcept {
  std::size_t chosen = 0;
  Match best = Match::none;
  for (std::size_t n = 0; n < certificates.size(); ++n) {
    const Match match = certificates[n]->match(server_name);
    if (match <= best) continue;
    best = match;
    chosen = n;
  }
  return chosen;
}

std::shared_ptr<const TlsCertificate> TlsCertificate::load(const TlsFile& certificate, const TlsFile& key,
                                                           const TlsFile& ocsp, std::string& why) {
  const auto refuse = [&why](const std::string& file, const std::string& reason) {
    ERR_clear_error();
    why = file + ": " + reason;
    return nullptr;
  };
  std::shared_ptr<TlsCertificate> loaded(new TlsCertificate);
  loaded->file_ = certificate.name;
  const TlsHandle<BIO> pem = reader_of(certificate.bytes);
  loaded->leaf_.reset(PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr));
  if (loaded->leaf_ == nullptr) return refuse(certificate.name, "holds no certificate in PEM form");
  loaded->chain_.reset(sk_X509_new_null());
  while (X509* const issuer = PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)) {
    sk_X509_push(loaded->chain_.get(), issuer);
  }
  ERR_clear_error();
  bool asked = false;
  loaded->key_.reset(PEM_read_bio_PrivateKey(reader_of(key.bytes).get(), nullptr, no_passphrase, &asked));
  if (asked) return refuse(key.name, "the key is encrypted; store it without a passphrase");
  if (loaded->key_ == nullptr) return refuse(key.name, "holds no private key in PEM form");
  if (X509_check_private_key(loaded->leaf_.get(), loaded->key_.get()) != 1) {
    return refuse(key.name, "the key does not belong to the certificate in " + certificate.name);
  }
  loaded->names_ = alternative_names(loaded->leaf_.get(), GEN_DNS);
  if (loaded->names_.empty()) loaded->names_ = {common_name_of(loaded->leaf_.get())};
  loaded->not_after_s_ = not_after_of(loaded->leaf_.get());
  loaded->ocsp_ = ocsp.bytes;
  return loaded;
}

std::string TlsCertificate::validity_fault(std::int64_t now_s) const {
  const ASN1_TIME* const begin = X509_get0_notBefore(leaf_.get());
  if (not_after_s_ <= now_s) return "expired at " + not_after();
  if (seconds_of(begin) > now_s) return "is not valid before " + date_of(begin);
  return {};
}

std::string TlsCertificate::not_after() const {
  return date_of(X509_get0_notAfter(leaf_.get()));
}

bool TlsCertificate::is_same(const TlsCertificate& other) const noexcept {
  return X509_cmp(leaf_.get(), other.leaf_.get()) == 0;
}

TlsPeer describe_peer(X509* certificate) {
  return {common_name_of(certificate), subject_of(certificate), first_alternative_name(certificate, GEN_DNS),
          first_alternative_name(certificate, GEN_URI), first_alternative_name(certificate, GEN_EMAIL)};
}

std::int64_t not_after_of(X509* certificate) noexcept {
  return seconds_of(X509_get0_notAfter(certificate));
}

}  // namespace weir::net
