// SPDX-License-Identifier: Apache-2.0
// config/examples/tls.weir.yaml with files of its own beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/load.hpp"
#include "net/tls_context.hpp"
#include "support/certificates.hpp"

namespace weir::config {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

class TlsExample : public ::testing::Test {
 protected:
  TlsExample() {
    const fs::path examples = WEIR_SOURCE_DIR "/config/examples";
    for (const char* name : {"tls.weir.yaml", "tls.yaml"}) fs::copy_file(examples / name, made_.path(name));
    for (const char* name : {"site", "shop", "gateway"})
      made_.issue(name, std::string("DNS:") + name + ".test");
    for (const char* name : {"clients.pem", "upstreams.pem"})
      fs::copy_file(made_.path("ca.pem"), made_.path(name));
    std::ofstream(made_.path("site.ocsp")) << "response";
  }
  LoadResult load_it() const { return load(made_.path("tls.weir.yaml")); }

  test::Certificates made_;
};

TEST_F(TlsExample, MeansWhatItSays) {
  using Ask = net::TlsServerOptions::ClientCertificate;
  using Preamble = http::ListenerOptions::Preamble;
  const LoadResult result = load_it();
  EXPECT_THAT(result.errors, IsEmpty());
  ASSERT_NE(result.runtime, nullptr);
  const auto& listeners = result.runtime->server.listeners;
  ASSERT_EQ(listeners.size(), 2U);
  ASSERT_NE(listeners[0].tls, nullptr);
  EXPECT_EQ(listeners[0].preamble, Preamble::none);
  const net::TlsServerOptions& open = listeners[0].tls->options();
  ASSERT_EQ(open.certificates.size(), 2U);
  EXPECT_THAT(open.certificates[1]->names(), ::testing::ElementsAre("shop.test"));
  EXPECT_EQ(open.certificates[0]->ocsp(), "response");
  EXPECT_EQ(open.client_certificate, Ask::none);
  EXPECT_EQ(listeners[1].preamble, Preamble::proxy_protocol);
  EXPECT_EQ(listeners[1].tls->options().client_certificate, Ask::required);
  EXPECT_TRUE(result.runtime->server.trusts_proxy(boost::asio::ip::make_address("::ffff:127.0.0.9")));
  EXPECT_FALSE(result.runtime->server.trusts_proxy(boost::asio::ip::make_address("192.0.2.1")));
}

TEST_F(TlsExample, EveryFileIsWatchedAndAChangedOneIsANewVersion) {
  const LoadResult before = load_it();
  for (const char* name : {"site.pem", "site.key", "shop.pem", "shop.key", "site.ocsp", "clients.pem"}) {
    EXPECT_THAT(before.files, ::testing::Contains(made_.path(name)));
  }
  made_.issue("shop", "DNS:shop.test");
  const LoadResult after = load_it();
  ASSERT_NE(after.runtime, nullptr);
  EXPECT_NE(after.runtime->version, before.runtime->version);
}

TEST_F(TlsExample, NoKeyIsShown) {
  const std::string key = made_.read("site.key").bytes;
  const std::string inside = key.substr(key.find('\n') + 1, 20);
  EXPECT_THAT(load_it().runtime->printable, Not(HasSubstr(inside)));
  fs::copy_file(made_.path("shop.key"), made_.path("site.key"), fs::copy_options::overwrite_existing);
  const LoadResult wrong = load_it();
  ASSERT_FALSE(wrong.errors.empty());
  EXPECT_THAT(wrong.errors[0], HasSubstr("tls.weir.yaml:"));
  EXPECT_THAT(wrong.errors[0], HasSubstr("site.key: the key does not belong to the certificate in "));
}

}  // namespace
}  // namespace weir::config
