// What the checker says of shares and of a comparison with another verification.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/recheck/checked_shares.h"
#include "engine/verify/verify.h"
#include "tests/engine/recheck/forgery.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

/// Verifications of networks of one domain, beside each other.
class ComparedFolder {
 public:
  /// wide: so many groups that not all of them are evaluated
  explicit ComparedFolder(bool wide = false) {
    shape_.ranges =
        wide ? std::vector<int>{3, 90, 90, 90, 2, 9} : std::vector<int>{3, 6, 4, 5, 2, 6};
    shape_.widths = {6, 5, 1};
    shape_.seed = 5;
    config_ = small_config(folder_, shape_);
  }

  /// Verifies a network whose attributes under test count so much. Returns its directory.
  std::string verified(std::string const& name, float weight, VerifyOptions options = {}) {
    Network network = random_network(shape_);
    for (std::size_t const a : {std::size_t{0}, std::size_t{4}}) {
      for (std::size_t o = 0; o < 6; ++o) network.layers[0].weights[a * 6 + o] *= weight;
    }
    RunConfig config = config_;
    config.model = folder_.file(name + ".safetensors");
    config.output.dir = folder_.file(name);
    write_safetensors(network, config.model);
    options.execution.backend = "cpu";
    options.execution.threads = 2;
    if (options.quantify == 0) options.cell_size = 3;
    verify(config, options);
    return config.output.dir;
  }

 private:
  TemporaryFolder folder_;
  SmallShape shape_;
  RunConfig config_;
};

VerifyOptions compared_with(std::string const& earlier) {
  VerifyOptions options;
  options.against = earlier;
  return options;
}

VerifyOptions counted(std::int64_t boxes) {
  VerifyOptions options;
  options.quantify = boxes;
  return options;
}

TEST(CheckedShares, AreHeldAgainstEveryGroupOfASmallRegion) {
  ComparedFolder folder;
  Forgery const forgery(folder.verified("counted", 0.1F, counted(20)));
  Checked const checked = forgery.check(2);
  EXPECT_TRUE(checked.accepted()) << checked.text();
  EXPECT_TRUE(checked.result.all_share_groups);
  EXPECT_EQ(checked.result.share_groups, 6 * 4 * 5 * 6);
  EXPECT_TRUE(checked.result.not_checked.empty());
}

TEST(CheckedShares, AreHeldAgainstDrawsOfALargeOne) {
  ComparedFolder folder(true);
  Forgery const forgery(folder.verified("counted", 0.1F, counted(400)));
  Checked const one = forgery.check(1);
  EXPECT_TRUE(one.accepted()) << one.text();
  EXPECT_FALSE(one.result.all_share_groups);
  EXPECT_EQ(one.result.share_groups, 100'000);
}

TEST(CheckedShares, TellWhateverIsNotSo) {
  for (bool const wide : {false, true}) {
    ComparedFolder folder(wide);
    Forgery const forgery(folder.verified("counted", 1.0F, counted(4000)));
    std::string const summary = forgery.text("summary.json");
    auto const failures = [&](std::function<void(Json&)> const& change) {
      forgery.set("summary.json", summary);
      forgery.change_json("summary.json", [&](Json& json) { change(json["shares"]); });
      forgery.sign();
      std::string text;
      for (std::string const& line : forgery.check().result.failures) text += line + "\n";
      return text;
    };
    // Part of what is certain on one side, said of the other one: only groups can tell.
    auto const moved = [&](char const* from, char const* to) {
      return failures([&](Json& shares) {
        double const part = 0.5 * shares[from].get<double>();
        ASSERT_GT(part, 2.0 * shares["undecided"].get<double>()) << shares.dump();
        shares[from] = part;
        shares[to] = shares[to].get<double>() + part;
      });
    };
    EXPECT_NE(moved("unfair", "fair").find("are fair"), std::string::npos);
    EXPECT_NE(moved("fair", "unfair").find("are unfair"), std::string::npos);
    EXPECT_NE(failures([](Json& shares) {
                shares["undecided"] = shares["undecided"].get<double>() + 0.01;
              }).find("in all, expected 1"),
              std::string::npos);
    EXPECT_NE(failures([](Json& shares) {
                shares["groups"] = shares["groups"].get<double>() + 1.0;
              }).find("shares.groups is"),
              std::string::npos);
    EXPECT_NE(failures([](Json& shares) { shares["sample"]["low"] = 0.9999; }).find("low to high"),
              std::string::npos);
  }
}

TEST(CheckedAgainst, LooksAtBothVerifications) {
  ComparedFolder folder;
  std::string const before = folder.verified("before", 1.0F);
  Forgery const forgery(folder.verified("after", 0.1F, compared_with(before)));
  Checked const alone = forgery.check();
  EXPECT_TRUE(alone.accepted()) << alone.text();
  EXPECT_EQ(alone.result.not_checked, std::vector<std::string>{"against"});
  Checked const both = forgery.check(2, RecheckOptions().effort, before);
  EXPECT_TRUE(both.accepted()) << both.text();
  EXPECT_TRUE(both.result.not_checked.empty());
  EXPECT_GT(both.result.leaves, alone.result.leaves);
}

TEST(CheckedAgainst, TellsWhateverIsNotSo) {
  ComparedFolder folder;
  std::string const before = folder.verified("before", 1.0F);
  Forgery const forgery(folder.verified("after", 0.1F, compared_with(before)));
  std::string const summary = forgery.text("summary.json");
  std::string const list = forgery.text("against.csv");
  ASSERT_GT(lines_of(list).size(), 2U);
  auto const failed = [&](std::string const& against) {
    Checked const checked = forgery.check(1, RecheckOptions().effort, against);
    return checked.code || checked.result.failed > 0;
  };
  for (char const* key : {"became_fair", "became_unfair", "stayed_fair", "stayed_unfair",
                          "unknown_in_one", "model_sha256"}) {
    SCOPED_TRACE(key);
    forgery.change_json("summary.json", [&](Json& json) {
      Json& value = json["against"][key];
      if (std::string(key) == "model_sha256") {
        value = std::string(64, '0');
      } else {
        value = value.get<std::int64_t>() + 1;
      }
    });
    forgery.sign();
    EXPECT_TRUE(failed(before));
    forgery.set("summary.json", summary);
  }
  forgery.set("against.csv", list.substr(0, list.find('\n') + 1));
  forgery.sign();
  EXPECT_TRUE(failed(before));
  forgery.set("against.csv", list);
  forgery.sign();
  EXPECT_FALSE(failed(before));
  // Another verification than the one it was compared with, and that one with a verdict changed.
  EXPECT_TRUE(failed(folder.verified("other", 0.5F)));
  Forgery(before).replace("cells.csv", ",sat,", ",unsat,");
  EXPECT_TRUE(failed(before));
  EXPECT_TRUE(failed(forgery.text("certificate.txt").substr(0, 5)));
}

TEST(CheckedAgainst, IsOfVerificationsThatWereCompared) {
  ComparedFolder folder;
  Forgery const forgery(folder.verified("alone", 1.0F));
  Checked const checked = forgery.check(1, RecheckOptions().effort, folder.verified("b", 0.1F));
  EXPECT_EQ(checked.code, ExitCode::kUsage);
}

}  // namespace
}  // namespace fairlane
