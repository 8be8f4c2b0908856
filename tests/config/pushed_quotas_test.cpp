// SPDX-License-Identifier: Apache-2.0
// Quotas as one document: what goes in comes out, what was tampered with does not, and a load with them reads
// nothing else.
#include "config/pushed_quotas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folder.hpp"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFromStore =
    std::string(kWeir).substr(0, std::string(kWeir).find("quotas:")) +
    "store: {kind: redis, url: \"redis://127.0.0.1\"}\nquotas: {from: store, file: quotas.yaml}\n";

PushedQuotas pushed(const QuotaFiles& files, const std::string& sequence = "3") {
  std::string why;
  const std::string document = to_document(files, why).value();
  return read_pushed(sequence + "-" + short_hash_of(document), 1'700'000'000'000, document, why).value();
}

QuotaFiles quotas(const std::string& text) {
  return {"q.yaml", {{"q.yaml", text}}};
}

TEST(PushedQuotas, ComeOutAsTheyWentIn) {
  const QuotaFiles files{"a/q.yaml", {{"a/q.yaml", "limit: {}\n# \"é\"\\\n"}, {"a/more.json", "{}"}}};
  const PushedQuotas out = pushed(files);
  EXPECT_EQ(out.files.main, files.main);
  EXPECT_EQ(out.files.texts, files.texts);
  EXPECT_EQ(out.at_ms, 1'700'000'000'000);
}

TEST(PushedQuotas, WhatIsNoDocumentIsRefusedWithTheReason) {
  const auto refusal = [](const std::string& document) {
    std::string why;
    EXPECT_FALSE(read_pushed("1-" + short_hash_of(document), 0, document, why));
    return why;
  };
  EXPECT_THAT(refusal("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("format"));
  EXPECT_THAT(refusal(R"({"format":2})"), HasSubstr("format"));
  EXPECT_THAT(refusal(R"({"format":1,"quotas":"q","files":{"r":""}})"), HasSubstr("holds no quota file"));
  std::string why;
  EXPECT_FALSE(read_pushed("1-00000000", 0, "{}", why));
  EXPECT_THAT(why, HasSubstr("was not written by"));
}

TEST(PushedQuotas, WhatIsNotTextOrTooLargeIsNotPushed) {
  std::string why;
  EXPECT_FALSE(to_document(quotas("limit: {} # \xff"), why));
  EXPECT_THAT(why, HasSubstr("is not text"));
  EXPECT_FALSE(to_document(quotas(std::string(kMostDocumentBytes, '#')), why));
  EXPECT_THAT(why, HasSubstr("larger than 16 MiB"));
}

TEST(PushedQuotas, StandInForTheFile) {
  const Folder folder;
  load_texts(folder, kFromStore, "limit: {user: {default: 5}}\n");
  const PushedQuotas given = pushed(quotas("limit: {user: {default: 7}, caller: {default: 9}}\n"));
  const LoadResult result = load(folder / "weir.yaml", nullptr, {}, &given);
  ASSERT_NE(result.runtime, nullptr) << text_of(result.errors, folder);
  EXPECT_TRUE(result.from_store);
  EXPECT_EQ(result.runtime->chain.layers().size(), 2U);
  EXPECT_EQ(result.runtime->quotas.version, given.version);
  EXPECT_EQ(result.runtime->quotas.source, pipeline::QuotaSource::store);
  EXPECT_THAT(result.files, ElementsAre(folder / "weir.yaml")) << "the file is not watched meanwhile";
  EXPECT_THAT(result.runtime->printable, HasSubstr(given.version));
}

TEST(PushedQuotas, CountOnlyWhereTheyAreAskedFor) {
  const Folder folder;
  load_texts(folder, kWeir, "limit: {user: {default: 5}}\n");
  const PushedQuotas given = pushed(quotas("limit: {user: {default: 7}, caller: {default: 9}}\n"));
  const LoadResult result = load(folder / "weir.yaml", nullptr, {}, &given);
  ASSERT_NE(result.runtime, nullptr);
  EXPECT_FALSE(result.from_store);
  EXPECT_EQ(result.runtime->chain.layers().size(), 1U);
  EXPECT_EQ(result.runtime->quotas.source, pipeline::QuotaSource::file);
}

// A document names only what came with it: never a file of the gateway's own disk.
TEST(PushedQuotas, ReadNoFileOfTheDisk) {
  const Folder folder;
  load_texts(folder, kFromStore, "limit: {user: {default: 5}}\n");
  folder.write("own.json", R"({"u": 1})");
  const std::string own = folder / "own.json";
  const PushedQuotas given = pushed(quotas("limit: {user: {default: 7, overrides_file: \"" + own + "\"}}\n"));
  const LoadResult result = load(folder / "weir.yaml", nullptr, {}, &given);
  EXPECT_EQ(result.runtime, nullptr);
  EXPECT_TRUE(result.from_store);
  EXPECT_THAT(
      text_of(result.errors, folder),
      HasSubstr("q.yaml:1:28: limit.user.overrides_file: cannot read own.json: is not among the files"));
}

TEST(PushedQuotas, OfAFileWithOverridesAreBoth) {
  const Folder folder;
  folder.write("more.json", R"({"u": 77})");
  const LoadResult result =
      load_texts(folder, kFromStore, "limit: {user: {default: 5, overrides_file: more.json}}\n");
  ASSERT_NE(result.runtime, nullptr) << text_of(result.errors, folder);
  EXPECT_EQ(result.quotas.main, folder / "quotas.yaml");
  EXPECT_EQ(result.quotas.texts.size(), 2U) << "weir.yaml and its secrets are no part of it";
  EXPECT_EQ(result.runtime->quotas.version.size(), 8U);
  const PushedQuotas given = pushed(result.quotas);
  std::filesystem::remove(folder.path() / "more.json");
  EXPECT_NE(load(folder / "weir.yaml", nullptr, {}, &given).runtime, nullptr);
}

TEST(PushedQuotas, ACopyIsWhatWasCopied) {
  const Folder folder;
  const PushedQuotas given = pushed(quotas("limit: {}\n"));
  std::string why;
  EXPECT_FALSE(read_copy(folder / "copy", why));
  EXPECT_EQ(why, "") << "none is no fault";
  ASSERT_TRUE(write_copy(folder / "copy", given, why)) << why;
  const auto back = read_copy(folder / "copy", why);
  ASSERT_TRUE(back) << why;
  EXPECT_EQ(back->version, given.version);
  EXPECT_EQ(back->at_ms, given.at_ms);
  EXPECT_EQ(back->files.texts, given.files.texts);
  EXPECT_EQ(back->source, pipeline::QuotaSource::copy);
  EXPECT_FALSE(std::filesystem::exists(folder / "copy.new"));
  folder.write("copy", "{\"format\": 1, ");
  EXPECT_FALSE(read_copy(folder / "copy", why));
  EXPECT_THAT(why, HasSubstr("is not JSON"));
  EXPECT_FALSE(write_copy(folder / "no/such/folder", given, why));
  EXPECT_THAT(why, HasSubstr("No such file"));
}

TEST(QuotaOrigin, IsReadWithItsDefaults) {
  const Folder folder;
  const LoadResult result = load_texts(folder, kFromStore, "limit: {}\n");
  ASSERT_NE(result.runtime, nullptr) << text_of(result.errors, folder);
  EXPECT_EQ(result.runtime->quotas.copy, folder / "quotas.pushed.json");
  EXPECT_EQ(result.runtime->quotas.every, std::chrono::seconds(3));
  const auto errors = [](const std::string& section) {
    return weir_errors("store: {kind: redis, url: \"redis://h\"}\nquotas: " + section + "\n");
  };
  EXPECT_THAT(errors("{from: store}"), HasSubstr("weir.yaml:2:9: quotas.file: is missing"));
  EXPECT_THAT(errors("{from: shop, file: quotas.yaml}"), HasSubstr("quotas.from"));
  EXPECT_THAT(errors("{from: store, file: quotas.yaml, every: 30s}"), HasSubstr("quotas.every"));
  EXPECT_THAT(errors("{from: store, fiel: quotas.yaml}"), HasSubstr("quotas.fiel: unknown key"));
  EXPECT_THAT(weir_errors("quotas: {from: store, file: quotas.yaml}\n"),
              HasSubstr("needs a store of kind: redis"));
}

}  // namespace
}  // namespace weir::config
