// SPDX-License-Identifier: Apache-2.0
#include "telemetry/line_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "telemetry/line_buffer.hpp"
#include "telemetry/log_writers.hpp"
#include "telemetry/records.hpp"

namespace weir::telemetry {
namespace {

using test::contents;
using test::Folder;
using test::lines;

// Waits for what another thread will do soon; a test that needs more than ten seconds of it fails.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

TEST(LineWriter, WritesWholeChunksInOrder) {
  const Folder folder;
  {
    auto writer = *LineWriter::open(folder.file("log"));
    for (int n = 0; n < 50; ++n) {
      std::string chunk = "line " + std::to_string(n) + "\nsecond\n";
      ASSERT_TRUE(writer->submit(chunk, 2));
      EXPECT_TRUE(chunk.empty());
    }
  }
  const auto written = lines(contents(folder.file("log")));
  ASSERT_EQ(written.size(), 100U);
  EXPECT_EQ(written[0], "line 0");
  EXPECT_EQ(written[98], "line 49");
}

TEST(LineWriter, FollowsARename) {
  const Folder folder;
  auto writer = *LineWriter::open(folder.file("log"));
  std::string chunk = "before\n";
  writer->submit(chunk, 1);
  ASSERT_TRUE(eventually([&] { return writer->lines_written() == 1; }));
  std::filesystem::rename(folder.file("log"), folder.file("log.1"));
  chunk = "after\n";
  writer->submit(chunk, 1);
  ASSERT_TRUE(eventually([&] { return writer->lines_written() == 2; }));
  EXPECT_EQ(contents(folder.file("log.1")), "before\n");
  EXPECT_EQ(contents(folder.file("log")), "after\n");
}

TEST(LineWriter, ReportsAFileItCannotOpen) {
  EXPECT_TRUE(LineWriter::open("/proc/no/such/file").has_error());
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int writer() const { return ends_[1]; }
  int reader() const { return ends_[0]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(LineWriter, AFullPipeBlocksNobody) {
  Pipe pipe;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t dropped = 0;
  {
    LineWriter writer("test", pipe.writer(), LineWriter::Ownership::borrowed);
    for (int n = 0; n < 2000; ++n) {
      std::string chunk(64 * 1024, 'x');
      chunk.back() = '\n';
      dropped += writer.submit(chunk, 10) ? 0 : 10;
    }
    // 128 MiB were handed over in no time although nobody reads: all but what the queue holds is counted as
    // lost.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_GT(dropped, 15000U);
    EXPECT_EQ(writer.lines_dropped(), dropped);
  }
  // And it gives up writing out what is left.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(12));
}

TEST(LineWriter, AReaderThatIsGoneKillsNobody) {
  Pipe pipe;
  pipe.close_reader();
  LineWriter writer("test", pipe.writer(), LineWriter::Ownership::borrowed);
  std::string chunk = "a\nb\n";
  writer.submit(chunk, 2);
  EXPECT_TRUE(eventually([&] { return writer.lines_dropped() == 2; }));
}

TEST(LineWriter, ASlowReaderGetsEveryLine) {
  Pipe pipe;
  std::string read_back;
  std::thread reader([&] {
    std::array<char, 5000> buffer;
    for (ssize_t n = 0; (n = ::read(pipe.reader(), buffer.data(), buffer.size())) > 0;) {
      read_back.append(buffer.data(), static_cast<std::size_t>(n));
      if (read_back.ends_with("end\n")) return;
    }
  });
  {
    LineWriter writer("test", pipe.writer(), LineWriter::Ownership::borrowed);
    for (int n = 0; n < 20; ++n) {
      std::string chunk(50000, 'y');
      chunk += n == 19 ? "end\n" : "\n";
      writer.submit(chunk, 1);
    }
  }
  reader.join();
  EXPECT_EQ(lines(read_back).size(), 20U);
}

TEST(LineBuffer, HandsOverBySizeAndByAge) {
  const Folder folder;
  std::shared_ptr<LineWriter> writer = *LineWriter::open(folder.file("log"));
  LineBuffer buffer;
  buffer.text() += "lost: no writer\n";
  buffer.line_done(0);
  buffer.set_writer(writer);
  buffer.text() += "a\n";
  buffer.line_done(0);
  buffer.tick(999);
  EXPECT_EQ(buffer.text(), "a\n");
  buffer.tick(1000);
  EXPECT_EQ(buffer.text(), "");
  buffer.text() += std::string(LineBuffer::kFlushBytes, 'b') + '\n';
  buffer.line_done(1001);
  EXPECT_EQ(buffer.text(), "");
  EXPECT_TRUE(eventually([&] { return writer->lines_written() == 2; }));
}

TEST(LogWriters, ShareATargetAndChangeIt) {
  const Folder folder;
  LogWriters writers;
  EXPECT_EQ(writers.access(), nullptr);
  ASSERT_TRUE(writers.configure(folder.file("a"), folder.file("a")));
  EXPECT_EQ(writers.access(), writers.denials());
  const auto version = writers.version();
  ASSERT_TRUE(writers.configure(folder.file("a"), folder.file("a")));
  EXPECT_EQ(writers.version(), version);
  EXPECT_TRUE(writers.configure("/proc/no/such/file", "off").has_error());
  EXPECT_EQ(writers.version(), version);
  ASSERT_TRUE(writers.configure("off", folder.file("a")));
  EXPECT_EQ(writers.access(), nullptr);
  EXPECT_EQ(writers.denials()->target(), folder.file("a"));
  EXPECT_NE(writers.version(), version);
}

}  // namespace
}  // namespace weir::telemetry
