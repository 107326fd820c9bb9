// Whether ports between switches have the tables for the lanes of routes: without them packets are on other lanes than the
// audit walked.
#pragma once

#include <string>

namespace railweave::control {

struct LanesOnPorts {
  bool are_held = false;  // maps of service levels and arbitration, as read back
  std::string refusal{};  // why they are not and will not be soon; "": they are being written
};

}  // namespace railweave::control
