// A control loop whose queue runs: jobs that wait, and time that passes.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/control/control_fixture.h"

namespace railweave::control {

class QueueTest : public ControlTest {
 protected:
  void start_with_hosts(unsigned hosts) {
    start();
    topology_ = star_of_hosts(hosts, 8);
    must(accept(topology_));
    must(PutTenant{{.name = "research", .max_priority = "high"}, {}});
    must(PutTenant{{.name = "guests", .max_priority = "high"}, {}});
  }
  JobId submit(const std::string& tenant, std::uint32_t gpus, const std::string& priority = "normal",
               std::int64_t duration_s = 3600, bool queue = true) {
    const auto result = ask(command(tenant, gpus, priority, duration_s, queue));
    EXPECT_TRUE(result) << result.error().error.text();
    return result ? result->job : JobId();
  }
  static SubmitJob command(const std::string& tenant, std::uint32_t gpus, const std::string& priority = "normal",
                           std::int64_t duration_s = 3600, bool queue = true) {
    SubmitJob command = submit_job(tenant, 1, gpus);
    command.spec.priority = priority;
    command.spec.expected_duration_s = duration_s;
    command.queue = queue;
    return command;
  }
  [[nodiscard]] JobPtr job(JobId id) const { return loop_->state()->jobs.find(id); }
  [[nodiscard]] JobState state_of(JobId id) const { return job(id)->state; }
  void end(JobId id) { must(EndJob{id, JobState::completed, "", {}}); }
  void pass(std::int64_t seconds) {
    clock_us_ += seconds * 1'000'000;
    must(ReportAlarms{{}, {}});  // the loop reads the clock with every batch
  }
  [[nodiscard]] LinkReport link_of(unsigned host, fabric::LinkState state) const {
    for (const auto link : topology_->links()) {
      const std::string text = topology_->link_text(link);
      if (text.find(to_string(Guid(0x1000 + host))) != std::string::npos) return {text, state, false};
    }
    return {};
  }

  fabric::TopologyPtr topology_;
};

}  // namespace railweave::control
