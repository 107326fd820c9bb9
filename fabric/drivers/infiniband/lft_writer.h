// Writes the blocks of a delta to the switches of a swept subnet, as many at once as the exchange allows, and reads
// every block back after its last write.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"
#include "fabric/drivers/staged_writes.h"

namespace railweave::fabric::infiniband {

struct LftWriterOptions {
  // Before entries that were set to drop get their new ports: the longest that a packet lives in a fabric, with the
  // usual SwitchLifeTime of 18 (1.07 s) on no more than a few hops that are congested.
  Milliseconds packet_life{2000};
  unsigned rewrites = 1;                   // of a block that reads back differently
  std::function<bool()> another_writes{};  // FabricDriver::yield_when(); unset: none does
  std::function<bool()> has_news{};  // a link failed or came back, so that waiting for packets ends; unset: none does
};

class LftWriter {
 public:
  LftWriter(MadExchange& exchange, SubnetMap& map, const Topology& topology, const ForwardingDelta& delta,
            const LftWriterOptions& options);
  Result<ProgramReport> run();

 private:
  using Reply = const MadReply&;
  void submit_ready();
  void write(std::size_t block);
  void look_before(std::size_t block);
  void set(std::size_t block);
  [[nodiscard]] bool yields();
  void wrote(std::size_t block, Reply reply);
  void read_back(std::size_t block);
  void checked(std::size_t block, Reply reply);
  void fail_block(std::size_t block, WriteOutcome outcome, std::string reason);
  Result<bool> wait_for_packets();  // false: not to the end
  void raise_tops();
  void raise_top(std::uint32_t node, SwitchId sw, Lid top);
  [[nodiscard]] bool last_write(std::size_t block) const;
  [[nodiscard]] Mad request(std::size_t block, MadMethod method) const;

  MadExchange& exchange_;
  SubnetMap& map_;
  const ForwardingDelta& delta_;
  const LftWriterOptions options_;
  StagedWrites stages_;
  ProgramReport report_;
  std::vector<std::uint32_t> node_;                            // by block
  std::vector<LftEntries> entries_;                            // by block, as on the wire
  std::vector<unsigned> rewrites_;                             // by block
  std::unordered_map<std::uint64_t, std::size_t> last_write_;  // by switch and number: the block written last
  std::unordered_map<std::uint32_t, bool> isolated_;           // by switch
};

}  // namespace railweave::fabric::infiniband
