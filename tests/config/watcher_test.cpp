// SPDX-License-Identifier: Apache-2.0
// Every way in which a file changes is noticed, and nothing else is. Real files, real inotify; the only time
// in here is an upper bound.
#include "config/watcher.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "folder.hpp"

namespace weir::config {
namespace {

using namespace std::chrono_literals;

class Watching : public testing::Test {
 protected:
  void start() { watcher_.watch({folder_ / "a.yaml", folder_ / "b.yaml"}); }

  // Runs until `count` calls came in all, or 5 s are over.
  bool called(int count) {
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (calls_ < count && std::chrono::steady_clock::now() < end) context_.run_for(10ms);
    return calls_ == count;
  }

  // Nothing comes for longer than the poll takes.
  bool quiet() {
    const int before = calls_;
    context_.run_for(1300ms);
    return calls_ == before;
  }

  Folder folder_;
  boost::asio::io_context context_{1};
  int calls_ = 0;
  Watcher watcher_{context_, [this] { ++calls_; }};
};

TEST_F(Watching, WrittenInPlaceAndReplaced) {
  folder_.write("a.yaml", "1");
  start();
  folder_.write("a.yaml", "22");
  EXPECT_TRUE(called(1));
  folder_.replace("a.yaml", "333");
  EXPECT_TRUE(called(2));
  EXPECT_TRUE(quiet());
}

TEST_F(Watching, ManyWritesInARowAreOneChange) {
  folder_.write("a.yaml", "1");
  start();
  for (int n = 0; n < 20; ++n) {
    folder_.write("a.yaml", std::string(static_cast<std::size_t>(n) + 2, 'x'));
    context_.run_for(1ms);
  }
  EXPECT_TRUE(called(1));
  EXPECT_TRUE(quiet());
}

TEST_F(Watching, CreatedLaterAndDeleted) {
  folder_.write("a.yaml", "1");
  start();
  folder_.write("b.yaml", "1");
  EXPECT_TRUE(called(1));
  std::filesystem::remove(folder_.path() / "b.yaml");
  EXPECT_TRUE(called(2));
}

TEST_F(Watching, NeighboursDoNotCount) {
  folder_.write("a.yaml", "1");
  start();
  folder_.write("c.yaml", "1");
  folder_.write("c.yaml", "2");
  EXPECT_TRUE(quiet());
}

// a.yaml -> ..data/a.yaml, and ..data -> v1 is swapped for v2 by a rename.
TEST_F(Watching, SymlinkSwap) {
  namespace fs = std::filesystem;
  for (const char* const version : {"v1", "v2"}) {
    fs::create_directory(folder_.path() / version);
    folder_.write(std::string(version) + "/a.yaml", version);
  }
  fs::create_directory_symlink("v1", folder_.path() / "..data");
  fs::create_symlink("..data/a.yaml", folder_.path() / "a.yaml");
  start();
  fs::create_directory_symlink("v2", folder_.path() / "..next");
  fs::rename(folder_.path() / "..next", folder_.path() / "..data");
  EXPECT_TRUE(called(1));
  folder_.write("v2/a.yaml", "changed behind the links");
  EXPECT_TRUE(called(2));
}

TEST_F(Watching, TheFolderItselfComesLater) {
  watcher_.watch({folder_ / "later/a.yaml"});
  std::filesystem::create_directory(folder_.path() / "later");
  folder_.write("later/a.yaml", "1");
  EXPECT_TRUE(called(1)) << "no inotify on what did not exist: the poll sees it";
}

TEST_F(Watching, AChangeBetweenReadingAndWatchingIsNotLost) {
  folder_.write("a.yaml", "1");
  start();
  folder_.write("a.yaml", "changed while it was being loaded");
  start();
  EXPECT_TRUE(called(1));
}

TEST_F(Watching, StoppedMeansSilent) {
  folder_.write("a.yaml", "1");
  start();
  folder_.write("a.yaml", "22");
  watcher_.stop();
  EXPECT_TRUE(quiet());
}

}  // namespace
}  // namespace weir::config
