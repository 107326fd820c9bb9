#include "fabric/formats/native/native_words.h"

#include <initializer_list>

namespace railweave::fabric {
namespace {

template <class Word, class Spell>
std::optional<Word> parse_word(std::string_view text, std::initializer_list<Word> words, Spell spell) {
  for (const auto word : words) {
    if (spell(word) == text) return word;
  }
  return std::nullopt;
}

}  // namespace

std::string_view native_word(HostKind kind) {
  switch (kind) {
    case HostKind::compute:
      return "compute";
    case HostKind::storage:
      return "storage";
    case HostKind::management:
      return "management";
    case HostKind::unnamed:
      return "unnamed";
  }
  return "";
}

std::string_view native_word(HcaKind kind) {
  switch (kind) {
    case HcaKind::host:
      return "host";
    case HcaKind::aggregation:
      return "aggregation";
    case HcaKind::router:
      return "router";
  }
  return "";
}

std::string_view native_word(SubnetKind kind) {
  switch (kind) {
    case SubnetKind::unknown:
      return "unknown";
    case SubnetKind::compute:
      return "compute";
    case SubnetKind::storage:
      return "storage";
    case SubnetKind::management:
      return "management";
  }
  return "";
}

std::optional<HostKind> parse_host_kind(std::string_view text) {
  using enum HostKind;
  return parse_word(text, {compute, storage, management, unnamed}, [](HostKind kind) { return native_word(kind); });
}

std::optional<HcaKind> parse_hca_kind(std::string_view text) {
  using enum HcaKind;
  return parse_word(text, {host, aggregation, router}, [](HcaKind kind) { return native_word(kind); });
}

std::optional<SubnetKind> parse_subnet_kind(std::string_view text) {
  using enum SubnetKind;
  return parse_word(text, {unknown, compute, storage, management}, [](SubnetKind kind) { return native_word(kind); });
}

std::optional<Severity> parse_severity(std::string_view text) {
  using enum Severity;
  return parse_word(text, {info, warning, error}, [](Severity severity) { return to_string(severity); });
}

}  // namespace railweave::fabric
