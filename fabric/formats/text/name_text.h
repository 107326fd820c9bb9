// Names as they may be stored: valid UTF-8 without control characters. The dumps of tools (ibnetdiscover, ibsim) carry
// whatever the firmware reports, so there offending bytes are escaped as \xNN with a finding; formats that people and
// programs write on purpose (native JSON, clique lists, affinity files) have such names refused.
#pragma once

#include <string>
#include <string_view>

namespace railweave::fabric {

// No C0 or C1 control character, no DEL, and valid UTF-8 (no overlong forms, no surrogates, up to U+10FFFF).
bool is_clean_name(std::string_view text);

// The name with every offending byte as \xNN.
std::string escaped_name(std::string_view text);

}  // namespace railweave::fabric
