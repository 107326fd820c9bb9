// The rows of forwarding tables as dumps have them: per switch its entries in the order of LIDs, each with the length of
// the route from there. One plane is held at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"

namespace railweave::fabric {

class TableRows {
 public:
  static constexpr std::uint8_t kLost = UINT8_MAX;  // the route does not arrive, or is longer than any in use

  struct Entry {
    Lid lid;
    std::uint16_t port;
    std::uint8_t links;  // of the route from the switch to the destination, with the one to an end port
  };

  // The tables must outlive this.
  explicit TableRows(const ForwardingTables& tables) : tables_(tables) {}

  // Goes to the next switch; false: there is none. The first call goes to the first.
  bool next_switch();
  [[nodiscard]] Guid guid() const;
  [[nodiscard]] std::size_t size() const { return by_lid_.size(); }
  // i < size(); entries are in ascending order of LIDs.
  [[nodiscard]] Entry entry(std::size_t i) const {
    const auto [lid, destination] = by_lid_[i];
    const std::size_t at = switch_ * plane_->destination_count() + destination;
    const std::uint16_t port = ports_[at];
    if (port == kNoPort || links_[at] == kLost) return {lid, port, kLost};
    const bool end_port = plane_->destination_port[destination] != kPortZero;
    return {lid, port, static_cast<std::uint8_t>(links_[at] + (end_port ? 1 : 0))};
  }

 private:
  bool next_plane();
  void read_plane();
  void count_links(std::uint32_t destination);

  const ForwardingTables& tables_;
  std::size_t next_plane_ = 0;
  // Of the present plane:
  const Plane* plane_ = nullptr;
  std::size_t switch_ = 0;
  std::vector<std::pair<Lid, std::uint32_t>> by_lid_;  // with the destination
  std::vector<std::uint16_t> ports_;                   // by switch and destination
  std::vector<std::uint8_t> links_;                    // the same, without the link to an end port
  std::vector<std::uint32_t> arcs_;                    // by switch and port: the switch that it leads to
  std::vector<std::uint32_t> trail_;
};

}  // namespace railweave::fabric
