// What a mistyped word was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railweave::cli {

// The candidate that a few slips of the fingers turn into the word: a letter more, less, wrong, or two exchanged; "" where
// none is near or the word is too short to tell.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace railweave::cli
