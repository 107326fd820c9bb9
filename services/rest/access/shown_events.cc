#include "services/rest/access/shown_events.h"

#include <utility>

#include "api/http/message/event_stream.h"

namespace railweave::api {

ShownEvents::Text ShownEvents::of(const control::ClusterState& state, const EventReader& reader,
                                  const db::Record& record) {
  const bool member = reader.role == control::Role::member;
  Key key{record.seq, reader.role, member ? state.seq : 0, reader.tenant, member && reader.name == record.actor};
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = texts_.find(key); at != texts_.end()) return at->second;
  }
  const auto shown = shown_event(state, reader, record);
  Text text;
  if (shown) text = std::make_shared<const std::string>(format_event(std::to_string(record.seq), record.kind, *shown));
  const std::lock_guard lock(mutex_);
  ++made_;
  while (texts_.size() >= kMaxKept) texts_.erase(texts_.begin());  // the oldest event's
  texts_.insert_or_assign(std::move(key), text);
  return text;
}

}  // namespace railweave::api
