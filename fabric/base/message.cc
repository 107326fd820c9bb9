#include "fabric/base/message.h"

#include <system_error>

#include "fabric/base/whole_number.h"

namespace railweave {
namespace {

struct Sees {
  const MessageReader& reader;
  bool operator()(const std::string& /*words*/) const { return true; }
  bool operator()(const JobPart& part) const { return reader.job && reader.job(part.number); }
  bool operator()(const TenantPart& part) const { return reader.tenant && reader.tenant(part.name); }
  bool operator()(const ReservationPart& part) const { return reader.reservation && reader.reservation(part.name); }
  bool operator()(const OpaquePart& /*part*/) const { return reader.opaque; }
  template <class Public>
  bool operator()(const Public& /*part*/) const {
    return true;
  }
};

struct Shown {
  std::string operator()(const std::string& words) const { return words; }
  std::string operator()(const JobPart& part) const {
    return job_name(part.number) + (part.note.empty() ? "" : " " + part.note);
  }
  std::string operator()(const AmountPart& part) const { return std::to_string(part.value) + " " + part.unit; }
  std::string operator()(const OpaquePart& part) const { return part.text; }
  template <Named kind>
  std::string operator()(const NamedPart<kind>& part) const {
    return part.name;
  }
};

struct Hidden {
  std::string_view operator()(const JobPart& /*part*/) const { return kHiddenJob; }
  std::string_view operator()(const TenantPart& /*part*/) const { return kHiddenTenant; }
  std::string_view operator()(const ReservationPart& /*part*/) const { return kHiddenReservation; }
  template <class Other>
  std::string_view operator()(const Other& /*part*/) const {
    return kHiddenText;
  }
};

}  // namespace

bool MessageReader::sees(const MessagePart& part) const { return std::visit(Sees{*this}, part); }

const MessageReader& MessageReader::all() {
  static const MessageReader reader{[](std::uint64_t) { return true; }, [](std::string_view) { return true; },
                                    [](std::string_view) { return true; }, true};
  return reader;
}

std::string part_text(const MessagePart& part, const MessageReader& reader) {
  return reader.sees(part) ? std::visit(Shown{}, part) : std::string(std::visit(Hidden{}, part));
}

Message::Message(std::string words) {
  if (!words.empty()) parts_.emplace_back(std::move(words));
}

Message::Message(std::string_view code, std::vector<MessagePart> parts) : code_(code) {
  for (auto& part : parts) *this += std::move(part);
}

Message Message::opaque(std::string text) {
  Message message;
  if (!text.empty()) message.parts_.emplace_back(OpaquePart{std::move(text)});
  return message;
}

Message& Message::operator+=(MessagePart part) {
  auto* words = std::get_if<std::string>(&part);
  if (words != nullptr && words->empty()) return *this;
  auto* before = parts_.empty() ? nullptr : std::get_if<std::string>(&parts_.back());
  if (words != nullptr && before != nullptr) {
    *before += *words;
  } else {
    parts_.push_back(std::move(part));
  }
  return *this;
}

Message& Message::operator+=(const Message& other) {
  for (const auto& part : other.parts_) *this += part;
  return *this;
}

Message Message::with_code(std::string_view code) const& {
  Message message = *this;
  message.code_ = code;
  return message;
}

bool Message::is_opaque() const { return parts_.size() == 1 && std::holds_alternative<OpaquePart>(parts_.front()); }

std::string Message::text(const MessageReader& reader) const {
  std::string text;
  for (const auto& part : parts_) text += part_text(part, reader);
  return text;
}

void append_list(Message& message, std::vector<MessagePart> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) message += ", ";
    message += std::move(parts[i]);
  }
}

namespace {

constexpr std::string_view kJob = "job-";

}  // namespace

std::string job_name(std::uint64_t number) {
  constexpr std::size_t kDigits = 6;  // at least
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return std::string(kJob) + digits;
}

std::optional<std::uint64_t> job_number(std::string_view name) {
  if (!name.starts_with(kJob)) return std::nullopt;
  name.remove_prefix(kJob.size());
  const auto number = whole_number<std::uint64_t>(name);
  return number == 0U ? std::nullopt : number;
}

MessagePart job_part(std::string_view name, std::string note) {
  const auto number = job_number(name);
  if (number && job_name(*number) == name) return JobPart{*number, std::move(note)};
  return OpaquePart{std::string(name) + (note.empty() ? "" : " " + note)};
}

}  // namespace railweave
