// Package plan says what is to be done about one group of pods. Pure: the same situation gives the same plan, so what was begun
// before a restart is finished after it.
package plan

import (
	"fmt"
	"sort"
	"time"
)

// Member is the pod in one position of the group.
type Member struct {
	Name     string
	Gated    bool
	Node     string // where it is bound
	Pinned   string // where it was told to go
	Job      string // the job in Railweave that placed it
	Lifted   bool   // its gate was removed without a placement
	Running  bool
	Ended    bool   // it has succeeded
	Leaving  bool   // it is being deleted
	Owned    bool   // its owner makes another one when it is deleted
	Stuck    string // why the scheduler cannot bind it, after the patience is over
	Position int
}

// Placement is the group's job in Railweave, while it waits or holds GPUs.
type Placement struct {
	ID      string
	Placed  bool
	Phase   string   // of the acknowledged lifecycle: offered, accepted, running, releasing; "" without it
	Nodes   []string // of each position
	Reason  string   // why it waits
	Release string   // why its GPUs are taken back
	Adopted bool     // it says where pods are, not where they shall go
}

type Situation struct {
	Size      int // number of pods of the group; 0 where it is not known
	Unknown   string
	Ended     bool // no pod comes any more
	Members   []Member
	Placement *Placement
	Away      bool // Railweave cannot be asked
	Lift      bool // gates are lifted: Railweave is away for longer than the grace period, and so configured
	// Nodes that are gone or have failed, and nodes on which nothing begins any more.
	Lost, Closed map[string]string
	// How long pods have been missing, and how long that may last.
	Missing, Patience time.Duration
	CannotRepair      bool // the placement could not be repaired; it is made from scratch
	// Whether the owner can be suspended, so that all pods of the group go and come back, and whether the controller has done so.
	Suspendable, Suspended bool
}

// settle is how long the pods of a group take to be created, before it is said that some are missing.
const settle = 2 * time.Second

// Removal is a pod to delete, and why.
type Removal struct {
	Member int
	Why    string
}

type Plan struct {
	Submit  bool
	Adopt   bool
	Lift    []int
	Ungate  []int
	Mark    []int // belong to the placement but do not say so
	Delete  []Removal
	Repair  []string // lost nodes
	Suspend string   // why: all pods go
	Resume  bool     // new pods come
	Release string   // why
	Report  string   // a step of the acknowledged lifecycle: accept, running or freed
	Waits   string   // said to the pods that wait
	Owners  bool     // some pod cannot be deleted, as none would come in its place
	Again   time.Duration
}

func (p *Plan) again(after time.Duration) {
	if p.Again == 0 || after < p.Again {
		p.Again = after
	}
}

// Make decides. Members are indices into the situation's.
func Make(s *Situation) Plan {
	if s.Placement == nil {
		if live, leaving := count(s); s.Suspended {
			return Plan{Resume: live+leaving == 0 && !s.Away}
		}
		return unplaced(s)
	}
	var plan Plan
	live, leaving := count(s)
	if s.Suspended && s.Placement.Phase != "releasing" {
		plan.Resume = live+leaving == 0
		return plan
	}
	if live == 0 {
		empty(s, leaving, &plan)
		return plan
	}
	if !s.Placement.Placed {
		queued(s, &plan)
		return plan
	}
	placed(s, &plan)
	return plan
}

func count(s *Situation) (live, leaving int) {
	for _, member := range s.Members {
		if member.Leaving {
			leaving++
		} else if !member.Ended {
			live++
		}
	}
	return live, leaving
}

func allEnded(s *Situation) bool {
	ended := 0
	for _, member := range s.Members {
		if member.Ended {
			ended++
		}
	}
	return s.Size > 0 && ended >= s.Size
}

// empty is a group without a pod that lives: its GPUs are held for as long as pods may come back.
func empty(s *Situation, leaving int, plan *Plan) {
	releasing := s.Placement.Phase == "releasing"
	switch {
	case leaving > 0:
		plan.again(time.Second)
	case releasing:
		plan.Report = "freed"
	case (!s.Placement.Placed || s.Placement.Phase == "offered") && !s.Ended && s.Size > 0 && !allEnded(s):
		// It holds nothing for long, and its owner takes its time to bring its pods back.
		plan.again(s.Patience)
	case s.Ended || allEnded(s):
		plan.Release = "its pods have ended"
	case s.Missing >= s.Patience:
		plan.Release = "its pods are gone and none came in their place"
	default:
		plan.again(s.Patience - s.Missing)
	}
}

// queued is a group whose job waits: none of its pods may hold GPUs by it.
func queued(s *Situation, plan *Plan) {
	plan.Waits = s.Placement.Reason
	for i, member := range s.Members {
		if member.Gated || member.Ended || member.Leaving {
			continue
		}
		if member.Lifted || member.Job != s.Placement.ID {
			// It began by itself while Railweave was away: what waits for it is of no use any more.
			if member.Node != "" {
				plan.Release = "its pods began by themselves"
				return
			}
			continue
		}
		remove(s, plan, i, "Railweave gave its GPUs to another job; it waits to be placed again")
	}
}

func remove(s *Situation, plan *Plan, member int, why string) {
	if !s.Members[member].Owned {
		plan.Owners = true
		return
	}
	plan.Delete = append(plan.Delete, Removal{member, why})
}

// restart begins from scratch: all pods that are not gated go, and the GPUs with them.
func restart(s *Situation, plan *Plan, why string) {
	if s.Suspendable && begun(s) {
		plan.Suspend, plan.Release = why, why
		return
	}
	for i, member := range s.Members {
		if !member.Gated && !member.Ended && !member.Leaving {
			remove(s, plan, i, why)
		}
	}
	if plan.Owners {
		plan.Delete = nil
		plan.Waits = why + "; it has no owner that would make it again, so it is left as it is: delete it and create it again"
		return
	}
	plan.Release = why
}

func target(s *Situation, member Member) string {
	if member.Position < len(s.Placement.Nodes) {
		return s.Placement.Nodes[member.Position]
	}
	return ""
}

func placed(s *Situation, plan *Plan) {
	if s.Placement.Phase == "releasing" {
		if begun(s) && s.Suspendable {
			if !s.Suspended {
				plan.Suspend = takenBack(s)
			}
			return
		}
		for i, member := range s.Members {
			if !member.Gated && !member.Ended && !member.Leaving {
				remove(s, plan, i, takenBack(s))
			}
		}
		if len(plan.Delete) == 0 && !plan.Owners && noneLeaving(s) {
			plan.Report = "freed"
		}
		return
	}
	if elsewhere(s, plan) || lost(s, plan) || stuck(s, plan) || moved(s, plan) {
		return
	}
	begin(s, plan)
}

// begun says that some pod is not gated, and has neither ended nor been deleted.
func begun(s *Situation) bool {
	for _, member := range s.Members {
		if !member.Gated && !member.Ended && !member.Leaving {
			return true
		}
	}
	return false
}

func takenBack(s *Situation) string {
	if s.Placement.Release == "" {
		return "Railweave takes its GPUs back"
	}
	return "Railweave takes its GPUs back: " + s.Placement.Release
}

func noneLeaving(s *Situation) bool {
	_, leaving := count(s)
	return leaving == 0
}

// elsewhere is about pods that were not told by this placement where to go.
func elsewhere(s *Situation, plan *Plan) bool {
	for i, member := range s.Members {
		if member.Gated || member.Ended || member.Leaving || member.Job == s.Placement.ID {
			continue
		}
		switch {
		case member.Node == "":
			if !member.Lifted {
				remove(s, plan, i, "it belongs to a placement that has ended")
			}
		case hasPlace(s, member):
			if !s.Placement.Adopted { // pods of others are not written to
				plan.Mark = append(plan.Mark, i)
			}
		default:
			*plan = Plan{Release: "its pods began elsewhere"}
			return true
		}
	}
	return len(plan.Mark) > 0 || len(plan.Delete) > 0 || plan.Owners
}

// hasPlace says that the pod is where the placement has it. Adopted pods have no order of their own.
func hasPlace(s *Situation, member Member) bool {
	if !s.Placement.Adopted {
		return member.Node == target(s, member)
	}
	for _, node := range s.Placement.Nodes {
		if node == member.Node {
			return true
		}
	}
	return false
}

// lost is about nodes that are gone: the ranks on them are moved, and pods that run there, or are to, are made again elsewhere.
func lost(s *Situation, plan *Plan) bool {
	nodes := map[string]bool{}
	for i, member := range s.Members {
		if member.Ended || member.Leaving {
			continue
		}
		at, to := member.Node, target(s, member)
		if at == "" {
			at = member.Pinned
		}
		if s.Placement.Adopted {
			to = at
		}
		if why, gone := s.Lost[at]; gone && !member.Gated {
			remove(s, plan, i, fmt.Sprintf("node %s is lost: %s", at, why))
		}
		if _, gone := s.Lost[to]; gone {
			nodes[to] = true
		}
	}
	for node := range nodes {
		plan.Repair = append(plan.Repair, node)
	}
	sort.Strings(plan.Repair)
	if len(nodes) > 0 && (s.CannotRepair || s.Placement.Adopted) {
		why := fmt.Sprintf("node %s is lost: %s", plan.Repair[0], s.Lost[plan.Repair[0]])
		*plan = Plan{}
		restart(s, plan, why)
		return true
	}
	return len(plan.Repair) > 0 || len(plan.Delete) > 0 || plan.Owners
}

// stuck is about pods that cannot begin where they are pinned. A pin cannot be moved.
func stuck(s *Situation, plan *Plan) bool {
	for _, member := range s.Members {
		if member.Gated || member.Ended || member.Leaving || member.Node != "" {
			continue
		}
		why := member.Stuck
		if closed := s.Closed[member.Pinned]; closed != "" {
			why = closed
		}
		if why != "" {
			restart(s, plan, fmt.Sprintf("pod %s could not begin on node %s: %s", member.Name, member.Pinned, why))
			return true
		}
	}
	return false
}

// moved is about pods whose place is another one since they were pinned.
func moved(s *Situation, plan *Plan) bool {
	for i, member := range s.Members {
		if member.Gated || member.Ended || member.Leaving || s.Placement.Adopted {
			continue
		}
		if to := target(s, member); member.Pinned != "" && member.Pinned != to {
			remove(s, plan, i, "its ranks were moved to node "+to)
		}
	}
	return len(plan.Delete) > 0 || plan.Owners
}

func complete(s *Situation) (missing int) {
	present := map[int]bool{}
	for _, member := range s.Members {
		if !member.Leaving && member.Position < s.Size {
			present[member.Position] = true
		}
	}
	return s.Size - len(present)
}

func begin(s *Situation, plan *Plan) {
	gated, bound, live := []int{}, 0, 0
	for i, member := range s.Members {
		if member.Ended || member.Leaving {
			continue
		}
		live++
		if member.Gated {
			gated = append(gated, i)
		} else if member.Running {
			bound++
		}
	}
	// Once it has begun its owner may take long to bring back a pod that has failed, and the others run on: they are its owner's.
	if missing := complete(s); missing > 0 && !s.Placement.Adopted && s.Placement.Phase != "running" {
		waitForPods(s, plan, missing, live-len(gated))
		return
	}
	if len(gated) > 0 && s.Placement.Adopted {
		restart(s, plan, "some of its pods run outside of any placement")
		return
	}
	switch {
	case s.Placement.Phase == "offered":
		plan.Report = "accept" // gates are removed when that is known to have been in time
	case len(gated) > 0:
		plan.Ungate = gated
	case s.Placement.Phase == "accepted" && bound == live:
		plan.Report = "running"
	}
}

// waitForPods holds a placement for pods that are missing, but not half a group for ever.
func waitForPods(s *Situation, plan *Plan, missing, ungated int) {
	plan.Waits = fmt.Sprintf("waits for %d of its %d pods to be created", missing, s.Size)
	switch {
	case s.Missing < s.Patience:
		plan.again(s.Patience - s.Missing)
	case ungated > 0:
		restart(s, plan, fmt.Sprintf("%d of its %d pods did not come", missing, s.Size))
	default:
		plan.Release = fmt.Sprintf("%d of its %d pods did not come", missing, s.Size)
	}
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
		plan.Lift = gated // what was begun without Railweave is finished without it
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
