// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, made by the openssl command in a directory of their own. They live as long as the
// object.
#pragma once

#include <string>

#include "net/tls_certificate.hpp"

namespace weir::test {

class Certificates {
 public:
  Certificates();  // makes the authority "ca"
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  // NAME.pem and NAME.key, issued by the authority. `san` as openssl spells it: "DNS:a.test,IP:127.0.0.1".
  // `not_after` and `not_before`: "20200101000000Z", or empty for today and ten days later.
  void issue(const std::string& name, const std::string& san, const std::string& not_before = "",
             const std::string& not_after = "");
  void self_sign(const std::string& name, const std::string& san);
  void encrypt_key(const std::string& name, const std::string& as);

  std::string path(const std::string& file) const { return directory_ + "/" + file; }
  net::TlsFile read(const std::string& file) const;
  // Loads NAME.pem and NAME.key; fails the test if they do not load.
  std::shared_ptr<const net::TlsCertificate> load(const std::string& name) const;

 private:
  void run(const std::string& command) const;

  std::string directory_;
};

}  // namespace weir::test
