// write_partitions, in the grammar of OpenSM's doc/partition-config.txt:
//   NAME=KEY [, ipoib, rate=CODE, mtu=CODE, sl=LEVEL] : MEMBER=full|limited, ... ;
#include <set>

#include <fmt/core.h>

#include "fabric/drivers/opensm/files/file_words.h"
#include "fabric/drivers/opensm/files/opensm_files.h"

namespace railweave::fabric::opensm {
namespace {

Result<std::string> head_of(const Partition& partition) {
  const std::string where = "partition '" + partition.name + "'";
  if (!is_file_name_word(partition.name)) {
    return file_refused("a partition's name has 1 to 31 letters, digits, '_', '-' and '.'", where);
  }
  if (!is_partition_key(partition.pkey)) {
    return file_refused("a partition's key is from 0x0001 to 0x7fff, not " + hex_key(partition.pkey), where);
  }
  std::string text = partition.name + "=" + hex_key(partition.pkey);
  if (partition.ipoib) text += ", ipoib";
  if (partition.rate) {
    const auto code = rate_code(*partition.rate);
    if (!code) return file_refused(code.error().message, where);
    text += fmt::format(", rate={}", *code);
  }
  if (partition.mtu) {
    const auto code = mtu_code(*partition.mtu);
    if (!code) return file_refused("an MTU is 256, 512, 1024, 2048 or 4096 bytes", where);
    text += fmt::format(", mtu={}", *code);
  }
  if (partition.level) {
    if (*partition.level > 15) return file_refused("a service level is from 0 to 15", where);
    text += fmt::format(", sl={}", *partition.level);
  }
  return text + " :\n";
}

Result<std::string> text_of(const PartitionMember& member, const std::string& where) {
  using Who = PartitionMember::Who;
  const std::string membership = member.full ? "=full" : "=limited";
  switch (member.who) {
    case Who::all:
      return "ALL" + membership;
    case Who::all_adapters:
      return "ALL_CAS" + membership;
    case Who::subnet_manager:
      return "SELF" + membership;
    case Who::port:
      break;
  }
  if (!member.port.known()) return file_refused("a member needs its port's GUID", where);
  return fmt::format("0x{}{}", to_string(member.port), membership);
}

}  // namespace

Result<std::string> write_partitions(const std::vector<Partition>& partitions) {
  std::string text = "# Written by Railweave; changes made here are lost.\n";
  std::set<std::string> names;
  std::set<std::uint16_t> keys;
  for (const Partition& partition : partitions) {
    const std::string where = "partition '" + partition.name + "'";
    const auto head = head_of(partition);
    if (!head) return head;
    if (!names.insert(partition.name).second) return file_refused("there are two partitions of this name", where);
    if (!keys.insert(partition.pkey).second) {
      return file_refused("the key " + hex_key(partition.pkey) + " has another partition, too", where);
    }
    if (partition.members.empty()) return file_refused("a partition needs members", where);
    text += *head;
    std::set<std::string> members;
    for (std::size_t i = 0; i < partition.members.size(); ++i) {
      const auto member = text_of(partition.members[i], where);
      if (!member) return member;
      if (!members.insert(member->substr(0, member->find('='))).second) {
        return file_refused("the member " + *member + " is named twice", where);
      }
      text += "  " + *member + (i + 1 < partition.members.size() ? ",\n" : " ;\n");
    }
  }
  if (!keys.contains(kDefaultPartition)) text += "Default=0x7fff :\n  ALL=limited,\n  SELF=full ;\n";
  return text;
}

}  // namespace railweave::fabric::opensm
