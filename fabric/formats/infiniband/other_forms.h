// Outputs of infiniband-diags that describe a fabric in a form that is not read.
#pragma once

#include <string>
#include <string_view>

namespace railweave::fabric {

// What the text is and what to give instead, for people; "": it is none of them.
//   ibnetdiscover -p, --ports   "CA    12  1 0x0002c903000e0b72 4x QDR - SW ..."
//   iblinkinfo                  "   3   1[  ] ==( 4X  10.0 Gbps Active/  LinkUp)==>  5  1[  ] "host HCA-1" ( )"
//   ibnetdiscover -l, -H, -S    "Ca : 0x0002c903000e0b72 ports 1 devid ... "host HCA-1""
std::string describe_other_form(std::string_view text);

}  // namespace railweave::fabric
