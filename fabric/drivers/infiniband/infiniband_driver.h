// The FabricDriver of an InfiniBand subnet, over one local port.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/drivers/infiniband/administration_server.h"
#include "fabric/drivers/infiniband/client_notices.h"
#include "fabric/drivers/infiniband/counter_reader.h"
#include "fabric/drivers/infiniband/key_book.h"
#include "fabric/drivers/infiniband/lft_writer.h"
#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/multicast_writer.h"
#include "fabric/drivers/infiniband/port_table_writer.h"
#include "fabric/drivers/infiniband/subnet_map.h"
#include "fabric/drivers/infiniband/subnet_sweep.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric::infiniband {

enum class SubnetMode : std::uint8_t {
  observe,  // nothing is written
  direct,   // Railweave is the only subnet manager
  beside,   // another subnet manager is master and computes the same tables: changes are written ahead of it
};

struct InfinibandOptions {
  SubnetMode mode = SubnetMode::observe;
  ReadOptions naming;  // how the subnet is named
  ExchangeOptions exchange;
  LftWriterOptions writing;
  std::uint64_t sm_key = 1;       // OpenSM's default, so that an OpenSM that is started by mistake becomes a standby
  std::uint8_t sm_priority = 14;  // reported to other subnet managers in direct mode; with 15 none outranks this one
  PortTableWriterOptions tables;
  CounterReaderOptions counters;
  // False: another process may program the subnet. Nothing is written then, not even the rest of what was begun, and other
  // subnet managers are told that this one is standby. Unset: always true.
  std::function<bool()> leads{};
  ManagementKeyOptions keys{};  // given in direct mode; shown beside another subnet manager, whose they are then
};

class InfinibandDriver final : public FabricDriver {
 public:
  InfinibandDriver(std::unique_ptr<MadPort> port, const InfinibandOptions& options);

  Result<DiscoveredFabric> discover(bool everything = false) override;
  Result<Sweep> sweep(bool everything = false) override;
  Result<std::optional<Sweep>> recheck(std::span<const Guid> switches, std::span<const Guid> gone) override;
  [[nodiscard]] bool is_present(Guid device) const override { return map_.find(device) != nullptr; }
  [[nodiscard]] LinkReading read_link(Guid device, unsigned port) const override;
  [[nodiscard]] Lid read_lid(Guid device, unsigned port) const override;
  [[nodiscard]] std::optional<PortTableLimits> read_limits(PortRef port) const override;
  // Answers traps (TrapRepress) in direct mode, so that devices stop repeating them.
  Result<std::vector<Observation>> observe(std::chrono::milliseconds wait) override;
  Result<std::vector<TableReading>> read_tables(const Topology& topology, std::span<const SwitchId> switches,
                                                Lid top) override;
  // Errors of these three, beside "ib.notLeader": "ib.observeOnly", and "ib.otherMaster" where another subnet manager is master.
  Result<std::vector<SwitchSight>> look(const Topology& topology, std::span<const SwitchId> switches, Lid top) override;
  Result<ProgramReport> program(const Topology& topology, const ForwardingDelta& delta) override;
  // Error "ib.otherMaster" or "ib.observeOnly".
  void yield_when(std::function<bool()> another_writes) override { another_writes_ = std::move(another_writes); }
  Result<void> may_write() override;
  Result<BringUpReport> bring_up(std::span<const LidAssignment> lids, Lid sm_lid,
                                 std::span<const PortRef> unused) override;
  Result<PortTablesReport> program_ports(std::span<const PortTables> wanted) override;
  Result<ManagementKeysReport> keep_keys(std::uint64_t generation, bool releases) override;

  Result<std::vector<PortTablesReading>> read_port_tables(std::span<const PortRef> ports) override;
  Result<std::vector<CounterReading>> read_counters(std::span<const PortRef> ports) override;

  // Errors: as of may_write().
  Result<AdministrationReport> administer(const AdministrationBasis& basis) override;
  Result<MulticastReport> keep_multicast(bool verify) override;
  [[nodiscard]] std::optional<AdministrationCounts> administration() const override;
  // In direct mode, before anything else: answers clients from now on.
  void serve_by(std::unique_ptr<AdministrationServer> server) { server_ = std::move(server); }

  [[nodiscard]] const SubnetMap& map() const { return map_; }

 private:
  Result<void> ensure_swept();
  Result<void> ask_to_write();
  Result<Sweep> read_subnet(bool everything);
  Result<void> find_keys(std::uint64_t& asked);
  void forgive_all();
  void index_lids();
  void take_trap(const ReceivedMad& received);
  void answer_sm_info(const ReceivedMad& received);
  [[nodiscard]] SmInfo own_sm_info() const;
  void note_wrong_key(const Notice& notice);
  [[nodiscard]] bool leads() const { return !options_.leads || options_.leads(); }

  const InfinibandOptions options_;
  SubnetMap map_;
  KeyBook keys_;
  std::unique_ptr<MadPort> port_;
  MadExchange exchange_;
  MadExchange counter_exchange_;  // short timeouts: a repair may be waiting, and counters are read again anyway
  MadExchange table_exchange_;    // few retries: a repair may be waiting
  bool swept_ = false;
  bool changed_ = true;  // the map, since a sweep or a recheck last said so to the caller
  TopologyPtr topology_;
  bool topology_stale_ = true;  // the map has changed since it was built
  std::unordered_map<Lid, Guid> device_of_lid_;
  std::vector<Observation> observed_;
  std::uint32_t act_count_ = 0;
  std::function<bool()> another_writes_;
  CounterAbilitiesByNode counter_abilities_;
  ClientNotices notices_;
  MulticastWriter multicast_;
  std::unique_ptr<AdministrationServer> server_;  // null: this process does not administer the subnet
};

}  // namespace railweave::fabric::infiniband
