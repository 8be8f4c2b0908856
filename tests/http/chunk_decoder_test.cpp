// SPDX-License-Identifier: Apache-2.0
#include "http/chunk_decoder.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "http/chunk_encoder.hpp"

namespace weir::http {
namespace {

struct Decoded {
  std::string body;
  std::size_t consumed = 0;
  bool done = false;
  bool broken = false;
};

// Decodes pieces cut at the given offsets, each in a buffer of its own.
Decoded decode(const std::string& wire, std::vector<std::size_t> cuts = {}) {
  ChunkDecoder decoder;
  Decoded result;
  cuts.push_back(wire.size());
  std::size_t from = 0;
  for (const std::size_t to : cuts) {
    std::string piece = wire.substr(from, to - from);
    from = to;
    const auto step = decoder.decode(piece.data(), piece.size());
    result.body += piece.substr(0, step.decoded);
    result.consumed += step.consumed;
    if (decoder.done() || decoder.broken()) break;
  }
  result.done = decoder.done();
  result.broken = decoder.broken();
  return result;
}

TEST(ChunkDecoder, DecodesAtEverySplitAndStopsAtTheEnd) {
  const std::string wire =
      "5\r\nhello\r\n00A;x=\"y;\\\"z\"\r\n 0123456\r\n\r\n0\r\nX-T: u\r\n\r\nGET / HTTP/1.1\r\n";
  const std::size_t end = wire.find("GET");
  for (std::size_t one = 0; one <= wire.size(); ++one) {
    for (std::size_t two = one; two <= wire.size(); ++two) {
      const Decoded result = decode(wire, {one, two});
      ASSERT_TRUE(result.done) << one << " " << two;
      ASSERT_EQ(result.body, "hello 0123456\r\n") << one << " " << two;
      ASSERT_EQ(result.consumed, end) << one << " " << two;
    }
  }
}

TEST(ChunkDecoder, RefusesEverythingThatIsNotTheGrammar) {
  for (const std::string wire : {"\r\n",
                                 "x\r\n",
                                 "+5\r\n",
                                 "-1\r\n",
                                 "0x5\r\nhello\r\n",
                                 " 5\r\nhello\r\n",
                                 "5 \r\nhello\r\n",
                                 "5\nhello\r\n",
                                 "5\r\nhello\n",
                                 "5\r\nhelloX",
                                 "5\r\nhello\rX",
                                 "5;a\nb\r\n",
                                 "5;\"a\nb\"\r\n",
                                 "5\rX",
                                 "00000000000000005\r\n",
                                 "ffffffffffffffff\r\n",
                                 "0\r\nX Y: z\r\n\r\n",
                                 "0\r\n: z\r\n\r\n",
                                 "0\r\nword\r\n\r\n",
                                 "0\r\nX: a\nb\r\n\r\n",
                                 "0\r\n\n",
                                 "0\r\nX: y\r\n folded\r\n\r\n"}) {
    EXPECT_TRUE(decode(wire).broken) << wire;
    EXPECT_FALSE(decode(wire).done) << wire;
  }
  EXPECT_TRUE(decode(std::string("5;a\0b\r\n", 7)).broken);
}

TEST(ChunkDecoder, BoundsLinesTrailersAndOverhead) {
  EXPECT_TRUE(decode("5;" + std::string(ChunkDecoder::kLineBytes, 'a')).broken);
  EXPECT_TRUE(decode("5;\"" + std::string(100000, 'a')).broken);
  std::string trailers = "0\r\n";
  while (trailers.size() <= ChunkDecoder::kTrailerBytes + 64) trailers += "X-Trailer: value\r\n";
  EXPECT_TRUE(decode(trailers).broken);
  std::string wasteful;
  for (int n = 0; n < 100; ++n) wasteful += "1;" + std::string(1000, 'e') + "\r\nx\r\n";
  EXPECT_TRUE(decode(wasteful).broken);
  std::string tiny;
  for (int n = 0; n < 100000; ++n) tiny += "1\r\nx\r\n";
  EXPECT_TRUE(decode(tiny + "0\r\n\r\n").done);
}

TEST(ChunkDecoder, UndoesTheEncoder) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::string body;
    std::string wire;
    for (int n = 0; n < 8; ++n) {
      const std::string piece(random() % 3000, static_cast<char>(random()));
      body += piece;
      append_chunk(wire, piece);
    }
    wire += kLastChunk;
    const Decoded result = decode(wire, {random() % wire.size()});
    EXPECT_TRUE(result.done);
    EXPECT_EQ(result.body, body);
  }
}

}  // namespace
}  // namespace weir::http
