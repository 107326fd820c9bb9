// The plugin as one OpenSM runs it: the routing engine behind OpenSM's callbacks, and the connection to railweaved.
//
// Threads. OpenSM calls build_tables() from its sweeper with its lock held exclusively; path_level(), lanes() and
// end_port_lanes() with it held, shared at least: what they share is guarded by that lock. Its events come from any of
// its threads, with or without the lock, so that nothing here ever takes it. The policy comes on the client's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fabric/drivers/opensm/local/kept_file_writer.h"
#include "fabric/drivers/opensm/plugin/opensm_api.h"
#include "fabric/drivers/opensm/plugin/path_lanes.h"
#include "fabric/drivers/opensm/protocol/plugin_options.h"
#include "fabric/drivers/opensm/protocol/policy_client.h"
#include "fabric/drivers/opensm/routing/subnet_router.h"

namespace railweave::fabric::opensm {

class PluginState {
 public:
  static constexpr const char* kEngineName = "railweave";

  PluginState(osm_opensm_t& osm, PluginOptions options);

  // False: not routed; OpenSM asks its next engine.
  bool build_tables();
  [[nodiscard]] const PathLanes* lanes() const { return lanes_.get(); }  // null: never routed
  [[nodiscard]] const PortPolicy& ports() const { return routed_for_->ports; }

  void on_event(osm_epi_event_id_t id, const void* data);
  void log(osm_log_level_t level, const std::string& text) const;

 private:
  void on_policy(const RoutingPolicyPtr& policy, PolicyClientHooks::Difference differs);
  void report_ports(bool if_changed = false);
  void on_tables_written();
  void report_tables(PolicyEvent::Kind kind);
  void refuse(const std::string& why);
  void restore_cabling();
  void warn_of_options();
  [[nodiscard]] bool in_use() const;  // OpenSM's present tables are ours
  [[nodiscard]] std::string file(const char* name) const;

  osm_opensm_t& osm_;
  const PluginOptions options_;

  // Guarded by OpenSM's lock.
  SubnetRouter router_;
  std::unique_ptr<const PathLanes> lanes_;
  RoutingPolicyPtr routed_for_ = std::make_shared<const RoutingPolicy>();
  bool warned_ = false;

  std::unique_ptr<KeptFileWriter> cabling_file_;  // used by the sweeper; null: it is not kept
  std::atomic<bool> routed_ = false;
  // Why the next reroute was asked for, and whether a sweep that discovers is under way instead.
  std::atomic<bool> routes_differ_ = false, ports_differ_ = false, is_sweeping_ = false;
  std::atomic<bool> updates_all_ = false;  // need_update of OpenSM's subnet was set here
  std::atomic<std::uint64_t> digest_ = 0, revision_ = 0;

  std::mutex mutex_;
  std::map<Guid, std::uint64_t> written_blocks_;  // guarded by mutex_; since the last report
  std::optional<std::string> said_of_ports_;      // guarded by mutex_; "": they are taken

  std::unique_ptr<PolicyClient> client_;  // last: its thread ends first. Null: no socket
};

}  // namespace railweave::fabric::opensm
