// Sites of samples by their names, as one fabric.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/formats/sources/site_import.h"
#include "tests/unit/formats/fixtures.h"
#include "tests/unit/formats/site_samples.h"

namespace railweave::fabric::site_import_test {

class SiteImportTest : public ::testing::Test {
 protected:
  // Names of samples.
  Result<SiteImport> import(const std::vector<std::string>& names, const SiteImportOptions& options = {}) {
    std::vector<SiteSource> sources;
    for (const std::string& name : names) {
      sources.push_back({name, device_of_file(name), "", recognise(samples_.at(name)), samples_.at(name)});
    }
    return import_site(sources, options);
  }
  TopologyPtr must_import(const std::vector<std::string>& names, const SiteImportOptions& options = {}) {
    auto imported = import(names, options);
    EXPECT_TRUE(imported) << (imported ? "" : imported.error().text());
    return imported ? imported->topology : std::make_shared<const Topology>(empty_topology());
  }
  std::map<std::string, std::string> samples_ = site_samples();
};

}  // namespace railweave::fabric::site_import_test
