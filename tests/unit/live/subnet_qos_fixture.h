// A live subnet with tenants, and what its ports should hold: partition keys are held to a count of jobs by host that is
// made here.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/rest/json/guarantees/guarantee.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {

inline constexpr fabric::testing::FatTreeShape kTree = {
    .hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3, .gpus_per_host = 4};

class SubnetQosTest : public LiveTest {
 protected:
  void put_tenant(const std::string& name, bool with_contract = true, bool isolated = false) {
    must(PutTenant{{.name = name}, {}});
    if (with_contract) must(PutContract{{.tenant = name, .isolated = isolated}, {}});
  }
  [[nodiscard]] JobId place(const std::string& tenant, std::uint32_t gpus) {
    const auto placed = ask(submit_job(tenant, 2, gpus / 2));
    EXPECT_TRUE(placed) << placed.error().error.text();
    return placed ? placed->job : JobId();
  }
  void settle_ports() {
    for (int i = 0; i < 200; ++i) {
      step(i < 3 ? 400 : 1);
      if (i > 3 && status()->qos && status()->qos->ports_pending == 0) return;
    }
  }
  struct Place {
    fabric::PortRef ref;
    fabric::HostId host;  // none: of a switch
  };
  [[nodiscard]] std::vector<Place> cabled_ports() const {
    std::vector<Place> places;
    const auto& t = *topology_;
    for (const auto port : t.all_ports()) {
      if (!t.peer(port)) continue;
      const auto sw = t.switch_of(port);
      const auto hca = t.hca_of(port);
      if (!sw && !hca) continue;
      places.push_back({{sw ? t.guid(sw) : t.guid(hca), static_cast<std::uint8_t>(t.number(port))},
                        hca ? t.host(hca) : fabric::HostId()});
    }
    return places;
  }
  [[nodiscard]] fabric::PortTables read(fabric::PortRef ref) const {
    const auto readings = switches_->read_port_tables(std::vector<fabric::PortRef>{ref});
    return (*readings)[0].tables;
  }
  // The keys of every adapter port, or of one host's, by the jobs of the state.
  void expect_keys(const std::string& when, fabric::HostId only = {}) const {
    const auto state = loop_->state();
    const auto& t = *topology_;
    ASSERT_FALSE(cabled_ports().empty());
    for (const Place& at : cabled_ports()) {
      if (!at.host || (only && at.host != only)) continue;
      std::set<std::uint16_t> keys;
      bool limited = false;
      state->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
        const bool here = job->holds_gpus() && std::ranges::any_of(job->placement.gpu_of_rank, [&](fabric::GpuId gpu) {
                            return t.host(gpu) == at.host;
                          });
        if (!here) return true;
        const auto contract = state->contracts->find(job->spec.tenant);
        if (contract == state->contracts->end()) return true;
        keys.insert(contract->second.pkey | 0x8000U);
        limited = limited || contract->second.terms.isolated;
        return true;
      });
      keys.insert(limited && at.ref != manager_ ? 0x7fffU : 0xffffU);
      const auto read_keys = *read(at.ref).pkeys;
      std::set<std::uint16_t> read_set(read_keys.begin(), read_keys.end());
      read_set.erase(0);
      EXPECT_EQ(read_set, keys) << when << ": " << t.name(at.host);
      EXPECT_EQ(read_keys[0] & 0x7fffU, 0x7fffU) << "the default partition stands first";
      // What ranks are told is where the key is.
      state->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
        const auto contract = state->contracts->find(job->spec.tenant);
        if (contract == state->contracts->end() || !job->holds_gpus()) return true;
        if (std::ranges::find(job->nodes, t.name(at.host)) == job->nodes.end()) return true;
        const auto index = api::pkey_indices(state, *job)(at.host);
        EXPECT_EQ(read_keys.at(index), contract->second.pkey | 0x8000U) << when << ": " << t.name(at.host);
        return true;
      });
    }
  }
  void expect_lanes(std::size_t classes) const {
    ASSERT_FALSE(cabled_ports().empty());
    for (const Place& at : cabled_ports()) {
      const auto tables = read(at.ref);
      std::map<unsigned, unsigned> weights;
      for (const auto entry : tables.arbitration->low) weights[entry.vl] += entry.weight;
      for (std::size_t sl = 0; sl < 16; ++sl) {
        const unsigned vl = (*tables.sl_to_vl)[sl];
        EXPECT_EQ(vl, sl < classes ? sl : 15U) << "the lowest class has level and lane 0";
        if (sl < classes) {
          EXPECT_GT(weights[vl], 0U);
        }
      }
    }
  }
  void expect_done(std::size_t classes, const std::string& when) const {
    ASSERT_TRUE(status()->qos) << when;
    EXPECT_EQ(status()->qos->problem, "") << when;
    EXPECT_EQ(status()->qos->ports_pending, 0U) << when;
    EXPECT_EQ(status()->qos->ports_programmed, cabled_ports().size()) << when;
    EXPECT_EQ(status()->qos->classes, classes) << when;
    expect_lanes(classes);
    expect_keys(when);
  }
  [[nodiscard]] std::size_t events(const std::string& kind) {
    std::size_t count = 0;
    const auto records = journal_->read({.limit = 100'000, .kinds = {kind}});
    for (const auto& record : *records) count += record.kind == kind ? 1 : 0;
    return count;
  }
  fabric::PortRef manager_;
};

}  // namespace railweave::control
