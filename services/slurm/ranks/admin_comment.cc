#include "services/slurm/ranks/admin_comment.h"

#include <algorithm>

namespace railweave::slurm {
namespace {
constexpr std::string_view kBetween = " | ";
}

AdminComment split_admin_comment(std::string_view text) {
  AdminComment parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(kBetween));
    text.remove_prefix(std::min(text.size(), part.size() + kBetween.size()));
    if (parts.mark.empty() && part.starts_with(kMarkWord.substr(0, kMarkWord.size() - 1))) {
      parts.mark = part;
    } else if (!part.empty()) {
      parts.others = join_admin_comment(parts.others, part);
    }
  }
  return parts;
}

std::string join_admin_comment(std::string_view mark, std::string_view others) {
  std::string text(mark);
  if (!text.empty() && !others.empty()) text += kBetween;
  return text += others;
}

}  // namespace railweave::slurm
