// SPDX-License-Identifier: Apache-2.0
#include "redis/error.hpp"

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

TEST(Error, ClassifiesByTheFirstWord) {
  EXPECT_EQ(classify("NOSCRIPT No matching script. Please use EVAL."), ErrorKind::noscript);
  EXPECT_EQ(classify("LOADING Redis is loading the dataset in memory"), ErrorKind::loading);
  EXPECT_EQ(classify("OOM command not allowed when used memory > 'maxmemory'."), ErrorKind::oom);
  EXPECT_EQ(classify("READONLY You can't write against a read only replica."), ErrorKind::readonly);
  EXPECT_EQ(classify("NOAUTH Authentication required."), ErrorKind::noauth);
  EXPECT_EQ(classify("WRONGPASS invalid username-password pair or user is disabled."), ErrorKind::noauth);
  EXPECT_EQ(classify("MOVED 3999 127.0.0.1:6381"), ErrorKind::moved);
  EXPECT_EQ(classify("CROSSSLOT Keys in request don't hash to the same slot"), ErrorKind::crossslot);
  EXPECT_EQ(classify("WRONGTYPE Operation against a key"), ErrorKind::wrong_type);
  EXPECT_EQ(classify("ERR Error running script: WRONGTYPE Operation"), ErrorKind::wrong_type);
  EXPECT_EQ(classify("NOPERM this user has no permissions"), ErrorKind::noperm);
  EXPECT_EQ(classify("ERR unknown command"), ErrorKind::other);
  EXPECT_EQ(classify(""), ErrorKind::other);
  EXPECT_EQ(classify("LOADINGX"), ErrorKind::other);
}

TEST(Error, BugsAreNoOutage) {
  for (const ErrorKind bug : {ErrorKind::moved, ErrorKind::crossslot, ErrorKind::wrong_type}) {
    EXPECT_FALSE(is_outage(make_error_code(bug))) << name_of(bug);
  }
  for (const ErrorKind outage :
       {ErrorKind::unavailable, ErrorKind::timeout, ErrorKind::protocol, ErrorKind::loading, ErrorKind::oom,
        ErrorKind::readonly, ErrorKind::noauth, ErrorKind::noperm}) {
    EXPECT_TRUE(is_outage(make_error_code(outage))) << name_of(outage);
  }
  EXPECT_FALSE(is_outage({}));
  EXPECT_TRUE(is_outage(boost::system::errc::make_error_code(boost::system::errc::timed_out)));
}

TEST(Error, HasANameForEveryKind) {
  EXPECT_EQ(name_of(ErrorKind::unavailable), "unavailable");
  EXPECT_EQ(name_of(ErrorKind::wrong_type), "wrong_type");
  EXPECT_EQ(name_of(ErrorKind::other), "other");
  EXPECT_EQ(name_of(static_cast<ErrorKind>(99)), "other");
  EXPECT_STREQ(category().name(), "weir.redis");
  EXPECT_EQ(make_error_code(ErrorKind::timeout).message(), "store: timeout");
}

}  // namespace
}  // namespace weir::redis
