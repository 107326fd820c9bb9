#include "api/client/event_parser.h"

#include <utility>

#include "fabric/base/whole_number.h"

namespace railweave::api {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMaxCommentBytes = 1024;

}  // namespace

void EventParser::begin_stream() {
  line_.clear();
  after_return_ = false;
  at_start_ = true;
  id_ = last_id_;
  type_.clear();
  data_.clear();
  has_data_ = false;
  last_comment_.clear();
}

EventParser::Outcome EventParser::feed(std::string_view piece,
                                       const std::function<bool(const ServerEvent&)>& on_event) {
  if (after_return_ && !piece.empty()) {
    after_return_ = false;
    if (piece.front() == '\n') piece.remove_prefix(1);
  }
  while (!piece.empty()) {
    const std::size_t end = piece.find_first_of("\r\n");
    line_ += piece.substr(0, end);
    if (line_.size() + data_.size() > limit_bytes_) return Outcome::too_large;
    if (end == std::string_view::npos) return Outcome::ok;
    const bool returned = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    if (returned && piece.empty()) {
      after_return_ = true;
    } else if (returned && piece.front() == '\n') {
      piece.remove_prefix(1);
    }
    const std::string line = std::exchange(line_, {});
    if (!line.empty()) {
      take_line(line);
      continue;
    }
    last_id_ = id_;
    if (has_data_) {
      if (type_.empty()) type_ = "message";
      const ServerEvent event{last_id_, std::exchange(type_, {}), std::exchange(data_, {})};
      has_data_ = false;
      if (!on_event(event)) return Outcome::stopped;
    }
    type_.clear();
  }
  return Outcome::ok;
}

void EventParser::take_line(std::string_view line) {
  if (std::exchange(at_start_, false) && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  const std::size_t colon = line.find(':');
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (colon == 0) {
    if (!value.empty()) last_comment_ = std::string(value.substr(0, kMaxCommentBytes));
  } else {
    take_field(line.substr(0, colon), value);
  }
}

void EventParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (name == "event") {
    type_ = std::string(value);
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = std::string(value);
  } else if (name == "retry") {
    if (const auto milliseconds = whole_number<long>(value); milliseconds >= 0) retry_ms_ = milliseconds;
  }
}

}  // namespace railweave::api
