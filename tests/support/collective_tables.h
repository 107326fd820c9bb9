// The nccl-tests tables of shared/data/collectives, with the properties of the machines they were measured on.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scheduler/collective/calibration.h"

namespace railweave::scheduler::testing {

struct CollectiveTable {
  std::string file;
  AllReduceSetting setting;
  std::vector<MeasuredTime> rows;  // out of place
};

// Empty if the folder is absent.
inline std::vector<CollectiveTable> read_collective_tables(const std::string& shared_data) {
  std::vector<CollectiveTable> tables{
      // DGX H100: NVLink 4, 450 GB/s per direction, a 400 Gb/s adapter per GPU.
      {"dgxc_h100_8gpu.csv", {3'600'000, 400'000, true, 8, 1}, {}},
      {"transcribed_h100_16gpu.csv", {3'600'000, 400'000, true, 8, 2}, {}},
      // BM.GPU4.8: NVLink 3, 300 GB/s per direction, two 100 Gb/s adapters per GPU.
      {"oke_a100_16gpu_2node.csv", {2'400'000, 200'000, false, 8, 2}, {}},
      // NVL72: NVLink 5, 900 GB/s per direction, one domain.
      {"coreweave_gb200_72gpu_1rack.csv", {7'200'000, 400'000, true, 72, 1}, {}},
      {"transcribed_gb300_16gpu.csv", {7'200'000, 800'000, true, 16, 1}, {}},
  };
  for (CollectiveTable& table : tables) {
    std::ifstream in(shared_data + "/collectives/" + table.file);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::vector<std::string> cells;
      std::istringstream cut(line);
      for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
      if (cells.size() < 5) continue;
      table.rows.push_back({table.setting, std::stod(cells[0]), std::stod(cells[4])});
    }
  }
  if (tables.front().rows.empty()) tables.clear();
  return tables;
}

}  // namespace railweave::scheduler::testing
