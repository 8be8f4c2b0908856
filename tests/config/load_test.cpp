// SPDX-License-Identifier: Apache-2.0
// Files that are missing, broken, huge or secret; versions; what needs a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "folder.hpp"

namespace weir::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kQuotas = "limit: {user: {default: 5}}\n";

// What the same configuration says after `spoil` has been at it; it has to be nothing that loads.
template <class Spoil>
std::string spoiled(Spoil spoil) {
  const Folder folder;
  EXPECT_NE(load_texts(folder, kWeir, kQuotas).runtime, nullptr);
  spoil(folder);
  const LoadResult result = load(folder / "weir.yaml");
  EXPECT_EQ(result.runtime, nullptr);
  EXPECT_THAT(result.files, Contains(folder / "weir.yaml"));
  return text_of(result.errors, folder);
}

std::string with_quotas(const std::string& text) {
  return spoiled([&](const Folder& folder) { folder.write("quotas.yaml", text); });
}

TEST(BadFiles, EachIsRefusedWithItsPlace) {
  EXPECT_THAT(with_quotas("limit:\n  caller: {default: 5"), HasSubstr("a { is never closed by }"));
  EXPECT_THAT(with_quotas("limit:\n  caller: {defualt: 5}\n"),
              HasSubstr("quotas.yaml:2:12: limit.caller.defualt: unknown key"));
  EXPECT_THAT(with_quotas("limit:\n  caller: {default: 5}\n  caller: {default: 6}\n"),
              HasSubstr("quotas.yaml:3:3: duplicate key `caller`; it stands at 2:3 already"));
  EXPECT_THAT(with_quotas("limit:\n  caller: {default: -5}\n"),
              HasSubstr("quotas.yaml:2:21: limit.caller.default: `-5`"));
  EXPECT_THAT(with_quotas("limit:\n  caller: {default: 0}\n"), HasSubstr("quotas.yaml:2:21:"));
  EXPECT_EQ(with_quotas(""), "quotas.yaml: the file is empty\n");
  EXPECT_THAT(with_quotas("limit: \x01\x02\n"), HasSubstr("quotas.yaml:1:8: this is not text"));
  EXPECT_THAT(with_quotas("limit:\n\tcaller: {default: 5}\n"), HasSubstr("quotas.yaml:2:1: a tab"));
}

TEST(BadFiles, MissingFolderAndHuge) {
  EXPECT_EQ(spoiled([](const Folder& folder) { std::filesystem::remove(folder.path() / "quotas.yaml"); }),
            "weir.yaml:8:1: quotas: cannot read quotas.yaml: No such file or directory\n");
  EXPECT_EQ(spoiled([](const Folder& folder) { std::filesystem::remove(folder.path() / "weir.yaml"); }),
            "weir.yaml: cannot read: No such file or directory\n");
  EXPECT_THAT(spoiled([](const Folder& folder) {
                std::filesystem::remove(folder.path() / "quotas.yaml");
                std::filesystem::create_directory(folder.path() / "quotas.yaml");
              }),
              HasSubstr("cannot read quotas.yaml: is a directory, a file is needed"));
  EXPECT_THAT(spoiled([](const Folder& folder) {
                folder.write("quotas.yaml", "limit: {}\n" + std::string(50'000'000, '#'));
              }),
              HasSubstr("cannot read quotas.yaml: is larger than 16 MiB"));
  EXPECT_THAT(spoiled([](const Folder& folder) { folder.write("weir.yaml", ""); }),
              HasSubstr("weir.yaml: the file is empty"));
}

TEST(Files, AreNamedForWatchingAlsoWhenTheLoadFails) {
  const Folder folder;
  const LoadResult result = load_texts(folder, kWeir, "limit: 5");
  EXPECT_EQ(result.runtime, nullptr);
  EXPECT_THAT(result.files, ElementsAre(folder / "weir.yaml", folder / "quotas.yaml"));
}

TEST(Version, FollowsTheBytesAndGenerationsCountLoads) {
  const Folder folder;
  const LoadResult first = load_texts(folder, kWeir, kQuotas);
  const LoadResult again = load(folder / "weir.yaml");
  const LoadResult other = load_texts(folder, kWeir, "limit: {user: {default: 6}}\n");
  ASSERT_TRUE(first.runtime && again.runtime && other.runtime);
  EXPECT_EQ(first.runtime->version, again.runtime->version);
  EXPECT_NE(first.runtime->version, other.runtime->version);
  EXPECT_EQ(again.runtime->generation, first.runtime->generation + 1);
  EXPECT_GT(first.runtime->loaded_wall_ms, 1'600'000'000'000);
}

TEST(Secrets, AreReadAndNeverShown) {
  ::setenv("WEIR_TEST_PASSWORD", "hunter2", 1);
  const Folder folder;
  folder.write("token", "s3cret-token\nsecond line\n");
  const std::string weir =
      std::string(kWeir) +
      "admin: {address: \"127.0.0.1:9901\", token_file: token}\n"
      "store: {kind: redis, url: \"redis://me:inurl@h:7000/3\", password: \"${WEIR_TEST_PASSWORD}\"}\n";
  const LoadResult result = load_texts(folder, weir, kQuotas);
  ASSERT_NE(result.runtime, nullptr) << text_of(result.errors, folder);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_EQ(result.runtime->store.password, "hunter2");
  EXPECT_EQ(result.runtime->store.username, "me");
  EXPECT_EQ(result.runtime->store.host, "h");
  EXPECT_EQ(result.runtime->store.port, 7000);
  EXPECT_EQ(result.runtime->store.database, 3);
  EXPECT_EQ(result.runtime->admin_token, "s3cret-token");
  for (const char* const secret : {"hunter2", "s3cret-token", "inurl"}) {
    EXPECT_THAT(result.runtime->printable, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(result.runtime->printable, HasSubstr("\"password\":\"***\""));
}

TEST(Secrets, NeverAppearInErrors) {
  ::setenv("WEIR_TEST_PASSWORD", "hunter2", 1);
  const std::string weir =
      std::string(kWeir) + "workers: ${WEIR_TEST_PASSWORD}\nstore: {kind: redis, url: \"hunter2://x\"}\n";
  EXPECT_THAT(weir_errors(weir), HasSubstr("workers: `${WEIR_TEST_PASSWORD}` is not a whole number"));
  EXPECT_THAT(weir_errors(weir), Not(HasSubstr("hunter2")));
  const Folder folder;
  folder.write("empty", "\n");
  const LoadResult result = load_texts(folder, std::string(kWeir) + "admin: {token_file: empty}\n", kQuotas);
  EXPECT_THAT(text_of(result.errors, folder), HasSubstr("admin.token_file: empty has an empty first line"));
}

TEST(StoreUrl, HasManyForms) {
  const auto store = [](const std::string& url) {
    const Folder folder;
    const LoadResult result =
        load_texts(folder, std::string(kWeir) + "store: {kind: redis, url: \"" + url + "\"}\n", kQuotas);
    EXPECT_NE(result.runtime, nullptr) << text_of(result.errors, folder);
    return result.runtime ? result.runtime->store : store::StoreOptions{};
  };
  EXPECT_EQ(store("redis://10.0.0.1").port, 6379);
  EXPECT_EQ(store("redis://10.0.0.1:6380").port, 6380);
  EXPECT_EQ(store("redis://[::1]/2").host, "::1");
  EXPECT_EQ(store("redis://[::1]/2").database, 2);
  EXPECT_EQ(store("redis://:pw@h").password, "pw");
  EXPECT_EQ(store("unix:///run/redis.sock").unix_path, "/run/redis.sock");
}

TEST(Restart, NamesTheKeysThatWaitForIt) {
  const Folder folder;
  const auto made = [&](const std::string& more) {
    return load_texts(folder, std::string(kWeir) + more, kQuotas).runtime;
  };
  const auto base = made("");
  ASSERT_NE(base, nullptr);
  EXPECT_THAT(
      restart_needed(fixed_options(*base), *made("limits: {header_count: 5}\ntimeouts: {header: 1s}\n")),
      IsEmpty());
  EXPECT_THAT(
      restart_needed(fixed_options(*base),
                     *made("workers: 3\nlisten: [{address: \"127.0.0.1:1\"}]\nstore: {max_keys: 100}\n")),
      ElementsAre("listen", "workers", "store.max_keys"));
  EXPECT_THAT(restart_needed(fixed_options(*base), *made("store: {kind: redis, url: \"redis://h\"}\n")),
              ElementsAre("store.kind", "store.url"));
}

TEST(Printable, IsJsonOfWhatHolds) {
  const Folder folder;
  const LoadResult result =
      load_texts(folder, kWeir, "limit: {user: {default: 5, overrides: {\"a\\\"b\": 7}}}\n");
  ASSERT_NE(result.runtime, nullptr);
  EXPECT_THAT(result.runtime->printable, HasSubstr("\"node\":\"test\""));
  EXPECT_THAT(result.runtime->printable,
              HasSubstr(R"("default":{"limit":5,"window":"60000ms","algorithm":"token_bucket","burst":5})"));
  EXPECT_THAT(result.runtime->printable, HasSubstr(R"("a\"b":{"limit":7)"));
}

}  // namespace
}  // namespace weir::config
