// Classes of traffic from a file, as PUT /v1/qos-classes takes them.
#pragma once

#include <string>

#include "fabric/qos/qos_class.h"

namespace railweave::cli {

// {"classes": [{"name", "sharePermille", "dscp", "priority", "bound", "lossless"}]} or the list alone; the path empty:
// the usual classes. Throws CommandFailure.
fabric::QosClasses read_qos_classes(const std::string& path);

}  // namespace railweave::cli
