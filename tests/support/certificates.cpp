// SPDX-License-Identifier: Apache-2.0
#include "support/certificates.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weir::test {
namespace {

constexpr const char* kNewKey = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";

}  // namespace

Certificates::Certificates() {
  std::string name = ::testing::TempDir() + "weir-certificates-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  directory_ = name;
  run(std::string("req -x509") + kNewKey + "-keyout ca.key -out ca.pem -days 10 -subj '/CN=weir test CA'");
  std::ofstream(path("ca.conf"))
      << "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nnew_certs_dir=.\n"
         "certificate=ca.pem\nprivate_key=ca.key\ndefault_md=sha256\nrand_serial=yes\n"
         "policy=any\nunique_subject=no\ncopy_extensions=copy\ndefault_days=10\n"
         "[any]\ncommonName=optional\norganizationName=optional\n";
  std::ofstream(path("index.txt")).flush();
}

Certificates::~Certificates() {
  std::filesystem::remove_all(directory_);
}

void Certificates::run(const std::string& command) const {
  const std::string line = "cd '" + directory_ + "' && openssl " + command + " >log 2>&1";
  EXPECT_EQ(std::system(line.c_str()), 0) << line << '\n' << read("log").bytes;
}

void Certificates::issue(const std::string& name, const std::string& san, const std::string& not_before,
                         const std::string& not_after) {
  const std::string extension = san.empty() ? "" : " -addext 'subjectAltName=" + san + "'";
  run(std::string("req -new") + kNewKey + "-keyout " + name + ".key -out " + name +
      ".csr -subj '/O=weir/CN=" + name + "'" + extension);
  const std::string from = not_before.empty() ? "" : " -startdate " + not_before;
  const std::string to = not_after.empty() ? "" : " -enddate " + not_after;
  run("ca -batch -notext -config ca.conf -in " + name + ".csr -out " + name + ".pem" + from + to);
}

void Certificates::self_sign(const std::string& name, const std::string& san) {
  run(std::string("req -x509") + kNewKey + "-keyout " + name + ".key -out " + name +
      ".pem -days 10 -subj /CN=" + name + " -addext 'subjectAltName=" + san + "'");
}

void Certificates::encrypt_key(const std::string& name, const std::string& as) {
  run("pkcs8 -topk8 -in " + name + ".key -out " + as + ".key -passout pass:secret");
}

net::TlsFile Certificates::read(const std::string& file) const {
  std::ostringstream bytes;
  bytes << std::ifstream(path(file)).rdbuf();
  return {file, bytes.str()};
}

std::shared_ptr<const net::TlsCertificate> Certificates::load(const std::string& name) const {
  std::string why;
  auto loaded = net::TlsCertificate::load(read(name + ".pem"), read(name + ".key"), {}, why);
  EXPECT_NE(loaded, nullptr) << why;
  return loaded;
}

}  // namespace weir::test
