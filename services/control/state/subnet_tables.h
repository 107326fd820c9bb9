// Whose forwarding tables a live subnet has in force, as its controller last reported: those that Railweave wants, others
// that its switches were seen to hold, or none that are known. The tables themselves are observations, which
// views/seen_tables.h has by the digest and the reader named here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class TablesSource : std::uint8_t {
  wanted,   // read back equal to those that Railweave computes for the subnet as it is
  seen,     // read from switches, and different: another subnet manager's, or not written yet
  unknown,  // not read, or not readable: `reason`
};
BOOST_DESCRIBE_ENUM(TablesSource, wanted, seen, unknown)
constexpr std::string_view to_string(TablesSource source) { return to_text(source); }

struct SubnetTables {
  TablesSource source = TablesSource::unknown;
  std::string digest;  // of the tables seen, 16 hexadecimal digits; "": of none
  std::string reader;  // the process that read them: no other one has them
  std::string reason;  // why they are unknown, or why others than the wanted ones are in force
  std::string levels;  // whose service levels senders are told, "layered on 2 lanes"; "": level 0, or not known
  std::uint64_t lost_pairs = 0;      // of end ports that cables connect and these tables do not, as last walked
  std::uint64_t unread = 0;          // switches that are there, and whose tables are not among what was read
  std::int64_t levels_since_us = 0;  // since when senders are told those; 0: all that run know them
  std::int64_t since_us = 0;
  std::uint64_t version = 0;  // seq of the event that last changed it

  [[nodiscard]] bool says_the_same_as(const SubnetTables& other) const {
    return source == other.source && digest == other.digest && reader == other.reader && reason == other.reason &&
           levels == other.levels && unread == other.unread && lost_pairs == other.lost_pairs;
  }
};

using SubnetTablesTable = std::map<std::string, SubnetTables, std::less<>>;  // by subnet, of live ones that reported

}  // namespace railweave::control
