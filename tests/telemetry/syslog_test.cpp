// SPDX-License-Identifier: Apache-2.0
#include "telemetry/syslog_socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

#include "telemetry/line_writer.hpp"
#include "telemetry/records.hpp"

namespace weir::telemetry {
namespace {

using test::Folder;
using testing::HasSubstr;
using testing::MatchesRegex;

// A daemon's socket.
class Daemon {
 public:
  explicit Daemon(const std::string& path) : path_(path), socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Daemon() {
    ::close(socket_);
    ::unlink(path_.c_str());
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::string receive() {
    std::array<char, 65536> buffer;
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    return size < 0 ? "nothing came" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  std::string path_;
  int socket_;
};

TEST(SyslogTarget, Forms) {
  std::string why;
  EXPECT_TRUE(names_syslog("syslog"));
  EXPECT_TRUE(names_syslog("syslog:/run/x"));
  EXPECT_FALSE(names_syslog("syslog.jsonl"));
  EXPECT_FALSE(names_syslog("/var/log/syslog"));
  EXPECT_EQ(parse_syslog_target("syslog", why)->path, "/dev/log");
  EXPECT_EQ(parse_syslog_target("syslog:/run/x", why)->path, "/run/x");
  const auto four = parse_syslog_target("syslog://192.0.2.1:514", why);
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->host, "192.0.2.1");
  EXPECT_EQ(four->port, 514);
  EXPECT_EQ(parse_syslog_target("syslog://[2001:db8::1]:6514", why)->host, "2001:db8::1");
  for (const char* const bad :
       {"syslog:", "syslog:relative", "syslog://", "syslog://host:514", "syslog://192.0.2.1",
        "syslog://192.0.2.1:0", "syslog://192.0.2.1:5x", "syslog://192.0.2.1:70000"}) {
    why.clear();
    EXPECT_FALSE(parse_syslog_target(bad, why).has_value()) << bad;
    EXPECT_THAT(why, HasSubstr("syslog:/path/to/socket")) << bad;
    EXPECT_FALSE(LineWriter::open(bad).has_value()) << bad;
  }
}

TEST(SyslogMessage, IsOfRfc5424) {
  std::string text;
  append_syslog_message(text, 0, "{\"a\":1}");
  EXPECT_THAT(text, MatchesRegex("<134>1 1970-01-01T00:00:00.000Z [^ ]+ weir [0-9]+ access - \\{\"a\":1\\}"));
}

TEST(SyslogWriter, SendsEachLineByItself) {
  const Folder folder;
  Daemon daemon(folder.file("log"));
  auto writer = *LineWriter::open("syslog:" + folder.file("log"));
  std::string chunk = "first\nsecond\n";
  ASSERT_TRUE(writer->submit(chunk, 2));
  EXPECT_THAT(daemon.receive(), HasSubstr(" access - first"));
  EXPECT_THAT(daemon.receive(), HasSubstr(" access - second"));
}

TEST(SyslogWriter, CountsWhatNobodyHeardAndFindsANewDaemon) {
  const Folder folder;
  auto writer = *LineWriter::open("syslog:" + folder.file("log"));
  std::string chunk = "lost\nlost\n";
  writer->submit(chunk, 2);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (writer->lines_dropped() < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(writer->lines_dropped(), 2U);
  for (const char* const name : {"one", "another"}) {
    Daemon daemon(folder.file("log"));
    writer->reopen();
    chunk = std::string(name) + "\n";
    writer->submit(chunk, 1);
    EXPECT_THAT(daemon.receive(), HasSubstr(name));
  }
}

}  // namespace
}  // namespace weir::telemetry
