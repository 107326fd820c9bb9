// Walks forwarding tables hop by hop, on numbered ports: millions of pairs are walked. Used by check.cc.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "services/verify/network.h"

namespace railweave::verify {

using PortNumber = std::uint32_t;
constexpr PortNumber kNoPort = UINT32_MAX;

// The cables of a network by numbers; all of them, down or not.
class Cabling {
 public:
  explicit Cabling(const Network& network);
  [[nodiscard]] PortNumber find(const PortName& name) const;  // kNoPort: without a cable
  [[nodiscard]] const PortName& name(PortNumber port) const { return names_[port]; }
  [[nodiscard]] PortNumber peer(PortNumber port) const { return peer_[port]; }
  [[nodiscard]] std::size_t ports() const { return names_.size(); }
  // Switches are numbered too. Of the port at the other end; kNoPort: that is an adapter's.
  [[nodiscard]] std::uint32_t switch_behind(PortNumber port) const { return switch_of_[peer_[port]]; }
  // By number; kNoPort: without a cable.
  [[nodiscard]] const std::vector<PortNumber>& ports_of(std::uint32_t sw) const { return port_of_switch_[sw]; }

 private:
  friend class Walker;
  std::vector<PortName> names_;
  std::unordered_map<PortName, PortNumber> numbers_;
  std::vector<PortNumber> peer_;
  std::vector<std::uint32_t> switch_of_;                 // by port; none: of an adapter
  std::vector<std::string> guids_;                       // by switch
  std::vector<std::vector<PortNumber>> port_of_switch_;  // by switch and number
};

// The tables of one moment on the cables that are up then. Borrows all.
class Walker {
 public:
  Walker(const Cabling& cabling, const Routes& routes, const std::set<PortName>& dead);
  // The ports that packets leave by on their route from one end port to another, in `path`; false: they do not arrive.
  bool walk(PortNumber from, PortNumber to, std::uint64_t to_lid, std::vector<PortNumber>& path) const;
  // The port that a switch sends packets to the LID by; kNoPort: none, or its cable is down.
  [[nodiscard]] PortNumber next(std::uint32_t sw, std::uint64_t lid) const;
  [[nodiscard]] bool is_dead(PortNumber port) const { return dead_[port] != 0; }

 private:
  const Cabling& cabling_;
  std::vector<const Entries*> entries_;  // by switch; null: no table
  std::vector<char> dead_;               // by port
};

}  // namespace railweave::verify
