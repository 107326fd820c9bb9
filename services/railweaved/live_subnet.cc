#include "services/railweaved/live_subnet.h"

#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/infiniband/administration_port.h"
#include "fabric/drivers/infiniband/administration_server.h"
#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "fabric/drivers/infiniband/umad_port.h"
#include "services/railweaved/management_key_file.h"

namespace railweave {
namespace {

namespace ib = fabric::infiniband;

ib::SubnetMode driver_mode(control::SubnetMode mode) {
  switch (mode) {
    case control::SubnetMode::observe:
      return ib::SubnetMode::observe;
    case control::SubnetMode::direct:
      return ib::SubnetMode::direct;
    case control::SubnetMode::opensm:
      return ib::SubnetMode::beside;
  }
  return ib::SubnetMode::observe;
}

Result<std::unique_ptr<ib::AdministrationServer>> administer(const SubnetConfig& config,
                                                             const std::function<bool()>& leads) {
  std::uint64_t key = 0;
  if (!config.administration_key_file.empty()) {
    const auto read = read_administration_key(config.administration_key_file);
    if (!read) return std::unexpected(read.error());
    key = *read;
  }
  auto port = ib::UmadAdministrationPort::open({.adapter = config.adapter, .port = static_cast<unsigned>(config.port)});
  if (!port) return std::unexpected(port.error());
  return std::make_unique<ib::AdministrationServer>(std::move(*port), key, leads);
}

Result<std::unique_ptr<fabric::FabricDriver>> connect(const SubnetConfig& config, control::SubnetMode mode,
                                                      const std::function<bool()>& leads) {
  const bool manages = mode == control::SubnetMode::direct;
  auto port = ib::UmadPort::open(
      {.adapter = config.adapter, .port = static_cast<unsigned>(config.port), .take_traps = manages, .is_sm = manages});
  if (!port) return std::unexpected(port.error());
  ib::InfinibandOptions options{
      .mode = driver_mode(mode),
      .naming = {.source = "subnet " + config.name, .subnet = config.name, .subnet_kind = fabric::SubnetKind::unknown}};
  options.leads = leads;
  options.exchange.window = static_cast<unsigned>(config.window);
  if (manages && !config.key_file.empty()) {
    auto keys = read_management_keys(config.key_file);
    if (!keys) return std::unexpected(keys.error());
    options.keys = std::move(*keys);
    options.keys.lease_s = static_cast<std::uint16_t>(config.key_lease_seconds);
  }
  if (mode == control::SubnetMode::opensm && !config.opensm_key_file.empty()) {
    auto keys = read_opensm_key(config.opensm_key_file);
    if (!keys) return std::unexpected(keys.error());
    options.keys = std::move(*keys);
  }
  auto driver = std::make_unique<ib::InfinibandDriver>(std::move(*port), options);
  if (manages && config.administration) {
    auto server = administer(config, leads);
    if (!server) return std::unexpected(server.error());
    driver->serve_by(std::move(*server));
  }
  return driver;
}

}  // namespace

control::LiveSubnets::Subnet live_subnet(const SubnetConfig& config, const fabric::health::ArchiveOptions& archive,
                                         std::function<bool()> leads) {
  control::SubnetOptions options{.subnet = config.name};
  options.port = config.adapter.empty() ? "first with a link" : config.adapter;
  if (config.port != 0) options.port += fmt::format("/{}", config.port);
  // Absolute: OpenSM's options name the folder, and OpenSM runs in another directory.
  if (!config.opensm_files.empty()) options.opensm_files = std::filesystem::absolute(config.opensm_files).string();
  options.counters_every = std::chrono::seconds(config.counter_seconds);
  options.archive = archive;
  options.sweep_every = std::chrono::seconds(config.sweep_seconds);
  options.look_every = std::chrono::seconds(config.look_seconds);
  constexpr std::int64_t kUsPerSecond = 1'000'000;
  options.damping = {.is_on = config.damping,
                     .flaps = static_cast<unsigned>(config.damping_flaps),
                     .window_us = static_cast<std::int64_t>(config.damping_window_seconds) * kUsPerSecond,
                     .hold_us = static_cast<std::int64_t>(config.damping_hold_seconds) * kUsPerSecond,
                     .share_percent = static_cast<unsigned>(config.damping_percent)};
  options.several_lanes = config.several_lanes;
  options.use_swapped_cables = config.use_swapped_cables;
  options.rebalance = config.rebalance;
  options.rebalance_after = std::chrono::seconds(config.rebalance_seconds);
  options.follow_jobs = config.follow_jobs;
  options.compare_engines = config.compare_engines;
  options.take_better_engine = config.take_better_engine;
  options.engine_hold = std::chrono::seconds(config.engine_hold_seconds);
  options.accept_replacements = config.accept_replacements;
  options.ingress = config.ingress_filter;
  options.has_key = !config.key_file.empty();
  return {std::move(options),
          [config, leads = std::move(leads)](control::SubnetMode mode) { return connect(config, mode, leads); },
          config.opensm_socket};
}

}  // namespace railweave
