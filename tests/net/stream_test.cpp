// SPDX-License-Identifier: Apache-2.0
#include "net/stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <string>

#include "net/listening_socket.hpp"
#include "net/resolver.hpp"

namespace weir::net {
namespace {

using boost::asio::awaitable;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    stream_ = std::make_unique<Stream>(loop_, pair[0], true);
    peer_ = pair[1];
  }
  ~StreamTest() override {
    if (peer_ >= 0) ::close(peer_);
  }

  // Runs the loop until the coroutine has ended.
  void run(awaitable<void> coroutine) {
    bool ended = false;
    boost::asio::co_spawn(io_, std::move(coroutine), [&](std::exception_ptr) { ended = true; });
    while (!ended) io_.run_one();
  }
  void send_from_peer(std::string_view text) {
    EXPECT_EQ(::send(peer_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  void close_peer() {
    ::close(peer_);
    peer_ = -1;
  }

  boost::asio::io_context io_{1};
  EventLoop loop_{io_, system_clock()};
  std::unique_ptr<Stream> stream_;
  int peer_ = -1;
};

TEST_F(StreamTest, ReadingWithoutAnEventCostsNothingAndSaysWouldBlock) {
  const auto got = stream_->try_read(loop_.scratch());
  ASSERT_FALSE(got);
  EXPECT_TRUE(would_block(got.error()));
}

awaitable<void> read_to_end(Stream& stream, std::string& text) {
  for (;;) {
    const auto got = stream.try_read(stream.loop().scratch());
    if (got && *got == 0) co_return;
    if (got) {
      text.append(stream.loop().scratch().data(), *got);
      continue;
    }
    if (!would_block(got.error())) co_return;
    const Wake wake = co_await stream.wait(Interest::read, 0);
    if (wake != Wake::ready) co_return;
  }
}

TEST_F(StreamTest, DeliversBytesThenTheEnd) {
  std::string text;
  boost::asio::post(io_, [this] { send_from_peer("hello "); });
  boost::asio::post(io_, [this] {
    send_from_peer("world");
    close_peer();
  });
  run(read_to_end(*stream_, text));
  EXPECT_EQ(text, "hello world");
  EXPECT_TRUE(stream_->peer_ended());
}

TEST_F(StreamTest, AnEndThatCameWithTheBytesIsNotLost) {
  send_from_peer("x");
  close_peer();
  std::string text;
  run(read_to_end(*stream_, text));
  EXPECT_EQ(text, "x");
}

awaitable<void> wait_into(Stream& stream, Interest interest, std::int64_t deadline_ms, Wake& wake) {
  wake = co_await stream.wait(interest, deadline_ms);
}

TEST_F(StreamTest, AWaitEndsAtItsDeadline) {
  Wake wake = Wake::ready;
  const std::int64_t before = loop_.clock().monotonic_ms();
  run(wait_into(*stream_, Interest::read, before + 120, wake));
  EXPECT_EQ(wake, Wake::timed_out);
  EXPECT_GE(loop_.clock().monotonic_ms() - before, 120);
}

TEST_F(StreamTest, CancelWakesAndStays) {
  Wake wake = Wake::ready;
  boost::asio::post(io_, [this] { stream_->cancel(); });
  run(wait_into(*stream_, Interest::read, 0, wake));
  EXPECT_EQ(wake, Wake::canceled);
  wake = Wake::ready;
  run(wait_into(*stream_, Interest::read, 0, wake));
  EXPECT_EQ(wake, Wake::canceled);
}

TEST_F(StreamTest, AFullSendBufferIsWaitedFor) {
  const std::string block(1 << 20, 'x');
  std::size_t sent = 0;
  for (;;) {
    const auto taken = stream_->try_write(block);
    ASSERT_TRUE(taken);
    sent += *taken;
    if (*taken < block.size()) break;
  }
  EXPECT_FALSE(stream_->may_write());
  const auto more = stream_->try_write(block);
  ASSERT_TRUE(more);
  EXPECT_EQ(*more, 0u);
  boost::asio::post(io_, [this, sent] {
    std::string sink(sent, 0);
    std::size_t got = 0;
    while (got < sent) got += static_cast<std::size_t>(::recv(peer_, sink.data(), sink.size(), 0));
  });
  Wake wake = Wake::canceled;
  run(wait_into(*stream_, Interest::write, 0, wake));
  EXPECT_EQ(wake, Wake::ready);
}

TEST_F(StreamTest, AnObserverHearsWhatNobodyWaitsFor) {
  struct Heard {
    Stream* stream;
    int events = 0;
  } heard{stream_.get()};
  // The first event only says that the socket is writable.
  while (io_.poll_one() > 0) {
  }
  stream_->observe({[](void* context) { ++static_cast<Heard*>(context)->events; }, &heard});
  close_peer();
  while (heard.events == 0) io_.run_one();
  EXPECT_TRUE(stream_->peer_ended());
  EXPECT_TRUE(stream_->has_unread_bytes());
}

TEST_F(StreamTest, AStreamMayBeDestroyedWhileItsEventIsInTheBatch) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  auto other = std::make_unique<Stream>(loop_, pair[0], true);
  while (io_.poll_one() > 0) {
  }
  struct Both {
    std::unique_ptr<Stream>* first;
    std::unique_ptr<Stream>* second;
  } both{&stream_, &other};
  const Stream::Observer kill_both{[](void* context) {
                                     auto* streams = static_cast<Both*>(context);
                                     streams->first->reset();
                                     streams->second->reset();
                                   },
                                   &both};
  stream_->observe(kill_both);
  other->observe(kill_both);
  send_from_peer("x");
  EXPECT_EQ(::send(pair[1], "x", 1, 0), 1);
  while (stream_ != nullptr) io_.run_one();
  EXPECT_EQ(other, nullptr);
  ::close(pair[1]);
}

awaitable<void> connect_and_close(EventLoop& loop, PeerAddress to, Wake& wake, error_code& failed) {
  auto stream = begin_connect(loop, to);
  if (!stream) {
    failed = stream.error();
    co_return;
  }
  wake = co_await (*stream)->wait(Interest::write, 0);
  failed = (*stream)->connect_error();
}

TEST_F(StreamTest, ConnectsToAListeningSocketAndIsAccepted) {
  struct Accepted {
    int descriptor = -1;
    PeerAddress peer;
  } accepted;
  auto socket = ListeningSocket::open(loop_, "127.0.0.1", 0,
                                      {[](void* context, ListeningSocket& listener) {
                                         auto* into = static_cast<Accepted*>(context);
                                         auto descriptor = listener.accept(into->peer);
                                         if (descriptor) into->descriptor = *descriptor;
                                       },
                                       &accepted});
  ASSERT_TRUE(socket);
  Wake wake = Wake::canceled;
  error_code failed;
  const auto loopback = boost::asio::ip::make_address("127.0.0.1");
  run(connect_and_close(loop_, {loopback, (*socket)->port()}, wake, failed));
  EXPECT_EQ(wake, Wake::ready);
  EXPECT_FALSE(failed) << failed.message();
  while (accepted.descriptor < 0) io_.run_one();
  EXPECT_EQ(accepted.peer.address, loopback);
  EXPECT_NE(accepted.peer.port, 0);
  ::close(accepted.descriptor);
}

TEST_F(StreamTest, AnAddressInUseByAnotherKindOfSocketIsAnError) {
  EXPECT_FALSE(ListeningSocket::open(loop_, "not-an-address", 0, {}));
  EXPECT_FALSE(ListeningSocket::open(loop_, "203.0.113.7", 0, {}));
}

awaitable<void> resolve_into(EventLoop& loop, ResolvedName& name) {
  if (name.next() == nullptr) co_await name.wait_for_first(loop.now_ms() + 5000);
}

TEST_F(StreamTest, NamesAreResolvedOffTheLoopAndLiteralsAtOnce) {
  ResolvedName literal(loop_, "::1", 81);
  ASSERT_NE(literal.next(), nullptr);
  EXPECT_EQ(literal.next()->port, 81);
  ResolvedName name(loop_, "localhost", 82);
  EXPECT_EQ(name.next(), nullptr);
  run(resolve_into(loop_, name));
  ASSERT_NE(name.next(), nullptr);
  EXPECT_TRUE(name.next()->address.is_loopback());
  EXPECT_EQ(name.next()->port, 82);
}

}  // namespace
}  // namespace weir::net
