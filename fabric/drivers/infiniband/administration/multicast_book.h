// The multicast groups of a subnet and who is in them. Bounded: what is beyond a bound is refused. Used by one thread; what has to be
// in switches is handed out as a value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_record.h"

namespace railweave::fabric::infiniband {

struct MulticastBounds {
  std::size_t groups = 4096;
  std::size_t memberships = std::size_t{1} << 17U;
  std::size_t groups_of_port = 512;  // so that one port leaves room for others
};

// Who has to get what is sent to a LID, and who sends it.
struct MulticastMembers {
  struct Member {
    Guid port;
    bool receives = false;
    friend bool operator==(const Member&, const Member&) = default;
  };
  Lid lid = 0;
  std::vector<Member> members;  // ascending by port
  std::uint16_t key = 0;        // of its partition
  std::uint8_t level = 0;       // service level of its packets
  friend bool operator==(const MulticastMembers&, const MulticastMembers&) = default;
};
// Ascending by LID; groups without members are among them.
using MulticastMembersPtr = std::shared_ptr<const std::vector<MulticastMembers>>;

class MulticastBook {
 public:
  struct Member {
    std::uint8_t join_state = 0;
    bool by_proxy = false;  // another port joined for it
  };
  struct Group {
    MulticastRecord terms;           // what all members share
    std::map<Guid, Member> members;  // by port GUID
    bool is_kept = false;            // also without members: a partition's broadcast group
    std::size_t keepers = 0;         // members that keep it
  };
  using Groups = std::map<Mgid, Group>;

  explicit MulticastBook(const MulticastBounds& bounds = {}) : bounds_(bounds) {}

  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] const Group* find(const Mgid& mgid) const;
  // A group with these terms, and a LID of its own. Null: there is no room, or no switch can hold one more.
  const Group* create(const MulticastRecord& terms);
  // A GID for a group that is to have one of the administration's own.
  [[nodiscard]] Mgid own_mgid(std::uint8_t scope, std::uint64_t gid_prefix);
  // Adds reasons to be in the group. False: there is no room. The group exists.
  bool join(const Mgid& mgid, Guid port, std::uint8_t join_state, bool by_proxy);
  // Takes reasons away; a group that nothing keeps any more ends, with all who are in it.
  void leave(const Mgid& mgid, Guid port, std::uint8_t join_state);
  // Ends a group that nothing keeps.
  void end_unkept(const Mgid& mgid);

  // A group got its first member that keeps it, or lost the last.
  struct Change {
    Mgid mgid{};
    std::uint16_t key = 0;
    bool is_created = false;
  };
  // Since they were last taken, in order. Bounded; what is beyond is not told.
  std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

  // Another snapshot of the subnet: ports that are no longer there have left, each partition has a broadcast group, and LIDs are such
  // as the least of its switches can hold.
  void follow(const AdministeredSubnet& subnet);
  void clear();

  [[nodiscard]] std::size_t memberships() const { return memberships_; }
  // Changes with whatever members() says.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  [[nodiscard]] MulticastMembersPtr members() const;

 private:
  Groups::iterator end_group(Groups::iterator at);
  void remove(Groups::iterator group, std::map<Guid, Member>::iterator member);
  void note_change(const Group& group, bool is_created);
  void keep_broadcast(std::uint16_t key, std::uint8_t level, std::uint8_t rate);

  const MulticastBounds bounds_;
  Groups groups_;
  std::set<Lid> lids_;  // given out
  std::map<Guid, std::size_t> groups_of_;
  Lid last_lid_ = kLastMulticastLid;  // that switches can hold
  std::size_t memberships_ = 0;
  std::uint32_t own_mgids_ = 0;
  std::uint64_t revision_ = 1;
  std::vector<Change> changes_;
};

// ff12:401b:KEY::ffff:ffff (RFC 4391); key: of a full member.
Mgid broadcast_mgid(std::uint16_t key);

}  // namespace railweave::fabric::infiniband
