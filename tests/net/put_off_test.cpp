// SPDX-License-Identifier: Apache-2.0
// Sends that are put off to the end of a turn of the loop.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <functional>
#include <memory>
#include <string>

#include "net/stream.hpp"

namespace weir::net {
namespace {

// Two streams that have an event in the same turn: each calls what the test wants done with it.
class PutOffTest : public ::testing::Test {
 protected:
  struct Side {
    std::unique_ptr<Stream> stream;
    int peer = -1;
    std::function<void()> on_event;
  };

  PutOffTest() {
    for (Side& side : sides_) {
      int pair[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
      side.stream = std::make_unique<Stream>(loop_, pair[0], true);
      side.peer = pair[1];
      side.stream->observe({[](void* self) {
                              auto& called = static_cast<Side*>(self)->on_event;
                              if (called) called();
                            },
                            &side});
    }
    // The first event of all says that both can write.
    io_.poll();
  }
  ~PutOffTest() override {
    for (const Side& side : sides_) ::close(side.peer);
  }

  // One turn in which `senders` of the peers have spoken.
  void turn(std::size_t senders) {
    for (std::size_t n = 0; n < senders; ++n) EXPECT_EQ(::send(sides_[n].peer, "?", 1, 0), 1);
    while (io_.poll_one() == 0) {
    }
    for (Side& side : sides_) {
      if (side.stream) (void)side.stream->try_read(loop_.scratch());
    }
  }
  std::string received(std::size_t side) {
    std::string text(1 << 20, '\0');
    const ssize_t got = ::recv(sides_[side].peer, text.data(), text.size(), MSG_DONTWAIT);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  void say_soon(std::size_t side, std::string_view text) {
    const auto taken = sides_[side].stream->try_write_soon(text);
    ASSERT_TRUE(taken);
    EXPECT_EQ(*taken, text.size());
  }

  boost::asio::io_context io_{1};
  EventLoop loop_{io_, system_clock()};
  std::array<Side, 2> sides_;
};

TEST_F(PutOffTest, SendsGoOutTogetherAtTheEndOfTheTurn) {
  std::string seen = "none looked";
  sides_[0].on_event = [&] { say_soon(0, "first"); };
  sides_[1].on_event = [&] {
    seen = received(0);
    say_soon(1, "second");
  };
  turn(2);
  EXPECT_EQ(seen, "");
  EXPECT_EQ(received(0), "first");
  EXPECT_EQ(received(1), "second");
}

TEST_F(PutOffTest, ATurnOfOneSocketSendsAtOnce) {
  std::string seen;
  sides_[0].on_event = [&] {
    say_soon(0, "alone");
    seen = received(0);
  };
  turn(1);
  EXPECT_EQ(seen, "alone");
}

TEST_F(PutOffTest, WhatIsWrittenNextKeepsItsPlace) {
  sides_[0].on_event = [&] {
    say_soon(0, "one ");
    say_soon(0, "two ");
    EXPECT_TRUE(sides_[0].stream->try_write("three"));
  };
  turn(2);
  EXPECT_EQ(received(0), "one two three");
}

TEST_F(PutOffTest, ClosingSendsFirst) {
  sides_[0].on_event = [&] {
    say_soon(0, "goodbye");
    sides_[0].stream.reset();
  };
  sides_[1].on_event = [&] {
    say_soon(1, "done");
    sides_[1].stream->shutdown_write();
    EXPECT_EQ(received(1), "done");
  };
  turn(2);
  EXPECT_EQ(received(0), "goodbye");
}

TEST_F(PutOffTest, LongMessagesAreNotPutOff) {
  const std::string text(8 * 1024, 'x');
  std::string seen;
  sides_[0].on_event = [&] {
    say_soon(0, text);
    seen = received(0);
  };
  turn(2);
  EXPECT_EQ(seen, text);
}

TEST_F(PutOffTest, WhoWaitsForAnAnswerLearnsThatTheConnectionBroke) {
  bool woken = false;
  boost::asio::co_spawn(
      io_,
      [this, &woken]() -> boost::asio::awaitable<void> {
        Stream& stream = *sides_[1].stream;
        // The first wake is the peer's "?": an answer to it is written, and then its peer's word awaited.
        (void)co_await stream.wait(Interest::read, 0);
        (void)stream.try_read(loop_.scratch());
        say_soon(1, "lost");
        ::shutdown(stream.descriptor(), SHUT_WR);
        (void)co_await stream.wait(Interest::read, 0);
        woken = stream.broken();
      },
      boost::asio::detached);
  io_.poll();
  turn(2);
  EXPECT_TRUE(woken);
}

// The kernel takes no more than its buffer holds: the rest follows by itself, in front of what is written
// later.
TEST_F(PutOffTest, WhatDidNotFitFollowsWhenThereIsRoom) {
  Stream& stream = *sides_[0].stream;
  const std::string filler(512, 'f');
  std::size_t filled = 0;
  sides_[0].on_event = [&] {
    say_soon(0, "message");
    ssize_t sent = 0;
    while ((sent = ::send(stream.descriptor(), filler.data(), filler.size(), MSG_DONTWAIT)) > 0) {
      filled += static_cast<std::size_t>(sent);
    }
  };
  turn(2);
  sides_[0].on_event = nullptr;
  EXPECT_FALSE(stream.may_write());
  const auto refused = stream.try_write("later");
  ASSERT_TRUE(refused);
  EXPECT_EQ(*refused, 0U);

  std::string got;
  while (got.size() < filled) got += received(0);
  EXPECT_EQ(got, std::string(filled, 'f'));
  while (!stream.may_write()) io_.run_one();
  EXPECT_TRUE(stream.try_write(" later"));
  EXPECT_EQ(received(0), "message later");
}

}  // namespace
}  // namespace weir::net
