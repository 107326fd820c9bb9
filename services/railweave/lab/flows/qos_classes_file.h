// Traffic classes from a file.
#pragma once

#include <string>

#include "fabric/qos/qos_class.h"

namespace railweave::cli {

// {"classes": [{"name", "sharePermille", "dscp", "priority", "bound", "lossless"}]}, "items" for "classes" as the service
// answers, or the list alone; the default classes for an empty path. Throws CommandFailure.
fabric::QosClasses read_qos_classes(const std::string& path);

}  // namespace railweave::cli
