#include "fabric/base/log/log.h"

#include <algorithm>

namespace railweave::log {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::string_view kHidden = "***";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::size_t end_of(std::string_view text, std::size_t from, bool (*belongs)(char)) {
  while (from < text.size() && belongs(text[from])) ++from;
  return from;
}

// "rw_<id>_<secret>": the id is no secret, and tells which one it was.
std::size_t copy_token(std::string_view text, std::size_t at, std::string& out) {
  constexpr std::string_view kPrefix = "rw_";
  constexpr std::size_t kShortest = 20;  // of the rest: words that only begin alike are left
  const std::size_t end = end_of(text, at, is_word);
  if (!text.substr(at).starts_with(kPrefix) || end - at < kPrefix.size() + kShortest) return at;
  const std::size_t secret = text.find('_', at + kPrefix.size());
  out.append(text.substr(at, secret < end ? secret + 1 - at : kPrefix.size())).append(kHidden);
  return end;
}

// Three parts of base64url: the first is a JSON object, so it begins with "eyJ".
std::size_t copy_web_token(std::string_view text, std::size_t at, std::string& out) {
  if (!text.substr(at).starts_with("eyJ")) return at;
  const std::size_t end = end_of(text, at, [](char c) { return is_word(c) || c == '.'; });
  if (std::ranges::count(text.substr(at, end - at), '.') < 2) return at;
  out.append("eyJ").append(kHidden);
  return end;
}

// "postgresql://user:password@host/database", "https://hooks.example/T0/SECRET?key=..."
std::size_t copy_address(std::string_view text, std::size_t at, std::string& out) {
  const std::size_t scheme = end_of(text, at, is_word);
  if (scheme == at || !text.substr(scheme).starts_with("://")) return at;
  const std::size_t host = scheme + 3;
  const auto ends = [](char c) { return c == '/' || c == '?' || c == '#'; };
  const auto in_address = [](char c) { return c > ' ' && c != '"' && c != '\'' && c != ')' && c != ',' && c != ';'; };
  const std::size_t end = end_of(text, host, in_address);
  std::size_t path = host;
  while (path < end && !ends(text[path])) ++path;
  out.append(text.substr(at, host - at));
  const std::size_t user = text.substr(host, path - host).rfind('@');
  if (user != std::string_view::npos) out.append(kHidden).append("@");
  out.append(text.substr(user == std::string_view::npos ? host : host + user + 1,
                         user == std::string_view::npos ? path - host : path - host - user - 1));
  const bool is_http = text.substr(at, 4) == "http";
  if (!is_http) out.append(text.substr(path, text.substr(path, end - path).find('?')).substr(0, end - path));
  if (is_http && end - path > 1) out.append("/").append(kHidden);
  return end;
}

}  // namespace

Result<Levels> Levels::parse(std::string_view text) {
  const auto refuse = [](std::string_view word, std::string_view kind, std::string_view known) {
    return fail(ErrorKind::invalid, "config.badLogLevel",
                fmt::format("'{}' is not a log {}", fmt::string_view(word.data(), word.size()),
                            fmt::string_view(kind.data(), kind.size())),
                "log_level", fmt::format("one of {}; levels of subjects are like live=debug,rest=info", known));
  };
  Levels levels;
  Level others = Level::info;
  std::array<bool, enum_values<Subject>().size()> is_named{};
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view entry = text.substr(at, end - at);
    const std::size_t equals = entry.find('=');
    const std::string_view level_text = equals == std::string_view::npos ? entry : entry.substr(equals + 1);
    const auto level = parse_enum<Level>(level_text);
    if (!level) return refuse(level_text, "level", enum_texts<Level>());
    if (equals == std::string_view::npos) {
      others = *level;
    } else {
      const auto subject = parse_enum<Subject>(entry.substr(0, equals));
      if (!subject) return refuse(entry.substr(0, equals), "subject", enum_texts<Subject>());
      levels.set(*subject, *level);
      is_named[static_cast<std::size_t>(*subject)] = true;
    }
    at = end + 1;
  }
  for (const Subject subject : enum_values<Subject>()) {
    if (!is_named[static_cast<std::size_t>(subject)]) levels.set(subject, others);
  }
  return levels;
}

void Log::put(Level level, const std::string& text) const {
  std::string line(to_text(subject_));
  line.append(" ").append(spans_).append(text);
  sink_->write(level, plain(line));
}

std::string plain(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size() && out.size() < kMaxLine;) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins) {
      std::size_t next = copy_token(text, at, out);
      if (next == at) next = copy_web_token(text, at, out);
      if (next == at) next = copy_address(text, at, out);
      if (next != at) {
        at = next;
        continue;
      }
    }
    const char c = text[at++];
    out.push_back(c < ' ' && c >= 0 ? '?' : c == '\x7f' ? '?' : c);
  }
  if (out.size() > kMaxLine) out.resize(kMaxLine);
  return out;
}

}  // namespace railweave::log
