#include "services/rest/json/tables_value.h"

#include "fabric/base/text/time_text.h"

namespace railweave::api {

Out tables_json(std::span<const control::TablesUsed> tables) {
  Out list = Out::array();
  for (const auto& one : tables) {
    list.push_back({{"subnet", one.subnet},
                    {"source", control::to_string(one.source)},
                    {"live", one.is_live},
                    {"since", one.since_us == 0 ? Out(nullptr) : Out(time_text(one.since_us))},
                    {"seenAt", one.seen_us == 0 ? Out(nullptr) : Out(time_text(one.seen_us))},
                    {"lostPairs", one.lost_pairs},
                    {"unreadSwitches", one.unread},
                    {"reason", one.reason}});
  }
  return list;
}

}  // namespace railweave::api
