#include "fabric/drivers/opensm/plugin/plugin_state.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "fabric/drivers/opensm/local/kept_file.h"
#include "fabric/drivers/opensm/plugin/seen_subnet.h"
#include "fabric/drivers/opensm/plugin/table_writer.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::size_t kMaxCablingBytes = std::size_t{1} << 27U;

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", ms);
  return text;
}

}  // namespace

PluginState::PluginState(osm_opensm_t& osm, PluginOptions options) : osm_(osm), options_(std::move(options)) {
  if (!options_.cache.empty()) {
    restore_cabling();
    cabling_file_ = std::make_unique<KeptFileWriter>(
        file("railweave-cabling"), [this](const Error& error) { log(OSM_LOG_ERROR, "cabling: " + error.text()); });
  }
  if (options_.socket.empty()) return;
  PolicyClientOptions client;
  client.socket_path = options_.socket;
  if (!options_.cache.empty()) client.cache_path = file("railweave-policy");
  PolicyClientHooks hooks;
  hooks.received = [this](const RoutingPolicyPtr& policy, PolicyClientHooks::Difference differs) {
    on_policy(policy, differs);
  };
  hooks.problem = [this](const Error& error) { log(OSM_LOG_ERROR, "policy: " + error.text()); };
  hooks.changed = [this](bool connected) {
    log(OSM_LOG_INFO, connected ? "policy: connected to " + options_.socket
                                : "policy: the service is away; the last policy stays in force");
  };
  hooks.every_second = [this] { report_ports(true); };  // of a hand-over to another OpenSM there is no event
  client_ = std::make_unique<PolicyClient>(std::move(client), std::move(hooks));
  revision_ = client_->policy()->revision;
}

std::string PluginState::file(const char* name) const { return options_.cache + "/" + name; }

void PluginState::log(osm_log_level_t level, const std::string& text) const {
  osm_log(&osm_.log, level, "railweave: %s\n", text.c_str());
}

void PluginState::restore_cabling() {
  const auto text = read_kept_file(file("railweave-cabling"), kMaxCablingBytes);
  if (!text) return log(OSM_LOG_ERROR, "cabling: " + text.error().text());
  if (text->empty()) return;
  auto cabling = read_cabling(*text);
  if (!cabling) {
    return log(OSM_LOG_ERROR, "cabling: " + file("railweave-cabling") + ", " + cabling.error().text());
  }
  log(OSM_LOG_INFO, "cabling: remembering " + std::to_string(cabling->devices.size()) + " devices");
  router_.remember(std::move(*cabling));
}

void PluginState::warn_of_options() {
  if (osm_.subn.opt.use_ucast_cache != FALSE) {
    osm_.subn.opt.use_ucast_cache = FALSE;
    log(OSM_LOG_ERROR, "use_ucast_cache is switched off: it would program tables that no engine computed");
  }
  if (std::exchange(warned_, true)) return;
  if (osm_.no_fallback_routing_engine == FALSE) {
    log(OSM_LOG_ERROR,
        "OpenSM falls back to minhop where all routing engines fail, which may deadlock; 'routing_engine "
        "railweave,updn,no_fallback' prevents that");
  }
}

bool PluginState::build_tables() {
  const auto start = std::chrono::steady_clock::now();
  warn_of_options();
  if (client_ != nullptr) client_->report({.kind = PolicyEvent::Kind::routing, .device = {}, .text = {}});
  lanes_.reset();
  // A reroute writes every block of every forwarding table again. Tables of ports need only what differs, as after a sweep.
  const bool for_routes = routes_differ_.exchange(false), for_ports = ports_differ_.exchange(false);
  if (for_ports && !for_routes && !is_sweeping_) osm_.subn.ignore_existing_lfts = FALSE;
  const RoutingPolicyPtr policy = client_ ? client_->policy() : std::make_shared<const RoutingPolicy>();
  // Ports do not have what OpenSM believes that it wrote: it is to write all of it again, whatever it believes.
  if (policy->repeat != 0 && policy->repeat != routed_for_->repeat) {
    osm_.subn.need_update = 1;
    updates_all_ = true;
  }
  RouterLimits limits;
  limits.lanes_can_be_set = osm_.subn.opt.qos != FALSE;
  limits.max_lanes = std::min<unsigned>(limits.max_lanes, osm_.subn.min_sw_data_vls);
  auto routed = router_.route(seen_subnet(osm_.subn), *policy, limits);
  if (!routed) {
    refuse(routed.error().text());
    return false;
  }
  write_tables(*routed, osm_.subn);
  routed_for_ = policy;
  lanes_ = std::make_unique<const PathLanes>(*routed);
  digest_ = routed->routing->tables.digest();
  revision_ = policy->revision;
  routed_ = true;
  if (routed->new_cabling && cabling_file_) cabling_file_->keep(write_cabling(router_.cabling()));

  const double all_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::string text = "engine " + routed->engine + " (" + routed->reason + "), tables " + hex64(digest_) + " in " +
                     milliseconds(routed->route_ms) + (routed->routing->incremental ? " incrementally" : "") +
                     ", audited in " + milliseconds(routed->audit_ms) + ", all in " + milliseconds(all_ms) +
                     ", policy " + std::to_string(policy->revision);
  if (routed->routing->lanes.used() > 1) text += ", " + std::to_string(routed->routing->lanes.used()) + " lanes";
  if (routed->new_cabling) text += ", new cabling";
  if (routed->broken_links > 0) text += ", " + std::to_string(routed->broken_links) + " links are not up";
  if (routed->switches->unreached() > 0) {
    text += ", " + std::to_string(routed->switches->unreached()) + " switches cannot be reached by LID from everywhere";
  }
  if (routed->unknown_names > 0) {
    text += ", " + std::to_string(routed->unknown_names) + " names of the policy are not in this subnet";
  }
  if (routed->cut_off_pairs > 0) text += ", " + std::to_string(routed->cut_off_pairs) + " pairs of ports are cut off";
  log(OSM_LOG_INFO, text);
  return true;
}

void PluginState::refuse(const std::string& why) {
  log(OSM_LOG_ERROR, "not routed, OpenSM's next engine takes over: " + why);
  if (client_ == nullptr) return;
  PolicyEvent event;
  event.kind = PolicyEvent::Kind::refused;
  event.text = "routing: " + why;
  client_->report(event);
}

void PluginState::on_policy(const RoutingPolicyPtr& policy, PolicyClientHooks::Difference differs) {
  using Difference = PolicyClientHooks::Difference;
  log(OSM_LOG_INFO,
      "policy " + std::to_string(policy->revision) + ": " + std::to_string(policy->drained_switches.size()) +
          " switches and " + std::to_string(policy->drained_links.size()) + " links drained, " +
          std::to_string(policy->weights.size()) + " weights, tables of " + std::to_string(policy->ports.lanes.size()) +
          " ports" + (differs == Difference::none ? ", as before" : ""));
  report_ports();
  if (!routed_) return;  // used when there is something to route
  if (differs == Difference::none) {
    revision_ = policy->revision;
    return report_tables(PolicyEvent::Kind::routed);
  }
  if (osm_exit_flag != 0) return;
  // As OpenSM's own console does it: no rediscovery, new tables, and behind them SL to VL and arbitration.
  (differs == Difference::ports ? ports_differ_ : routes_differ_) = true;
  osm_.subn.force_reroute = TRUE;
  osm_sm_signal(&osm_.sm, OSM_SIGNAL_SWEEP);
}

// Whether tables of ports are programmed is known once OpenSM is master or standby.
void PluginState::report_ports(bool if_changed) {
  if (client_ == nullptr) return;
  const bool is_master = osm_.subn.sm_state == IB_SMINFO_STATE_MASTER;
  if (!is_master && osm_.subn.sm_state == IB_SMINFO_STATE_DISCOVERING) return;
  PolicyEvent event;
  event.kind = PolicyEvent::Kind::takesPorts;
  if (!is_master) event.text = "this OpenSM is not master";
  if (osm_.subn.opt.qos == FALSE) event.text = "OpenSM leaves lanes alone: start it with -Q, or with 'qos TRUE'";
  if (!event.text.empty()) event.kind = PolicyEvent::Kind::noPorts;
  {
    const std::lock_guard lock(mutex_);
    if (if_changed && said_of_ports_ == event.text) return;
    said_of_ports_ = event.text;
  }
  client_->report(event);
}

bool PluginState::in_use() const {
  const osm_routing_engine_t* used = osm_.routing_engine_used;
  return routed_ && used != nullptr && used->name != nullptr && std::strcmp(used->name, kEngineName) == 0;
}

void PluginState::report_tables(PolicyEvent::Kind kind) {
  if (client_ == nullptr || !in_use()) return;
  PolicyEvent event;
  event.kind = kind;
  event.revision = revision_;
  event.digest = digest_;
  client_->report(event);
}

void PluginState::on_tables_written() {
  std::map<Guid, std::uint64_t> written;
  {
    const std::lock_guard lock(mutex_);
    written.swap(written_blocks_);
  }
  if (client_ == nullptr) return;
  for (const auto& [guid, blocks] : written) {
    PolicyEvent event;
    event.kind = PolicyEvent::Kind::written;
    event.device = guid;
    event.number = blocks;
    client_->report(event);
  }
  report_ports();
  report_tables(PolicyEvent::Kind::routed);
}

void PluginState::on_event(osm_epi_event_id_t id, const void* data) {
  // The port is bound before the first of these events, so that its GUID is known.
  if (client_) client_->start(guid_of(osm_.subn.sm_port_guid));
  switch (id) {
    case OSM_EVENT_ID_TRAP: {
      const auto* notice = static_cast<const ib_mad_notice_attr_t*>(data);
      if (client_ == nullptr || notice == nullptr || !ib_notice_is_generic(notice)) return;
      PolicyEvent event;
      event.kind = PolicyEvent::Kind::trap;
      event.number = cl_ntoh16(notice->g_or_v.generic.trap_num);
      event.device = guid_of(notice->issuer_gid.unicast.interface_id);
      if (event.number >= 64 && event.number <= 67) {  // about another device than the issuer
        event.device = guid_of(notice->data_details.ntc_64_67.gid.unicast.interface_id);
      }
      if (event.number >= 129 && event.number <= 131) event.port = notice->data_details.ntc_129_131.port_num;
      return client_->report(event);
    }
    case OSM_EVENT_ID_LFT_CHANGE: {
      const auto* change = static_cast<const osm_epi_lft_change_event_t*>(data);
      if (change == nullptr || (change->flags & LFT_CHANGED_BLOCK) == 0) return;
      const std::lock_guard lock(mutex_);
      ++written_blocks_[guid_of(osm_node_get_node_guid(change->p_sw->p_node))];
      return;
    }
    case OSM_EVENT_ID_HEAVY_SWEEP_START:
      is_sweeping_ = true;
      return;
    case OSM_EVENT_ID_UCAST_ROUTING_DONE:
      is_sweeping_ = false;
      if (updates_all_.exchange(false)) osm_.subn.need_update = 0;
      return on_tables_written();
    case OSM_EVENT_ID_STATE_CHANGE:
      return report_ports();
    case OSM_EVENT_ID_SUBNET_UP:
      if (osm_.subn.subnet_initialization_error == FALSE) return report_tables(PolicyEvent::Kind::subnetUp);
      if (client_) {
        PolicyEvent event;
        event.kind = PolicyEvent::Kind::subnetError;
        client_->report(event);
      }
      return;
    default:
      return;
  }
}

}  // namespace railweave::fabric::opensm
