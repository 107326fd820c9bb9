// What is said, as a value: a code and its parts, in the order in which they are read. What names a job, a tenant or a
// reservation is a part of its own, so that text is made for one reader and what that reader may not see is never printed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fabric/base/enum_text.h"

namespace railweave {

// note: what is said of it and goes where its name goes: "49.5 Gb/s"
struct JobPart {
  std::uint64_t number = 0;
  std::string note = {};
  friend bool operator==(const JobPart&, const JobPart&) = default;
};
enum class Named : std::uint8_t { tenant, reservation, node, link };
BOOST_DESCRIBE_ENUM(Named, tenant, reservation, node, link)
template <Named kind>
struct NamedPart {
  std::string name;
  friend bool operator==(const NamedPart&, const NamedPart&) = default;
};
using TenantPart = NamedPart<Named::tenant>;
using ReservationPart = NamedPart<Named::reservation>;
using NodePart = NamedPart<Named::node>;
using LinkPart = NamedPart<Named::link>;
struct AmountPart {
  std::int64_t value = 0;
  std::string unit;  // "GPUs"
  friend bool operator==(const AmountPart&, const AmountPart&) = default;
};
// A finished text of an older version, or of a program that knew no parts: what it names is not known.
struct OpaquePart {
  std::string text;
  friend bool operator==(const OpaquePart&, const OpaquePart&) = default;
};
// A text is words of Railweave, or the caller's own.
using MessagePart =
    std::variant<std::string, JobPart, TenantPart, ReservationPart, NodePart, LinkPart, AmountPart, OpaquePart>;

// Who may see which parts; a function that is not set refuses all.
struct MessageReader {
  std::function<bool(std::uint64_t)> job;
  std::function<bool(std::string_view)> tenant, reservation;
  bool opaque = false;

  [[nodiscard]] bool sees(const MessagePart& part) const;
  static const MessageReader& all();
};

class Message {
 public:
  Message() = default;
  // Words alone, without a code: what a caller wrote.
  Message(std::string words);  // NOLINT(google-explicit-constructor): words are a message
  Message(const char* words) : Message(std::string(words)) {}
  // code: "queue.evictedFor"
  Message(std::string_view code, std::vector<MessagePart> parts);
  static Message opaque(std::string text);

  Message& operator+=(MessagePart part);
  Message& operator+=(const char* words) { return *this += MessagePart(std::string(words)); }
  Message& operator+=(std::string words) { return *this += MessagePart(std::move(words)); }
  Message& operator+=(const Message& other);  // its parts
  friend Message operator+(Message before, const Message& after) { return std::move(before += after); }
  [[nodiscard]] Message with_code(std::string_view code) const&;

  [[nodiscard]] const std::string& code() const { return code_; }
  [[nodiscard]] const std::vector<MessagePart>& parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] bool is_opaque() const;
  void clear() { *this = Message(); }

  // What this reader is told.
  [[nodiscard]] std::string text(const MessageReader& reader) const;
  // To who may see all.
  [[nodiscard]] std::string whole_text() const { return text(MessageReader::all()); }
  // To whom nothing is known of.
  [[nodiscard]] std::string public_text() const { return text(MessageReader{}); }

  friend bool operator==(const Message&, const Message&) = default;

 private:
  std::string code_;
  std::vector<MessagePart> parts_;
};

// As one reader is told it: "job-000123 49.5 Gb/s", or kHiddenJob.
std::string part_text(const MessagePart& part, const MessageReader& reader);

inline constexpr std::string_view kHiddenJob = "another tenant's job";
inline constexpr std::string_view kHiddenTenant = "another tenant";
inline constexpr std::string_view kHiddenReservation = "a reservation";
inline constexpr std::string_view kHiddenText = "(written by an earlier version: operators read it)";

// The parts, with commas between them.
void append_list(Message& message, std::vector<MessagePart> parts);

std::string job_name(std::uint64_t number);                      // "job-000123"
std::optional<std::uint64_t> job_number(std::string_view name);  // none: it is no such name
// The part for what ledgers call a job by; a name that is not of that form is opaque.
MessagePart job_part(std::string_view name, std::string note = {});

}  // namespace railweave
