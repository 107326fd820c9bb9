// A control loop on a real SQLite store in a temporary folder, and a small fabric to place jobs on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "db/replay.h"
#include "db/sqlite/sqlite_journal.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/topology/topology_builder.h"
#include "gtest/gtest.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/control_loop.h"
#include "services/control/events/apply.h"
#include "services/json/digest.h"
#include "tests/support/temporary_folder.h"

namespace railweave::control {

// Hosts node-0, node-1, ... of `gpus` GPUs each, one NVLink domain and one adapter per host, all on one switch.
inline fabric::TopologyPtr star_of_hosts(unsigned hosts, unsigned gpus) {
  fabric::TopologyBuilder builder;
  const auto sw = builder.add_switch({.guid = Guid(0x100), .name = "leaf-0", .ports = hosts + 1});
  for (unsigned h = 0; h < hosts; ++h) {
    const auto host = builder.host("node-" + std::to_string(h));
    const auto hca = builder.add_hca({.guid = Guid(0x1000 + h), .host = host, .device = "mlx5_0"});
    builder.connect({sw, h + 1}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
    const auto domain = builder.nvlink_domain("node-" + std::to_string(h), "", from_gbps(3600));
    for (unsigned g = 0; g < gpus; ++g) {
      const auto gpu = builder.add_gpu(host);
      builder.set_nvlink_domain(gpu, domain);
      builder.add_nic(gpu, hca);
    }
  }
  auto topology = std::move(builder).build();
  RAILWEAVE_CHECK(topology.has_value(), "the star is a fabric");
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

inline AcceptTopology accept(const fabric::TopologyPtr& topology, bool force = false) {
  auto document = std::make_shared<const std::string>(fabric::write_native_json(*topology));
  std::string digest = api::sha256_hex(*document);
  return {topology, std::move(document), std::move(digest), "test", force, std::nullopt};
}

inline SubmitJob submit_job(const std::string& tenant, std::uint32_t tensor, std::uint32_t data, std::string key = {}) {
  SubmitJob command;
  command.spec.name = "job";
  command.spec.tenant = tenant;
  command.spec.parallelism.tensor = tensor;
  command.spec.parallelism.data = data;
  command.request_digest = std::to_string(tensor) + "x" + std::to_string(data);
  command.idempotency_key = std::move(key);
  return command;
}

class ControlTest : public ::testing::Test {
 protected:
  ~ControlTest() override { stop(); }

  void start(ControlOptions options = {}) {
    open(std::move(options));
    loop_->start();
  }
  // Opens the store, wrapped by `wrap` if given, and recovers what it holds.
  void open(ControlOptions options = {}) {
    auto journal = db::open_sqlite_journal(folder_.path() / "store.db");
    ASSERT_TRUE(journal) << journal.error().text();
    journal_ = wrap(std::move(*journal));
    options.queue_rest = queue_rest_;
    options.now_us = [this] { return ++clock_us_; };
    options.on_published = [this, forward = std::move(options.on_published)](const std::vector<db::Record>& records) {
      if (forward) forward(records);
      const std::lock_guard lock(published_mutex_);
      published_.notify_all();
    };
    loop_ = std::make_unique<ControlLoop>(*journal_, codec_, std::move(options));
    const auto recovered = loop_->recover();
    ASSERT_TRUE(recovered) << recovered.error().text();
  }
  void stop() {
    if (loop_) loop_->stop();
    loop_.reset();
    journal_.reset();
  }
  // Afterwards everything is as it was, also by the journal alone.
  void restart() {
    loop_->stop();
    const std::string before = state_text();
    EXPECT_EQ(codec_.encode_state(replayed()), before) << "by the journal alone";
    stop();
    open();
    EXPECT_EQ(state_text(), before);
    loop_->start();
  }
  virtual std::unique_ptr<db::Journal> wrap(std::unique_ptr<db::Journal> journal) { return journal; }

  CommandResult ask(decltype(Command::body) body) {
    std::promise<CommandResult> answer;
    auto future = answer.get_future();
    EXPECT_TRUE(
        loop_->submit({"tester", std::move(body)}, [&](CommandResult result) { answer.set_value(std::move(result)); }));
    return future.get();
  }
  void must(decltype(Command::body) body) {
    const auto result = ask(std::move(body));
    ASSERT_TRUE(result) << result.error().error.text();
  }
  // Waits until a published state satisfies the condition. False: none did in time.
  template <class Condition>
  bool published_until(Condition condition) {
    std::unique_lock lock(published_mutex_);
    return published_.wait_for(lock, std::chrono::seconds(30), condition);
  }
  // The state that the whole journal gives, without any snapshot.
  [[nodiscard]] ClusterState replayed() const {
    ClusterState state;
    const auto blobs = [this](const std::string& digest) { return journal_->blob(digest); };
    const auto read = db::replay(*journal_, 0, [&](const db::Record& record) -> Result<void> {
      auto event = codec_.decode(record, state, blobs);
      if (!event) return std::unexpected(event.error());
      apply(state, *event);
      return {};
    });
    EXPECT_TRUE(read) << read.error().text();
    return state;
  }
  [[nodiscard]] std::string state_text() const { return codec_.encode_state(*loop_->state()); }

  std::mutex published_mutex_;
  std::condition_variable published_;
  TemporaryFolder folder_;
  api::JournalCodec codec_;
  std::unique_ptr<db::Journal> journal_;
  std::unique_ptr<ControlLoop> loop_;
  unsigned queue_rest_ = 0;  // the clock advances only when it is read
  std::atomic<std::int64_t> clock_us_ = 1'700'000'000'000'000;
};

}  // namespace railweave::control
