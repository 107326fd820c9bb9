#include "fabric/drivers/infiniband/lft_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/infiniband/mad/smp.h"

namespace railweave::fabric::infiniband {

namespace {

std::uint64_t place_key(const LftBlock& block) { return std::uint64_t{block.sw.value()} << 16U | block.number; }

LftEntries wire_entries(const std::array<std::uint16_t, kLidsPerBlock>& ports) {
  LftEntries entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = ports[i] >= kLftDropsPacket ? kLftDropsPacket : static_cast<std::uint8_t>(ports[i]);
  }
  return entries;
}

std::string block_text(const LftBlock& block) { return fmt::format("LinearForwardingTable {}", block.number); }

}  // namespace

LftWriter::LftWriter(MadExchange& exchange, SubnetMap& map, const Topology& topology, const ForwardingDelta& delta,
                     const LftWriterOptions& options)
    : exchange_(exchange), map_(map), delta_(delta), options_(options), stages_(delta) {
  report_.blocks.assign(delta.blocks.size(), WriteOutcome::held);
  rewrites_.assign(delta.blocks.size(), 0);
  std::unordered_map<std::uint64_t, std::uint16_t> last_stage;
  for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
    const LftBlock& block = delta.blocks[i];
    const auto found = map.by_guid.find(topology.guid(block.sw));
    const bool there =
        found != map.by_guid.end() && map.nodes[found->second].present && map.nodes[found->second].is_switch();
    node_.push_back(there ? found->second : kNoNode);
    entries_.push_back(wire_entries(block.ports));
    const auto [last, is_new] = last_write_.try_emplace(place_key(block), i);
    if (!is_new && delta.blocks[last->second].stage <= block.stage) last->second = i;
  }
}

Result<ProgramReport> LftWriter::run() {
  const std::uint64_t before = exchange_.counts().sent;
  submit_ready();
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  while (stages_.waits_for_packets() && !yields()) {
    const auto waited = wait_for_packets();
    if (!waited) return std::unexpected(waited.error());
    if (!*waited) {
      report_.interrupted = true;
      break;
    }
    stages_.packets_gone();
    submit_ready();
    if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  }
  raise_tops();
  if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
  report_.asked = exchange_.counts().sent - before;
  return std::move(report_);
}

void LftWriter::submit_ready() {
  // Failing a block may not make others ready, but writing nothing (a switch that is not there) fails at once.
  for (const std::size_t block : stages_.take_ready()) {
    if (report_.yielded) {
      stages_.failed(block);
    } else if (node_[block] == kNoNode) {
      fail_block(block, WriteOutcome::silent, "is not in the subnet");
    } else if (delta_.blocks[block].number >= kLftBlocks) {
      fail_block(block, WriteOutcome::refused, "has no " + block_text(delta_.blocks[block]));
    } else {
      write(block);
    }
  }
}

Mad LftWriter::request(std::size_t block, MadMethod method) const {
  Mad mad = directed_smp(map_.nodes[node_[block]].route, method, Attribute::linearForwardingTable,
                         delta_.blocks[block].number);
  if (method == MadMethod::set) std::ranges::copy(entries_[block], attribute_space(mad).begin());
  return mad;
}

bool LftWriter::yields() {
  report_.yielded = report_.yielded || (options_.another_writes && options_.another_writes());
  return report_.yielded;
}

void LftWriter::write(std::size_t block) {
  if (yields()) return stages_.failed(block);  // it stays held
  if (delta_.expected.empty()) return set(block);
  look_before(block);
}

// Another program may have written it meanwhile, with entries that this one does not know.
void LftWriter::look_before(std::size_t block) {
  exchange_.submit(node_[block] + std::uint64_t{1}, MadAddress::directed(), request(block, MadMethod::get),
                   [this, block](Reply reply) {
                     if (!reply.ok()) return fail_block(block, WriteOutcome::silent, "does not answer");
                     if (yields()) return stages_.failed(block);
                     const LftEntries has = read_lft_block(attribute_bytes(*reply.mad));
                     if (has == wire_entries(delta_.expected[block]) || has == entries_[block]) return set(block);
                     report_.blocks[block] = WriteOutcome::changed;
                     report_.yielded = true;
                     stages_.failed(block);
                   });
}

void LftWriter::set(std::size_t block) {
  exchange_.submit(node_[block] + std::uint64_t{1}, MadAddress::directed(), request(block, MadMethod::set),
                   [this, block](Reply reply) { wrote(block, reply); });
}

void LftWriter::wrote(std::size_t block, Reply reply) {
  if (reply.silent()) return fail_block(block, WriteOutcome::silent, "does not answer");
  if (!reply.ok()) {
    return fail_block(block, WriteOutcome::refused,
                      "refused " + block_text(delta_.blocks[block]) + ": " + status_text(reply.status));
  }
  report_.blocks[block] = WriteOutcome::applied;
  if (last_write(block)) {
    read_back(block);  // settles the block
  } else {
    stages_.applied(block);
    submit_ready();
  }
}

void LftWriter::read_back(std::size_t block) {
  exchange_.submit(node_[block] + std::uint64_t{1}, MadAddress::directed(), request(block, MadMethod::get),
                   [this, block](Reply reply) { checked(block, reply); });
}

void LftWriter::checked(std::size_t block, Reply reply) {
  if (!reply.ok()) return fail_block(block, WriteOutcome::silent, "does not answer");
  if (read_lft_block(attribute_bytes(*reply.mad)) == entries_[block]) {
    stages_.applied(block);
    submit_ready();
  } else if (rewrites_[block]++ < options_.rewrites) {
    write(block);
  } else {
    fail_block(block, WriteOutcome::mismatch, block_text(delta_.blocks[block]) + " reads back differently");
  }
}

void LftWriter::fail_block(std::size_t block, WriteOutcome outcome, std::string reason) {
  report_.blocks[block] = outcome;
  const SwitchId sw = delta_.blocks[block].sw;
  if (isolated_.try_emplace(sw.value(), true).second) report_.isolated.push_back({sw, std::move(reason)});
  stages_.failed(block);
}

bool LftWriter::last_write(std::size_t block) const { return last_write_.at(place_key(delta_.blocks[block])) == block; }

Result<bool> LftWriter::wait_for_packets() {
  const TimePoint until = exchange_.port().now() + options_.packet_life;
  while (exchange_.port().now() < until) {
    if (delta_.may_stop && options_.has_news && options_.has_news()) return false;
    if (auto listened = exchange_.listen(until, true); !listened) return std::unexpected(listened.error());
  }
  return true;
}

// Packets for LIDs above LinearFDBTop are dropped; it rises after the entries are right.
void LftWriter::raise_tops() {
  std::map<std::uint32_t, Lid> tops;  // by block index of some block of the switch
  std::unordered_map<std::uint32_t, std::size_t> first_block;
  for (std::size_t i = 0; i < delta_.blocks.size(); ++i) {
    if (report_.blocks[i] != WriteOutcome::applied) continue;
    const auto used = std::ranges::find_if(entries_[i].rbegin(), entries_[i].rend(),
                                           [](std::uint8_t port) { return port != kLftDropsPacket; });
    if (used == entries_[i].rend()) continue;
    const auto top = static_cast<Lid>(delta_.blocks[i].number * kLftBlockEntries +
                                      static_cast<std::size_t>(entries_[i].rend() - used) - 1);
    first_block.try_emplace(node_[i], i);
    Lid& highest = tops[node_[i]];
    highest = std::max(highest, top);
  }
  for (const auto& [node, top] : tops) {
    if (map_.nodes[node].switch_info.linear_top < top) raise_top(node, delta_.blocks[first_block[node]].sw, top);
  }
}

void LftWriter::raise_top(std::uint32_t node, SwitchId sw, Lid top) {
  const auto isolate = [this, sw](const char* reason) {
    if (isolated_.try_emplace(sw.value(), true).second) report_.isolated.push_back({sw, reason});
  };
  const DirectedRoute& route = map_.nodes[node].route;
  exchange_.submit(
      node + std::uint64_t{1}, MadAddress::directed(), directed_smp(route, MadMethod::get, Attribute::switchInfo, 0),
      [this, node, top, isolate](Reply reply) {
        if (!reply.ok()) return isolate("does not answer");
        const AttributeBytes data = attribute_bytes(*reply.mad);
        if (read_switch_info(data).linear_capacity <= top) return isolate("has too small a forwarding table");
        Mad set = directed_smp(map_.nodes[node].route, MadMethod::set, Attribute::switchInfo, 0);
        std::ranges::copy(switch_info_to_set(data, top, false), attribute_space(set).begin());
        exchange_.submit(node + std::uint64_t{1}, MadAddress::directed(), set, [this, node, top, isolate](Reply done) {
          if (!done.ok() || read_switch_info(attribute_bytes(*done.mad)).linear_top != top) {
            return isolate("does not take a higher LinearFDBTop");
          }
          map_.nodes[node].switch_info.linear_top = top;
        });
      });
}

}  // namespace railweave::fabric::infiniband
