// A subnet in memory that answers management datagrams, with a clock of its own: behind a MadPort for tests. Reads and
// writes datagrams with libibmad, so that it shares no code with what it checks.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/mad_port.h"

namespace railweave::fabric::infiniband {

class MemorySubnet final : public MadPort {
 public:
  struct Port {
    int peer = -1;  // node
    unsigned peer_port = 0;
    unsigned state = 1, physical_state = 2;
    unsigned lid = 0, lmc = 0, sm_lid = 0, width = 2, speed = 4, extended_speed = 0, high_limit = 0, mtu = 4;
    std::vector<std::uint16_t> pkeys = std::vector<std::uint16_t>(64);
    std::map<unsigned, std::array<std::uint8_t, 8>> sl_to_vl;      // by in port
    std::map<unsigned, std::array<std::uint8_t, 64>> arbitration;  // by part
    unsigned vl_capacity = 4, operational_vls = 0;                 // codes
    bool keeps_high_limit = true;
    // M_Key, of a switch's management port and of adapters' ports (IBA 14.2.4).
    std::uint64_t key = 0;
    unsigned key_protection = 0, key_lease = 0, key_violations = 0;
    bool keeps_key = true;
    std::map<unsigned, std::uint64_t> counters;  // by libibmad's field, of PortCounters and PortCountersExtended
  };
  struct Node {
    bool is_switch = false;
    std::uint64_t guid = 0;
    std::string description;
    std::vector<Port> ports;  // [0] is the management port of a switch
    bool changed = false;     // PortStateChange
    bool silent = false;
    unsigned linear_top = 0;
    bool enhanced_port_zero = false;
    unsigned performance_abilities = 0x1200;  // 0: does not even know ClassPortInfo
    unsigned refuses = 0;                     // Set of this attribute
    std::vector<std::uint8_t> lft = std::vector<std::uint8_t>(49152, 255);
    unsigned multicast_capacity = 64;
    std::map<unsigned, std::array<std::uint8_t, 64>> mft;  // by modifier
  };

  int add_switch(std::uint64_t guid, unsigned ports, std::string description);
  int add_adapter(std::uint64_t guid, unsigned ports, std::string description);
  void cable(int a, unsigned a_port, int b, unsigned b_port);  // comes up in state initialize
  void cut(int a, unsigned a_port);                            // and tells both switches
  [[nodiscard]] Node& node(int n) { return nodes_[static_cast<std::size_t>(n)]; }
  void place_at(int n, unsigned port) { here_ = n, here_port_ = port; }

  // A fraction of datagrams, lost on the way there or back, by seed.
  void lose(double fraction, std::uint32_t seed) { loss_ = fraction, random_.seed(seed); }
  // Everything that was asked, in order.
  struct Asked {
    int node;
    unsigned method, attribute, modifier, management_class;
  };
  std::vector<Asked> asked;
  std::function<void(const Asked&)> before_answer;
  std::function<bool(const Asked&)> lose_if;  // lost on the way there
  std::size_t most_under_way = 0;
  void push_unasked(const ReceivedMad& mad) { arrivals_.emplace(now_, mad); }
  void break_down() { broken_ = true; }
  // All that is under way, with the times at which it arrives: for several ports into the subnet, each with its own queue.
  std::multimap<TimePoint, ReceivedMad> take_arrivals() { return std::exchange(arrivals_, {}); }

  Result<void> send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) override;
  Result<std::optional<ReceivedMad>> receive(Milliseconds wait) override;
  [[nodiscard]] TimePoint now() const override { return now_; }

 private:
  [[nodiscard]] bool is_kept_out(const Mad& mad, int at, unsigned port);
  static void answer_key(Port& port, bool set, std::uint64_t shown, const std::uint8_t* wanted, std::uint8_t* data);
  [[nodiscard]] int arrive_at(const Mad& mad, Lid lid, unsigned& port);
  [[nodiscard]] unsigned answer(Node& node, unsigned port, unsigned method, unsigned attribute, unsigned modifier,
                                std::uint8_t* data);
  [[nodiscard]] static unsigned answer_performance(Node& node, unsigned attribute, std::uint8_t* data);
  [[nodiscard]] unsigned answer_port_info(Node& node, unsigned at, bool set, unsigned modifier, std::uint8_t* data);
  [[nodiscard]] unsigned answer_table(Node& node, unsigned at, bool set, unsigned attribute, unsigned modifier,
                                      std::uint8_t* data);

  std::vector<Node> nodes_;
  int here_ = 0;
  unsigned here_port_ = 1;
  std::multimap<TimePoint, ReceivedMad> arrivals_;
  TimePoint now_{};
  double loss_ = 0;
  std::mt19937 random_;
  bool broken_ = false;
};

}  // namespace railweave::fabric::infiniband
