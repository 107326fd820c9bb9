#include "services/railweave/support/redaction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace railweave::cli {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool ends_address(char c) { return is_space(c) || std::string_view("\"'<>`").contains(c); }
// What ends a bare value in JSON, and a token.
bool ends_value(char c) { return ends_address(c) || std::string_view(",;)}]").contains(c); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool speaks_of_secrets(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {"password", "passwd",     "passphrase", "secret",
                                                       "token",    "credential", "apikey",     "authorization",
                                                       "private",  "api_key",    "cookie",     "m_key"};
  const std::string word = lower(name);
  if (word.ends_with("file") || word.ends_with("dir") || word.ends_with("folder")) return false;
  return std::ranges::any_of(kNames, [&](std::string_view secret) { return word.contains(secret); });
}

class Redactor {
 public:
  explicit Redactor(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  std::string take() {
    while (at_ < text_.size()) {
      if (!private_key() && !address() && !word()) out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  template <class While>
  std::string_view take_while(While holds) {
    const std::size_t from = at_;
    while (at_ < text_.size() && holds(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }
  void copy(std::size_t count) {
    count = std::min(count, text_.size() - at_);
    out_ += text_.substr(at_, count);
    at_ += count;
  }
  void hide(std::size_t count) {
    at_ += std::min(count, text_.size() - at_);
    if (!out_.ends_with(kRedacted)) out_ += kRedacted;
  }

  bool private_key() {
    constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
    if (!rest().starts_with(kBegin)) return false;
    const auto line = rest().substr(0, rest().find('\n'));
    if (!line.contains("PRIVATE")) return false;
    const auto end = rest().find(kEnd);
    hide(end == std::string_view::npos ? rest().size() : end);
    return true;
  }

  // From "://" on: the scheme was copied as a word.
  bool address() {
    constexpr std::string_view kAfterScheme = "://";
    if (!rest().starts_with(kAfterScheme)) return false;
    const bool http = out_.ends_with("http") || out_.ends_with("https");
    copy(kAfterScheme.size());
    // A password may have any byte, if it is not written as it should be.
    const auto whole = take_while([](char c) { return !ends_address(c); });
    const auto at = whole.rfind('@');
    const auto user = whole.substr(0, at == std::string_view::npos ? 0 : at);
    const auto password = user.find(':');
    out_ += user.substr(0, password);
    if (password != std::string_view::npos) out_.append(":").append(kRedacted);
    const auto place = whole.substr(user.size());
    const auto host = place.substr(0, place.find_first_of("/?#"));
    const auto path = place.substr(host.size());
    const auto shown = http ? path.substr(0, path.starts_with('/') ? 1 : 0) : path.substr(0, path.find_first_of("?#"));
    out_.append(host).append(shown);
    if (shown.size() < path.size()) out_ += kRedacted;
    return true;
  }

  bool word() {
    if (!is_word(text_[at_])) return false;
    const auto name = take_while(is_word);
    if (token(name)) return true;
    out_ += name;
    if (name == "Bearer" || name == "Basic") {
      out_ += take_while(is_blank);
      if (const auto shown = take_while([](char c) { return !ends_value(c); }); !shown.empty()) hide(0);
    } else if (speaks_of_secrets(name)) {
      value_of_name();
    }
    return true;
  }

  // A token that stands for itself, whatever is before it.
  bool token(std::string_view word) {
    constexpr std::string_view kRailweave = "rw_";
    if (word.starts_with(kRailweave)) {
      const auto secret = word.find('_', kRailweave.size());
      if (secret == std::string_view::npos) return false;
      out_.append(word.substr(0, secret + 1)).append(kRedacted);
      return true;
    }
    if (!word.starts_with("eyJ") || at_ >= text_.size() || text_[at_] != '.') return false;
    take_while([](char c) { return is_word(c) || c == '.'; });
    hide(0);
    return true;
  }

  // name = "value", "name": "value", name: value, name=value, name = [ ... ]
  void value_of_name() {
    const std::size_t begin = at_;
    const bool quoted = at_ < text_.size() && std::string_view("\"'").contains(text_[at_]);
    if (quoted) ++at_;
    take_while(is_blank);
    if (at_ >= text_.size() || (text_[at_] != '=' && text_[at_] != ':') || rest().starts_with("://")) {
      at_ = begin;
      return;
    }
    ++at_;
    const bool apart = !take_while(is_blank).empty();
    out_ += text_.substr(begin, at_ - begin);
    hide_value(quoted, apart);
  }

  // Of a quoted name: a value of JSON. Apart from its name: of YAML, to the end of the line.
  void hide_value(bool quoted, bool apart) {
    for (const std::string_view quote : {"\"\"\"", "'''", "\"", "'"}) {
      if (!rest().starts_with(quote)) continue;
      copy(quote.size());
      const auto end = end_of_quote(quote);
      if (end > at_) hide(end - at_);
      copy(quote.size());
      return;
    }
    if (rest().starts_with('[') || rest().starts_with('{')) {
      hide(end_of_bracket() - at_);
      return;
    }
    const auto value = take_while([&](char c) { return quoted ? !ends_value(c) : apart ? c != '\n' : !is_space(c); });
    if (value == "null" || value == "true" || value == "false") {
      out_ += value;
    } else if (!value.empty()) {
      hide(0);
    }
  }

  [[nodiscard]] std::size_t end_of_quote(std::string_view quote) const {
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == '\\' && quote.front() == '"') {
        ++i;
      } else if (text_.substr(i).starts_with(quote)) {
        return i;
      }
    }
    return text_.size();
  }
  [[nodiscard]] std::size_t end_of_bracket() const {
    std::size_t depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == '[' || text_[i] == '{') ++depth;
      if ((text_[i] == ']' || text_[i] == '}') && --depth == 0) return i + 1;
    }
    return text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string redacted(std::string_view text) { return Redactor(text).take(); }

}  // namespace railweave::cli
