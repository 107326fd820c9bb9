// Package plan says what is to be done about one group of pods. Pure: the same situation gives the same plan, so what was begun
// before a restart is finished after it.
package plan

import (
	"fmt"
	"maps"
	"slices"
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
	Alone    bool   // it is no part of the group, and placed by itself
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
	Offered bool     // it runs, and is offered another place, which waits for an answer
	Left    []string // nodes with GPUs that its ranks left by a repair, and that are not free before that is reported
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
	// Nodes where a pod of the group has not ended for all that is known, those that are gone too.
	There map[string]bool
	// How long pods have been missing, and how long that may last.
	Missing, Patience time.Duration
	CannotRepair      bool // the placement could not be repaired; it is made from scratch
	// Nothing can be moved off closed nodes now, as there is no room elsewhere; it is tried again.
	NoSpare bool
	// Why its pods are left to the scheduler, "" where they are not, and why they are for once, with what the scheduler may do for them.
	Left, Yields string
	// For how long the owner has been gone, or has ended, while pods of it wait.
	Orphaned time.Duration
	// Whether its pods may be ended and made again elsewhere.
	Checkpointable bool
	// Whether the owner can be suspended, so that all pods of the group go and come back, and whether the controller has done so.
	Suspendable, Suspended bool
}

// settle is how long the pods of a group take to be created, before it is said that some are missing.
const settle = 2 * time.Second

// moveAgain is when ranks are tried to be moved again for which there was no room.
const moveAgain = 10 * time.Second

// Removal is a pod to delete, and why.
type Removal struct {
	Member int
	Why    string
}

type Plan struct {
	Submit  bool
	Adopt   bool
	Lift    []int
	Lifts   string // why, where Railweave is not away
	Leave   []int  // is left to the scheduler for good, one by one
	Left    string // why
	Alone   []int  // is placed by itself from now on
	Ungate  []int
	Mark    []int // belong to the placement but do not say so
	Delete  []Removal
	Repair  []string // lost nodes
	Moves   bool     // off nodes that are not lost: the others of the group run on where there is no room
	Suspend string   // why: all pods go
	Resume  bool     // new pods come
	Release string   // why
	Report  string   // a step of the acknowledged lifecycle: accept, running or freed
	Freed   []string // of freed: these nodes only
	Move    Answer   // to the other place that is offered
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
	if plan := apart(s); len(plan.Leave)+len(plan.Alone) > 0 || plan.Release != "" {
		return plan
	}
	if s.Placement == nil {
		if live, leaving := count(s); s.Suspended {
			return Plan{Resume: live+leaving == 0 && !s.Away}
		}
		return unplaced(s)
	}
	plan := Plan{Move: answer(s)}
	if plan.Move == Accept {
		return plan // its pods go once it is releasing: when the others of the plan have accepted too
	}
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
	if s.Yields != "" && !begun(s) {
		for i, member := range s.Members {
			if member.Gated && !member.Ended && !member.Leaving {
				plan.Lift = append(plan.Lift, i)
			}
		}
		plan.Waits, plan.Lifts, plan.Release = "", s.Yields, "it is left to the scheduler"
		return
	}
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
	if elsewhere(s, plan) || lost(s, plan) || closed(s, plan) || stuck(s, plan) || moved(s, plan) {
		return
	}
	begin(s, plan)
	freeLeft(s, plan)
}

// freeLeft is about nodes that ranks were moved from: their GPUs are free when no pod of the group is there any more.
func freeLeft(s *Situation, plan *Plan) {
	if plan.Report != "" {
		return
	}
	for _, node := range s.Placement.Left {
		if !s.There[node] {
			plan.Report, plan.Freed = "freed", append(plan.Freed, node)
		}
	}
}

// closed is about pods that have not begun, and whose place is on a node where nothing begins any more, for example because it is being
// drained: their ranks move, and no other pod does. Where there is no room elsewhere they wait, and those that run go on.
func closed(s *Situation, plan *Plan) bool {
	nodes, running, gated := map[string]bool{}, false, false
	for _, member := range s.Members {
		if member.Ended || member.Leaving {
			continue
		}
		running = running || member.Node != ""
		if to := target(s, member); member.Node == "" && s.Closed[to] != "" && !s.Placement.Adopted {
			nodes[to], gated = true, gated || member.Gated
		}
	}
	if len(nodes) == 0 {
		return false
	}
	moves := slices.Sorted(maps.Keys(nodes))
	why := fmt.Sprintf("node %s, where its ranks are, is of no use now: %s", moves[0], s.Closed[moves[0]])
	switch {
	case !s.NoSpare:
		plan.Repair, plan.Moves = moves, true
		return true
	case !running:
		restart(s, plan, why)
		return true
	}
	plan.again(moveAgain)
	if gated {
		plan.Waits = why + "; there is no room for them on other nodes, and the group's other pods run on"
	}
	return false
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
	plan.Repair = slices.Sorted(maps.Keys(nodes))
	if len(nodes) > 0 && (s.CannotRepair || s.Placement.Adopted) {
		why := fmt.Sprintf("node %s is lost: %s", plan.Repair[0], s.Lost[plan.Repair[0]])
		*plan = Plan{}
		restart(s, plan, why)
		return true
	}
	return len(plan.Repair) > 0 || len(plan.Delete) > 0 || plan.Owners
}

// stuck is about pods that cannot begin where they are pinned, and where nothing is known to be wrong. A pin cannot be moved.
func stuck(s *Situation, plan *Plan) bool {
	for _, member := range s.Members {
		if member.Gated || member.Ended || member.Leaving || member.Node != "" || member.Stuck == "" || s.Closed[member.Pinned] != "" {
			continue
		}
		restart(s, plan, fmt.Sprintf("pod %s could not begin on node %s: %s", member.Name, member.Pinned, member.Stuck))
		return true
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
	gated, bound, live, lifted := []int{}, 0, 0, false
	for i, member := range s.Members {
		if member.Ended || member.Leaving {
			continue
		}
		live++
		lifted = lifted || member.Lifted
		switch {
		case !member.Gated && member.Running:
			bound++
		case member.Gated && (s.Closed[target(s, member)] == "" || s.Placement.Adopted):
			gated = append(gated, i)
		}
	}
	// Once it has begun its owner may take long to bring back a pod that has failed, and the others run on: they are its owner's.
	if missing := complete(s); missing > 0 && !s.Placement.Adopted && s.Placement.Phase != "running" {
		waitForPods(s, plan, missing, ungated(s))
		return
	}
	if len(gated) > 0 && s.Placement.Adopted && lifted {
		plan.Lift, plan.Lifts = gated, "the others of its group began without a placement" // and it is finished without one
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

func ungated(s *Situation) (count int) {
	for _, member := range s.Members {
		if !member.Gated && !member.Ended && !member.Leaving {
			count++
		}
	}
	return count
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
