// What parts of a cluster cost, and how long it is used: given, or assumed and printed.
#pragma once

#include <string>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// In one currency. Defaults are round numbers of the order that is publicly quoted for 400 Gb/s parts; they are there to be replaced.
struct Prices {
  double gpu = 30'000;
  double rack_gpu = 45'000;     // in an NVLink domain beyond its host, which is a newer one
  double host = 60'000;         // without GPUs and adapters
  double adapter = 1'500;       // and its host's side of the cable
  double switch_port = 700;     // of each port of a switch, used or not
  double host_cable = 400;      // leaf to host, with what its ends need
  double switch_cable = 2'000;  // between switches: longer, optical, with both transceivers
  double nvlink_gpu = 4'000;    // of each GPU in an NVLink domain beyond its host: switches and the backplane
  double years = 4;             // of use, over which it is all paid off
  double overhead = 0.6;        // power, room and people in that time, as a share of the price

  [[nodiscard]] double of_hour(double total) const;  // of use, what a cluster of that price costs
};

// "gpu=25000,switchPort=500", or a JSON file with such fields. Throws CommandFailure.
Prices read_prices(const std::string& text);
Json prices_json(const Prices& prices);

}  // namespace railweave::cli
