// The answers of bandwidth admission, and NVLink partitions.
#include "scheduler/admission/bandwidth_admission.h"

#include <gtest/gtest.h>

#include "scheduler/admission/nvlink_partitions.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT

struct Fixture {
  fabric::testing::Routed fabric = fabric::testing::route_view(FabricView(
      fabric::testing::make_fat_tree({.hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 2, .pods = 2})));
  QosClasses classes = default_qos_classes();
  Ledger ledger{whole_capacities_mbps(fabric.view), capacity_rules(classes)};
  HoseLoads loads{fabric.view, fabric.routing.tables};
  BandwidthAdmission admission{classes, ledger, loads, [this](const Reservation& wanted) -> Result<SurvivingLoad> {
                                 return load_surviving_failures(wanted, loads, fabric::testing::failure_routes(fabric));
                               }};
  Contract contract{.tenant = "red", .guaranteed = from_gbps(60), .classes = {"all-reduce"}};
};

TEST(BandwidthAdmission, AdmitsWithLoadsAndSaysWhatEnforcesThem) {
  Fixture f;
  f.contract.most = from_gbps(150);
  const auto result = f.admission.admit(f.contract, {.job = "a", .ports = f.fabric.ends});
  ASSERT_TRUE(std::holds_alternative<Admitted>(result));
  const Admitted& admitted = std::get<Admitted>(result);
  EXPECT_FALSE(admitted.reservation->loads.empty());
  EXPECT_EQ(f.classes[admitted.reservation->qos_class].name, "all-reduce");
  ASSERT_EQ(admitted.caps.size(), f.fabric.ends.size());
  EXPECT_EQ(admitted.caps[0].most, from_gbps(150));
  EXPECT_EQ(admitted.caps[0].means.back().strength, Enforcement::planned_only);
  EXPECT_EQ(source_cap(f.fabric.ends[0], from_gbps(1), from_gbps(1), {.function_rate = true}).means.back().strength,
            Enforcement::hardware);
}

TEST(BandwidthAdmission, NamesTheLinksThatAreFullAndByWhom) {
  Fixture f;
  const auto first = f.admission.admit(f.contract, {.job = "a", .ports = f.fabric.ends});
  f.ledger.reserve(std::get<Admitted>(first).reservation);
  const auto second = f.admission.admit(f.contract, {.job = "b", .ports = f.fabric.ends});
  ASSERT_TRUE(std::holds_alternative<Rejected>(second));
  const Rejected& rejected = std::get<Rejected>(second);
  EXPECT_EQ(rejected.reason.code, "admission.linksFull");
  EXPECT_NE(rejected.reason.whole().whole_text().find("(a "), std::string::npos)
      << rejected.reason.whole().whole_text();
  ASSERT_FALSE(rejected.links.empty());
  EXPECT_EQ(rejected.links[0].full.holders[0].job, "a");
  f.ledger.release("a", rejected.links[0].full.holders.empty() ? 0 : 2);
  EXPECT_TRUE(std::holds_alternative<Admitted>(f.admission.admit(f.contract, {.job = "b", .ports = f.fabric.ends})));
}

TEST(BandwidthAdmission, RefusesWhatTheContractDoesNotAllow) {
  Fixture f;
  const auto code = [&](const Contract& contract, const BandwidthRequest& request) {
    const auto result = f.admission.admit(contract, request);
    return std::holds_alternative<Admitted>(result) ? "admitted" : std::get<Rejected>(result).reason.code;
  };
  EXPECT_EQ(code(f.contract, {.job = "a", .qos_class = "storage", .ports = f.fabric.ends}),
            "admission.classNotAllowed");
  EXPECT_EQ(code(f.contract, {.job = "a", .qos_class = "gold", .ports = f.fabric.ends}), "admission.unknownClass");
  EXPECT_EQ(code(f.contract, {.job = "a"}), "admission.nothingPromised");
  Contract bad = f.contract;
  bad.most = from_gbps(1);
  EXPECT_EQ(code(bad, {.job = "a", .ports = f.fabric.ends}), "contracts.invalid");
  Contract over = f.contract;
  over.guaranteed = from_gbps(100);
  EXPECT_EQ(code(over, {.job = "a", .ports = f.fabric.ends}), "admission.linksFull");
  over.reserved_permille = 500;
  EXPECT_EQ(code(over, {.job = "a", .ports = f.fabric.ends}), "admitted") << "over-committed, with a warning";
  over.reserved_permille = 1000;
  over.basis = RateBasis::per_job;
  EXPECT_EQ(code(over, {.job = "a", .ports = f.fabric.ends}), "admitted");
}

TEST(BandwidthAdmission, ReservesMoreToSurviveALinkFailure) {
  Fixture f;
  f.contract.guaranteed = from_gbps(50);
  const auto plain = f.admission.admit(f.contract, {.job = "a", .ports = f.fabric.ends});
  f.contract.survives_link_failure = true;
  const auto safe = f.admission.admit(f.contract, {.job = "a", .ports = f.fabric.ends});
  ASSERT_TRUE(std::holds_alternative<Admitted>(safe));
  const auto sum = [](const AdmissionResult& result) {
    std::int64_t all = 0;
    for (const LinkLoad& load : std::get<Admitted>(result).reservation->loads) all += load.mbps;
    return all;
  };
  EXPECT_GT(sum(safe), sum(plain));
  EXPECT_FALSE(std::get<Admitted>(safe).failures_covered.empty());
  EXPECT_EQ(std::get<Admitted>(safe).failures_not_covered.size(), f.fabric.ends.size()) << "each host's own cable";
}

TEST(NvlinkPartitions, HaveOneOwnerAndExportNodeLists) {
  const Topology t = generate("rail-optimized", {}).value();
  ASSERT_FALSE(t.nvlink_domains().empty());
  NvlinkPartitions partitions;
  const auto domain = t.nvlink_domains()[0];
  const auto gpus = t.gpus(domain);
  const Contract red{.tenant = "red", .max_nvlink_domains = 1}, blue{.tenant = "blue"};
  const auto made = partitions.assign(t, red, "job-1", gpus.first(2));
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ((*made)[0].number, 1U);
  const auto taken = partitions.assign(t, blue, "job-2", gpus.first(3));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, "nvlink.taken");
  EXPECT_NE(taken.error().message.find("red"), std::string::npos);
  EXPECT_EQ(partitions.assign(t, red, "job-3", gpus.subspan(2, 2)).error().code, "nvlink.overQuota");
  const auto beside = partitions.assign(t, blue, "job-2", gpus.subspan(2, 2));
  ASSERT_TRUE(beside);
  EXPECT_EQ((*beside)[0].number, 2U);
  EXPECT_EQ(imex_nodes(t, (*made)[0]), std::string(t.name(t.host(gpus[0]))) + "\n");
  EXPECT_NE(partition_request(t, (*beside)[0]).find("\"partitionId\":2"), std::string::npos);
  partitions.release("job-1");
  EXPECT_TRUE(partitions.assign(t, red, "job-3", gpus.first(2)));
  EXPECT_EQ(partitions.of("job-3")[0].number, 1U);
}

}  // namespace
}  // namespace railweave::scheduler
