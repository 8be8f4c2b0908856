// SPDX-License-Identifier: Apache-2.0
// A certificate outside of its time of validity must not stop what has nothing to do with it: quotas change
// at night, too. So it is a warning where it is in force already or nothing runs yet. It never takes the
// place of another one of the same file, which stays. Only where a running gateway has none of that file it
// is refused.
#include "config/parse.hpp"
#include "net/tls_certificate.hpp"

namespace weir::config {
namespace {

using CertificatePointer = std::shared_ptr<const net::TlsCertificate>;

// The one in force for that file, if possible the very same; nullptr: none.
CertificatePointer find_in_force(const Certificates& in_force, const net::TlsCertificate& wanted) {
  CertificatePointer found;
  for (const CertificatePointer& one : in_force) {
    if (one->file() != wanted.file()) continue;
    if (one->is_same(wanted)) return one;
    found = one;
  }
  return found;
}

void warn(Section& section, std::string text) {
  section.context().diagnostics.warning(section.at("certificate"), section.path_of("certificate"),
                                        std::move(text));
}

}  // namespace

CertificatePointer take_certificate(Section& section, const net::TlsFile& certificate,
                                    const net::TlsFile& key, const net::TlsFile& ocsp) {
  std::string why;
  CertificatePointer loaded = net::TlsCertificate::load(certificate, key, ocsp, why);
  if (loaded == nullptr) {
    section.error("certificate", why);
    return nullptr;
  }
  const std::string fault = loaded->validity_fault(system_clock().wall_ms() / 1000);
  if (fault.empty()) return loaded;
  const std::string said = certificate.name + ": the certificate " + fault;
  Context& context = section.context();
  if (context.in_force == nullptr) {
    warn(section, said + "; clients will refuse it");
    return loaded;
  }
  CertificatePointer before = find_in_force(*context.in_force, *loaded);
  if (before == nullptr) {
    section.error("certificate", said);
  } else if (before->is_same(*loaded)) {
    warn(section, said + "; it is in force, and clients refuse it");
    return loaded;
  } else {
    warn(section, said + "; the one that is in force stays");
    ++context.kept_certificates;
  }
  return before;
}

}  // namespace weir::config
