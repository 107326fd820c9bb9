// The topology placement cases of Kueue's own unit tests (kubernetes-sigs/kueue, tas_cache_test.go), read from shared
// data. What is refused, how many would have fitted, the level that fits and the number of domains used must agree;
// which of several equally good domains is taken need not, and each such case is listed with its reason.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/placement_tree.h"

namespace railweave::scheduler::kueue_test {
namespace {

using nlohmann::json;
using Values = std::vector<std::string>;              // of the levels, from far to near
using Amounts = std::map<std::string, std::int64_t>;  // by resource: cpu in thousandths, others in units

// Equally good as Kueue's choice, but another one.
const std::string kFullestAround =
    "of equals Kueue takes the first by name, here the one inside the fullest group is taken";
const std::map<std::string, std::string> kOtherTies = {
    {"host required; single Pod fits in the host; BestFit", kFullestAround},
    {"rack required; single Pod fits in a rack; BestFit", kFullestAround},
    {"multiple podsets: rack required for both, different resource requests; BestFit", kFullestAround},
    {"non-hostname-leaf topology: nil aggregatedDomainUsages preserves per-flavor behavior", kFullestAround},
};

std::int64_t quantity(const std::string& resource, const std::string& text) {
  static const std::map<std::string, double> kSuffixes = {
      {"m", 1e-3}, {"", 1}, {"Ki", 1024.0}, {"Mi", 1024.0 * 1024}, {"Gi", 1024.0 * 1024 * 1024}};
  std::size_t digits = 0;
  const double value = std::stod(text, &digits);
  const double factor = resource == "cpu" ? 1000 : 1;
  return static_cast<std::int64_t>(value * kSuffixes.at(text.substr(digits)) * factor + 0.5);
}

struct Domain {
  Values values;
  Amounts free;
  bool tainted = false;
};

class KueueCase {
 public:
  explicit KueueCase(const json& text) : text_(text) {
    for (const auto& level : text.at("levels")) levels_.push_back(level.get<std::string>());
    std::map<Values, Domain> domains;
    std::map<std::string, Values> domain_of_node;
    for (const auto& node : text.at("nodes")) {
      Values values;
      for (const auto& level : levels_) {
        if (node.at("labels").contains(level)) values.push_back(node.at("labels").at(level).get<std::string>());
      }
      if (values.size() != levels_.size() || !eligible(node)) continue;
      Domain& domain = domains[values];
      domain.values = values;
      domain.tainted = node.contains("taints");
      for (const auto& [resource, amount] : node.at("allocatable").items()) {
        domain.free[resource] += quantity(resource, amount.get<std::string>());
      }
      domain_of_node[node.at("name").get<std::string>()] = values;
    }
    for (const auto& pod : text.value("nonTasPods", json::array())) {
      if (pod.at("node").is_null()) continue;
      if (pod.at("phase").is_string() && (pod["phase"] == "Failed" || pod["phase"] == "Succeeded")) continue;
      const auto at = domain_of_node.find(pod.at("node").get<std::string>());
      if (at == domain_of_node.end()) continue;
      Domain& domain = domains[at->second];
      domain.free["pods"] -= 1;
      for (const auto& [resource, amount] : pod.at("requests").items()) {
        domain.free[resource] -= quantity(resource, amount.get<std::string>());
      }
    }
    for (const auto* usage : {"priorFlavorUsage", "priorOwnUsage"}) {
      for (const auto& used : text.value(usage, json::array())) {
        const auto values = used.at("values").get<Values>();
        for (auto& [key, domain] : domains) {
          if (!std::equal(values.rbegin(), values.rend(), key.rbegin())) continue;
          take(domain, used.at("requests_milli"), used.at("count").get<std::int64_t>());
        }
      }
    }
    for (auto& [values, domain] : domains) domains_.push_back(std::move(domain));  // in order of values
  }

  // One pod set after the other, each seeing what those before took.
  void check() {
    for (const auto& pod_set : text_.at("podSets")) check(pod_set);
  }

 private:
  using Assignment = std::map<Values, std::int64_t>;

  [[nodiscard]] bool eligible(const json& node) const {
    if (node.at("ready") != true || node.value("unschedulable", false)) return false;
    const json wanted = text_.value("flavorNodeLabels", json::object());
    for (const auto& [label, value] : wanted.items()) {
      if (node.at("labels").value(label, "") != value) return false;
    }
    return true;
  }

  static void take(Domain& domain, const json& requests, std::int64_t count) {
    domain.free["pods"] -= count;
    for (const auto& [resource, amount] : requests.items()) domain.free[resource] -= amount.get<std::int64_t>() * count;
  }

  static std::uint32_t pods_in(const Domain& domain, const json& requests) {
    if (domain.tainted) return 0;
    const auto free = [&](const std::string& resource) {
      const auto at = domain.free.find(resource);
      return at == domain.free.end() ? 0 : std::max<std::int64_t>(0, at->second);
    };
    std::int64_t pods = free("pods");
    for (const auto& [resource, amount] : requests.items()) {
      if (amount.get<std::int64_t>() > 0) pods = std::min(pods, free(resource) / amount.get<std::int64_t>());
    }
    return static_cast<std::uint32_t>(pods);
  }

  void check(const json& pod_set) {
    const auto& requests = pod_set.at("requests_milli");
    const auto count = pod_set.at("count").get<std::uint64_t>();
    const auto mode = pod_set.at("topology").at("mode").get<std::string>();
    std::vector<std::uint32_t> capacity;
    for (const auto& domain : domains_) capacity.push_back(pods_in(domain, requests));
    // Levels above the leaves from near to far, the last holds everything.
    std::vector<Hierarchy::PlainLevel> levels;
    for (std::size_t depth = levels_.size(); depth-- > 0;) {
      Hierarchy::PlainLevel level;
      std::map<Values, std::uint32_t> groups;
      for (const auto& domain : domains_) {
        const Values prefix(domain.values.begin(), domain.values.begin() + static_cast<std::ptrdiff_t>(depth));
        level.group_of_leaf.push_back(
            groups.try_emplace(prefix, static_cast<std::uint32_t>(groups.size())).first->second);
      }
      levels.push_back(std::move(level));
    }
    const auto hierarchy = std::make_shared<const Hierarchy>(capacity, levels);
    PlacementTree tree(hierarchy);
    FitRequest request{.rungs = {}, .count = count, .max_level = hierarchy->top()};
    if (mode == "required") {
      const auto at = std::ranges::find(levels_, pod_set["topology"]["level"].get<std::string>()) - levels_.begin();
      request.max_level = static_cast<unsigned>(levels_.size() - 1 - static_cast<std::size_t>(at));
    }
    // Without a level request Kueue fills up what is nearly full.
    const bool has_level = mode == "required" || mode == "preferred";
    request.fill = has_level ? Fill::best_fit : Fill::fragments;
    const FitIndex& index = tree.fit_index({});
    BestFit best_fit(*hierarchy);
    const auto fit = best_fit.find(index, request, has_level ? 0 : hierarchy->top());

    const auto& want = pod_set.at("want");
    if (want.contains("assignment") == false || want.at("assignment").is_null()) {
      EXPECT_FALSE(fit) << "Kueue refuses: " << want.at("reason");
      const auto reason = want.at("reason").get<std::string>();
      if (const auto only = reason.find("fit only "); only != std::string::npos) {
        EXPECT_EQ(index.most_units(request.max_level), std::stoul(reason.substr(only + 9))) << reason;
      } else {
        EXPECT_EQ(index.most_units(request.max_level), 0U) << reason;
      }
      return;
    }
    ASSERT_TRUE(fit) << "Kueue places it";
    Assignment wanted;
    for (const auto& domain : want.at("assignment").at("domains")) {
      wanted[domain.at("values").get<Values>()] += domain.at("count").get<std::int64_t>();
    }
    // Kueue names a host by the host alone.
    const bool host_alone = want.at("assignment").at("levels").size() < levels_.size();
    Assignment got;
    std::set<Values> used;
    for (const Share& share : best_fit.distribute(index, request, *fit)) {
      Domain& domain = domains_[hierarchy->given_leaf(share.leaf)];
      got[host_alone ? Values{domain.values.back()} : domain.values] += share.gpus;
      used.insert(domain.values);
      take(domain, requests, share.gpus);
    }
    EXPECT_EQ(got.size(), wanted.size()) << "as many domains";
    std::set<Values> wanted_values;
    for (const auto& domain : domains_) {
      if (wanted.contains(host_alone ? Values{domain.values.back()} : domain.values))
        wanted_values.insert(domain.values);
    }
    EXPECT_EQ(shared_levels(used), shared_levels(wanted_values)) << "the same level";
    const auto name = text_.at("name").get<std::string>();
    const auto listed = kOtherTies.find(name);
    if (listed == kOtherTies.end()) {
      EXPECT_EQ(got, wanted);
    } else {
      EXPECT_NE(got, wanted) << "no longer another choice: take it off the list";
      ::testing::Test::RecordProperty("other_tie", listed->second);
      std::printf("  another tie: %s: %s\n", name.c_str(), listed->second.c_str());
    }
  }

  // How many levels from the top all of them share.
  static std::size_t shared_levels(const std::set<Values>& domains) {
    std::size_t shared = domains.begin()->size();
    for (const auto& values : domains) {
      const auto [differs, _] = std::mismatch(values.begin(), values.end(), domains.begin()->begin());
      shared = std::min(shared, static_cast<std::size_t>(differs - values.begin()));
    }
    return shared;
  }

  const json& text_;
  std::vector<std::string> levels_;
  std::vector<Domain> domains_;
};

TEST(KueueBestFit, ItsOwnCasesGetTheSameLevelAsManyDomainsAndTheSameRefusals) {
  const std::filesystem::path path = std::filesystem::path(RAILWEAVE_SHARED_DATA) / "placement" / "kueue-bestfit.json";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "not there: " << path;
  const json cases = json::parse(file).at("cases");
  EXPECT_EQ(cases.size(), 43U);
  for (const auto& text : cases) {
    SCOPED_TRACE(text.at("name").get<std::string>());
    KueueCase(text).check();
  }
}

}  // namespace
}  // namespace railweave::scheduler::kueue_test
