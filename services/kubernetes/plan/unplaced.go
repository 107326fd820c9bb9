package plan

import (
	"fmt"
	"time"
)

// apart is about pods that wait and are of no group that can be placed: they are left to the scheduler, or placed each by itself.
func apart(s *Situation) Plan {
	var plan Plan
	beyond := s.Placement != nil && s.Placement.Placed && !s.Placement.Adopted && len(s.Placement.Nodes) > 0
	for i, member := range s.Members {
		switch {
		case !member.Gated || member.Ended || member.Leaving:
		case s.Left != "":
			plan.Leave = append(plan.Leave, i)
		case member.Alone || beyond && member.Position >= len(s.Placement.Nodes):
			plan.Alone = append(plan.Alone, i)
		}
	}
	if plan.Left = s.Left; len(plan.Leave) > 0 && s.Placement != nil && !begun(s) && s.Placement.Phase != "releasing" {
		plan.Release = "its pods are left to the scheduler"
	}
	return plan
}

// forgotten is about a group whose pods have begun, and of which Railweave knows nothing: it is told, also of a part of a group, as what
// that uses is not to be given to others. What cannot begin by now is placed from scratch.
func forgotten(s *Situation, plan *Plan, free []int, bound int) {
	told := 0
	why := ""
	for _, i := range free {
		member := s.Members[i]
		if member.Pinned != "" || member.Lifted {
			told++
		}
		if member.Stuck != "" && (member.Pinned != "" || member.Lifted) { // not a pod of others
			why = fmt.Sprintf("pod %s could not begin: %s", member.Name, member.Stuck)
		}
	}
	switch {
	case why == "":
		plan.Adopt = bound == len(free) || told == len(free) && bound > 0
	case s.Suspendable:
		plan.Suspend = why
	default:
		for _, i := range free {
			remove(s, plan, i, why)
		}
	}
}

const orphaned = "its owner is gone, or has ended, so that no group of it is placed any more"

func unplaced(s *Situation) Plan {
	var plan Plan
	var gated, free []int
	lifted, bound := false, 0
	for i, member := range s.Members {
		switch {
		case member.Ended || member.Leaving:
		case member.Gated:
			gated = append(gated, i)
		default:
			free = append(free, i)
			lifted = lifted || member.Lifted
			if member.Node != "" {
				bound++
			}
		}
	}
	switch {
	case len(gated) == 0 && len(free) == 0:
	case s.Away:
		// Nothing is decided about pods that run; a group of which a part is free goes on where gates are lifted.
		if len(gated) > 0 && s.Lift && (complete(s) <= 0 || lifted) {
			plan.Lift = gated
		} else if len(gated) > 0 {
			plan.Waits = "Railweave cannot be asked where to run; it is asked again"
		}
	case len(gated) == 0:
		forgotten(s, &plan, free, bound)
	case len(free) > 0 && lifted:
		plan.Lift, plan.Lifts = gated, "the others of its group began without a placement" // and it is finished without one
	case len(free) > 0 && s.Suspendable:
		plan.Suspend = "its group is placed again as a whole"
	case len(free) > 0:
		for _, i := range free {
			remove(s, &plan, i, "its group is placed again as a whole")
		}
		if plan.Owners {
			plan.Delete = nil
			plan.Waits = "some of its pods run outside of any placement and have no owner that would make them again: delete them"
		}
	case s.Ended && s.Orphaned >= s.Patience:
		plan.Leave, plan.Left = gated, orphaned
	case s.Ended:
		plan.Waits = orphaned
		plan.again(s.Patience - s.Orphaned)
	case s.Size == 0:
		plan.Waits = s.Unknown
		plan.again(5 * time.Second)
	case complete(s) > 0 && s.Missing < settle:
		plan.again(settle - s.Missing)
	case complete(s) > 0:
		plan.Waits = fmt.Sprintf("waits for %d of its %d pods to be created", complete(s), s.Size)
	default:
		plan.Submit = noneLeaving(s)
		if !plan.Submit {
			plan.again(time.Second)
		}
	}
	return plan
}
