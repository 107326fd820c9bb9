// What ports ask about multicast: to join a group, which makes one that does not exist, to leave it, and what groups there are
// (IBA 15.2.5.17). Pure but for the book of groups.
//
// A port that asks for another needs a partition with the group, and only such a membership may be ended by another port again.
// Who does not show the administration's key sees the groups of partitions that it is in, and of members only itself.
#pragma once

#include "fabric/drivers/infiniband/administration/multicast_book.h"
#include "fabric/drivers/infiniband/administration/requester.h"
#include "fabric/drivers/infiniband/administration/sa_answer.h"

namespace railweave::fabric::infiniband {

// answer: with the header that it is to have.
SaAnswer answer_join(const Requester& requester, const Mad& request, SaAnswer answer, MulticastBook& book);
SaAnswer answer_leave(const Requester& requester, const Mad& request, SaAnswer answer, MulticastBook& book);
// at_most: records; the answer has no more.
SaAnswer answer_groups(const Requester& requester, const Mad& request, SaAnswer answer, const MulticastBook& book,
                       std::size_t at_most);

// A path to a group, by its GID or LID: what packets to it have to be. From ports that are in the group, where the request names one.
bool is_path_to_group(const Mad& request, std::uint64_t component_mask);
SaAnswer answer_group_path(const Requester& requester, const Mad& request, SaAnswer answer, const MulticastBook& book);

}  // namespace railweave::fabric::infiniband
