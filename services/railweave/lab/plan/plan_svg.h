// A plan as a picture: what each fabric costs against how long a step takes on it.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/lab/plan/planned_fabric.h"

namespace railweave::cli {

// chosen: of the fabrics; the others that no other one beats in both are joined by a line.
std::string plan_svg(const std::vector<PlannedFabric>& fabrics, std::size_t chosen);

}  // namespace railweave::cli
