// A FabricDriver without a network: the switches are tables in memory. For deterministic tests of what drives drivers:
// cut links, silence switches, make them forget or refuse, see every write in order.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

class SimulatedDriver final : public FabricDriver {
 public:
  explicit SimulatedDriver(TopologyPtr topology);

  Result<DiscoveredFabric> discover(bool everything = false) override;
  Result<Sweep> sweep(bool everything = false) override;
  Result<std::optional<Sweep>> recheck(std::span<const Guid> switches, std::span<const Guid> gone) override;
  [[nodiscard]] bool is_present(Guid device) const override;
  [[nodiscard]] LinkReading read_link(Guid device, unsigned port) const override;
  [[nodiscard]] Lid read_lid(Guid device, unsigned port) const override {
    return lid(device, static_cast<std::uint8_t>(port));
  }
  [[nodiscard]] std::optional<PortTableLimits> read_limits(PortRef port) const override;
  Result<std::vector<Observation>> observe(std::chrono::milliseconds wait) override;
  Result<std::vector<TableReading>> read_tables(const Topology& topology, std::span<const SwitchId> switches,
                                                Lid top) override;
  Result<std::vector<SwitchSight>> look(const Topology& topology, std::span<const SwitchId> switches, Lid top) override;
  Result<ProgramReport> program(const Topology& topology, const ForwardingDelta& delta) override;
  void yield_when(std::function<bool()> another_writes) override { another_writes_ = std::move(another_writes); }
  Result<void> may_write() override;
  Result<BringUpReport> bring_up(std::span<const LidAssignment> lids, Lid sm_lid,
                                 std::span<const PortRef> unused) override;
  Result<ManagementKeysReport> keep_keys(std::uint64_t generation, bool releases) override;
  // Every port has 8 data VLs, 8 and 8 arbitration entries and 32 PKeys, of which the first is 0xffff.
  Result<PortTablesReport> program_ports(std::span<const PortTables> wanted) override;
  Result<std::vector<PortTablesReading>> read_port_tables(std::span<const PortRef> ports) override;
  Result<std::vector<CounterReading>> read_counters(std::span<const PortRef> ports) override;

  // --- what tests do to it
  // The fabric as it is from now on; the switches that lost or gained a link report it, unless reports are lost.
  void become(TopologyPtr topology, std::span<const Guid> reporting);
  // Cuts the cable at a switch's port, or joins it; both ends report it, unless reports are lost.
  void cut(Guid sw, unsigned port, bool reports = true);
  void join(Guid sw, unsigned port, bool reports = true);
  // Another subnet manager becomes master of the subnet, or leaves.
  void set_master(bool other) { other_master_ = other; }
  void silence(Guid sw, bool silent = true);
  // The driver's own port loses its link, or gets it back.
  void blind(bool is_blind = true) { blind_ = is_blind; }
  // What a sweep or a recheck would report as changed is not reported: a driver that loses what it noticed.
  void lose_changes() { changed_ = false; }
  // The switch answers everything but when it is looked at.
  void hide_tables(Guid sw, bool hides = true) { hides ? (void)hiding_.insert(sw) : (void)hiding_.erase(sw); }
  // As another program writes it.
  void set_entry(Guid sw, Lid lid, std::uint16_t port);
  void set_lid(Guid device, std::uint8_t port, Lid lid) { lids_[{device, port}] = lid; }
  void refuse(Guid sw, bool refuses = true);
  // What keep_keys() derives keys from; before: nothing, so that there are none.
  void use_keys(ManagementKeyOptions keys) { keys_ = std::move(keys); }
  // As another program gives it one that no other may read: it takes nothing from then on. 0: none, as switched off and on.
  void lock(Guid device, std::uint64_t key) { key_of_[device] = key; }
  [[nodiscard]] std::uint64_t key_of(Guid device) const;
  void garble(Guid sw, std::size_t writes);              // the next `writes` writes to it are not kept
  void look_through(PortRef port) { own_port_ = port; }  // before: none in particular
  void lose_port_tables(Guid device);                    // as when it was switched off and on
  void set_data_lanes(unsigned lanes) { data_lanes_ = lanes; }
  void keep_high_limits(bool keeps) { keeps_high_limits_ = keeps; }
  // What the port has counted from now on, read at that time. A port never set has counted nothing.
  void set_counts(PortRef port, const PortCounts& counts) { counts_[port] = counts; }
  void set_time_us(std::int64_t now_us) { now_us_ = now_us; }
  void fail_with(Error error) { failure_ = std::move(error); }
  void heal() { failure_.reset(); }

  struct Write {
    Guid sw;
    std::uint16_t number, stage;
    WriteOutcome outcome;
  };
  [[nodiscard]] const std::vector<Write>& writes() const { return written_.blocks; }
  [[nodiscard]] std::size_t waits() const { return written_.waits; }  // for packets to leave, amid what was written
  // What program_ports() was asked for, as far as something was written, in order.
  [[nodiscard]] const std::vector<PortTables>& table_writes() const { return table_writes_; }
  [[nodiscard]] std::uint16_t out_port(Guid sw, Lid lid) const;  // kNoPort: dropped
  [[nodiscard]] Lid lid(Guid device, std::uint8_t port) const;

 private:
  WriteOutcome write(Guid sw, const LftBlock& block);
  [[nodiscard]] bool has(Guid sw, const LftBlock& block, const std::array<std::uint16_t, kLidsPerBlock>& ports) const;
  [[nodiscard]] bool takes(Guid device) const;
  [[nodiscard]] SwitchSight::Port sight_of(Guid sw, unsigned port) const;
  void set_cut(Guid sw, unsigned port, bool cut, bool reports);
  [[nodiscard]] PortId find_port(Guid device, unsigned port) const;
  [[nodiscard]] std::string absence(PortRef port) const;  // why it does not answer; "" where it does
  PortTables& present_tables(PortRef port);
  void write_tables(const PortTables& wanted, PortTablesReport& report);

  TopologyPtr topology_;
  bool changed_ = true;
  std::unordered_map<Guid, std::vector<std::uint16_t>> tables_;  // by LID
  std::map<std::pair<Guid, std::uint8_t>, Lid> lids_;
  std::set<LinkId> cut_;  // of topology_
  std::set<Guid> silent_, refusing_, hiding_;
  ManagementKeyOptions keys_;
  std::map<Guid, std::uint64_t> key_of_;
  std::map<Guid, std::uint64_t> shown_;  // what datagrams to it show
  std::unordered_map<Guid, std::size_t> garbled_;
  std::map<PortRef, PortTables> port_tables_;
  std::map<PortRef, PortCounts> counts_;
  std::int64_t now_us_ = 0;
  bool keeps_high_limits_ = true;
  unsigned data_lanes_ = 8;
  PortRef own_port_;
  std::vector<PortTables> table_writes_;
  std::vector<Observation> observed_;
  struct Written {
    std::vector<Write> blocks;
    std::size_t waits = 0;
  };
  Written written_;
  std::optional<Error> failure_;
  std::function<bool()> another_writes_;
  bool other_master_ = false, blind_ = false;
};

}  // namespace railweave::fabric
