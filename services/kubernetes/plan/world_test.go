package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A small cluster with its owners, scheduler and Railweave, a node for each pod, in steps of a second. It shares no code with the plans.
type pod struct {
	gated, lifted, running, leaving bool
	pinned, node, job               string
	age                             int
}

type job struct {
	id, phase string // phase queued, or of the lifecycle
	nodes     []string
	adopted   bool
	becomes   string   // of releasing
	offered   []string // another place, held for it
	left      []string // by a repair, and not freed
}

type crew struct {
	name         string
	size         int
	alive        bool
	suspendable  bool
	checkpoints  bool
	suspended    bool
	pods         map[int][]*pod // by position; at most one that does not leave
	job          *job
	missing      int
	cannotRepair string
	avoided      map[string]int // nodes where its pods could not begin, until when
}

type world struct {
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	nodes   map[string]bool // up
	blocked map[string]bool // pods cannot begin there, and Railweave does not know
	closed  map[string]bool // cordoned
	crews   []*crew
	away    bool
	jobs    int
	now     int
	moved   int
	freed   int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 5)), nodes: map[string]bool{}, blocked: map[string]bool{}, closed: map[string]bool{}}
	for i := range 6 {
		w.nodes[fmt.Sprintf("n%d", i)] = true
	}
	for i := range 3 {
		w.crews = append(w.crews, &crew{name: fmt.Sprintf("g%d", i), size: 1 + w.random.IntN(4), alive: true, suspendable: w.random.IntN(2) == 0, checkpoints: w.random.IntN(4) > 0, pods: map[int][]*pod{}, avoided: map[string]int{}})
	}
	return w
}

func (w *world) fail(format string, arguments ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d, step %d: %s", w.seed, w.now, fmt.Sprintf(format, arguments...))
}

// holder is whose pod is on the node, nil where none is.
func (w *world) holder(node string) *crew {
	for _, one := range w.crews {
		for _, pods := range one.pods {
			for _, each := range pods {
				if each.node == node {
					return one
				}
			}
		}
	}
	return nil
}

func (w *world) held(node string) bool {
	for _, one := range w.crews {
		if one.job != nil {
			if slices.Contains(one.job.nodes, node) || slices.Contains(one.job.offered, node) || slices.Contains(one.job.left, node) {
				return true
			}
		}
	}
	return false
}

func (w *world) free() (free []string) {
	for i := range 6 {
		node := fmt.Sprintf("n%d", i)
		if w.nodes[node] && !w.held(node) && !w.closed[node] {
			free = append(free, node)
		}
	}
	return free
}

// railweave places what waits, first come first served.
func (w *world) railweave() {
	for _, one := range w.crews {
		if one.job != nil && one.job.phase == "queued" {
			var free []string
			for _, node := range w.free() {
				if one.avoided[node] < w.now {
					free = append(free, node)
				}
			}
			if len(free) >= one.size {
				one.job.phase, one.job.nodes = "offered", free[:one.size:one.size]
			}
		}
	}
}

// kubernetes makes, binds, runs and removes pods.
func (w *world) kubernetes() {
	for _, one := range w.crews {
		for at := range one.size {
			var kept []*pod
			live := false
			for _, each := range one.pods[at] {
				each.age++
				if (one.suspended || !one.alive) && !each.leaving {
					each.leaving = true
				}
				if each.leaving && (each.node == "" || w.nodes[each.node] && w.random.IntN(2) == 0) {
					continue
				}
				live = live || !each.leaving
				w.bind(each)
				kept = append(kept, each)
			}
			if !live && one.alive && !one.suspended && w.random.IntN(3) == 0 {
				kept = append(kept, &pod{gated: true})
			}
			one.pods[at] = kept
		}
	}
}

func (w *world) bind(each *pod) {
	if each.gated || each.leaving {
		return
	}
	if each.node != "" {
		each.running = each.running || w.nodes[each.node]
		return
	}
	for i := range 6 {
		node := fmt.Sprintf("n%d", i)
		if (each.pinned == node || each.pinned == "" && each.lifted) && w.nodes[node] && !w.blocked[node] && !w.closed[node] && w.holder(node) == nil {
			each.node = node
			return
		}
	}
}

// trouble is whatever may happen.
func (w *world) trouble() {
	one := w.crews[w.random.IntN(len(w.crews))]
	node := fmt.Sprintf("n%d", w.random.IntN(6))
	switch w.random.IntN(10) {
	case 0:
		w.nodes[node] = !w.nodes[node]
	case 1:
		w.blocked[node] = !w.blocked[node]
	case 2:
		w.away = !w.away
	case 3: // evicted
		if one.job != nil && (one.job.phase == "accepted" || one.job.phase == "running") {
			one.job.phase, one.job.becomes = "releasing", "queued"
		}
	case 4: // an offer that was not accepted in time
		if one.job != nil && one.job.phase == "offered" && !one.job.adopted {
			one.job.phase, one.job.nodes = "queued", nil
		}
	case 5: // a pod fails, or a user deletes it
		for _, each := range one.pods[w.random.IntN(one.size)] {
			each.leaving = true
		}
	case 6:
		one.job, one.cannotRepair = nil, "" // Railweave has lost its store
	case 7:
		if w.random.IntN(10) == 0 {
			one.alive = false
		}
	case 9:
		w.offer(one)
	case 8: // drained: cordoned, and its pod is evicted
		if w.closed[node] = !w.closed[node]; w.closed[node] {
			for _, pods := range one.pods {
				for _, each := range pods {
					each.leaving = each.leaving || each.node == node
				}
			}
		}
	}
}

func (w *world) situation(one *crew) *Situation {
	s := &Situation{Size: one.size, Ended: !one.alive, Away: w.away, Lift: w.away && w.random.IntN(20) == 0, Lost: map[string]string{}, Closed: map[string]string{}, There: map[string]bool{},
		Patience: 10 * time.Second, Suspendable: one.suspendable, Suspended: one.suspended && one.alive, Checkpointable: one.checkpoints}
	for node, up := range w.nodes {
		if !up {
			s.Lost[node] = "down"
		} else if w.closed[node] {
			s.Closed[node] = "cordoned"
		}
	}
	present := 0
	for at := range one.size {
		for _, each := range one.pods[at] {
			if each.node != "" {
				s.There[each.node] = true
			}
			member := Member{Name: fmt.Sprintf("%s-%d", one.name, at), Position: at, Owned: true, Leaving: each.leaving}
			if each.leaving {
				if each.node != "" && !w.nodes[each.node] {
					continue // no kubelet ends it any more
				}
				member.Position = -1
			} else {
				present++
				member.Gated, member.Node, member.Running, member.Lifted = each.gated, each.node, each.running, each.lifted
				if !each.gated {
					member.Pinned, member.Job = each.pinned, each.job
				}
				if !each.gated && each.node == "" && each.age > 8 {
					member.Stuck = "busy"
				}
			}
			s.Members = append(s.Members, member)
		}
	}
	if present == one.size {
		one.missing = 0
	} else {
		one.missing++
	}
	s.Missing = time.Duration(one.missing) * time.Second
	if one.job != nil && !w.away {
		s.Placement = &Placement{ID: one.job.id, Placed: one.job.phase != "queued", Phase: one.job.phase, Nodes: one.job.nodes, Adopted: one.job.adopted, Reason: "full",
			Offered: one.job.phase == "running" && one.job.offered != nil, Left: slices.Clone(one.job.left)}
		s.CannotRepair = one.cannotRepair == one.job.id
	}
	return s
}

// podOf is the pod that a member stands for.
func (w *world) podOf(one *crew, s *Situation, member int) *pod {
	for _, each := range one.pods[s.Members[member].Position] {
		if !each.leaving {
			return each
		}
	}
	w.fail("no pod of member %d: %+v %+v", member, s.Members, Make(s))
	return nil
}

// passesOn checks that no pod of the group uses a GPU that others may get now.
func (w *world) passesOn(one *crew, why string) {
	for _, pods := range one.pods {
		for _, each := range pods {
			if each.node != "" && w.nodes[each.node] {
				w.fail("%s passes on node %s, where a pod of it still is (%s)", one.name, each.node, why)
			}
		}
	}
}

func (w *world) control(one *crew) {
	s := w.situation(one)
	done := Make(s)
	if len(done.Repair) > 0 && !w.repair(one, done.Repair) {
		if done.Moves {
			s.NoSpare = true
		} else {
			s.CannotRepair = true
			one.cannotRepair = one.job.id
		}
		done = Make(s)
		w.others(one, s, done)
	}
	for _, removal := range done.Delete {
		w.podOf(one, s, removal.Member).leaving = true
	}
	if done.Suspend != "" {
		one.suspended = true
	} else if done.Resume {
		one.suspended = false
	}
	if done.Release != "" {
		w.release(one, s)
		return
	}
	w.answer(one, s, done)
	w.report(one, done)
	for _, member := range done.Ungate {
		each := w.podOf(one, s, member)
		if one.job == nil || one.job.phase != "accepted" && one.job.phase != "running" {
			w.fail("%s is ungated without an accepted offer: %+v", one.name, one.job)
		}
		each.gated, each.age, each.pinned, each.job = false, 0, one.job.nodes[s.Members[member].Position], one.job.id
	}
	for _, member := range done.Mark {
		w.podOf(one, s, member).job = one.job.id
	}
	for _, member := range done.Lift {
		each := w.podOf(one, s, member)
		each.gated, each.lifted, each.age = false, true, 0
	}
	if done.Submit || done.Adopt {
		w.submit(one, done.Adopt)
	}
}

// others checks that pods which run are left alone where others of their group cannot be moved off a cordoned node.
func (w *world) others(one *crew, s *Situation, done Plan) {
	if !s.NoSpare || len(s.Lost) > 0 {
		return
	}
	for i, member := range s.Members {
		if member.Running && !member.Leaving && (done.Suspend != "" || slices.ContainsFunc(done.Delete, func(each Removal) bool { return each.Member == i })) {
			for _, other := range s.Members {
				if other.Stuck != "" {
					return // by something else
				}
			}
			w.fail("%s: a pod that runs is ended because of a node that is cordoned: %+v", one.name, done)
		}
	}
}

func (w *world) submit(one *crew, adopt bool) {
	if one.job != nil || w.away {
		w.fail("%s is asked for twice", one.name)
	}
	w.jobs++
	made := &job{id: fmt.Sprintf("job-%d", w.jobs), phase: "queued"}
	if exact := w.told(one); adopt && exact != nil {
		made.phase, made.nodes = "running", exact
		for _, node := range exact {
			if w.held(node) || !w.nodes[node] {
				return
			}
		}
	} else if adopt {
		made.phase, made.adopted = "offered", true
		for at := range one.size {
			for _, each := range one.pods[at] {
				if each.node != "" && !each.leaving {
					if w.held(each.node) || !w.nodes[each.node] {
						return // refused; asked again
					}
					made.nodes = append(made.nodes, each.node)
				}
			}
		}
	}
	one.job = made
}

// told is the nodes that all pods of a group were told, nil where some were not.
func (w *world) told(one *crew) (nodes []string) {
	for at := range one.size {
		for _, each := range one.pods[at] {
			if !each.leaving && each.pinned != "" {
				nodes = append(nodes, each.pinned)
			}
		}
	}
	if len(nodes) != one.size {
		return nil
	}
	return nodes
}

func (w *world) release(one *crew, s *Situation) {
	began := false
	for _, member := range s.Members {
		if member.Stuck != "" && member.Pinned != "" {
			one.avoided[member.Pinned] = w.now + 100
		}
		began = began || !member.Gated && !member.Ended
	}
	if !began || one.job.phase == "queued" {
		if one.job.phase != "queued" {
			w.passesOn(one, "released")
		}
		one.job = nil
	} else {
		one.job.phase, one.job.becomes = "releasing", "ended"
	}
}

// settled says what is wrong in the end, "" for nothing.
func (w *world) settled() string {
	for _, one := range w.crews {
		if !one.alive {
			if one.job != nil {
				return fmt.Sprintf("%s is gone, and its job is %+v", one.name, *one.job)
			}
			continue
		}
		running, gated := 0, 0
		for at := range one.size {
			for _, each := range one.pods[at] {
				if each.running && !each.leaving {
					running++
					if one.job == nil || !one.job.adopted && one.job.nodes[at] != each.node {
						return fmt.Sprintf("%s-%d runs on %s outside of its placement %+v", one.name, at, each.node, one.job)
					}
				} else if each.gated {
					gated++
				}
			}
		}
		switch {
		case one.job == nil:
			return one.name + " has no job"
		case running == one.size && one.job.phase == "running" && len(one.job.left) == 0:
		case gated == one.size && one.job.phase == "queued" && len(w.free()) < one.size:
		default:
			return fmt.Sprintf("%s of %d: %d run, %d are gated, job %+v, suspended %t, free %v", one.name, one.size, running, gated, *one.job, one.suspended, w.free())
		}
	}
	return ""
}

// Whatever happens, GPUs pass on only when no pod uses them, no pod begins without an accepted offer, and when all is quiet again every
// group runs as a whole where it was placed, or waits as a whole.
func TestGroupsOverRandomHistories(t *testing.T) {
	const seeds = 1000
	ran, moved, freed := 0, 0, 0
	for seed := range uint64(seeds) {
		w := newWorld(t, seed)
		for w.now = range 1600 {
			if w.now < 150 && w.random.IntN(4) == 0 {
				w.trouble()
			}
			if w.now == 150 {
				w.away, w.blocked, w.closed = false, map[string]bool{}, map[string]bool{}
				for node := range w.nodes {
					w.nodes[node] = true
				}
			}
			if !w.away {
				w.railweave()
			}
			w.kubernetes()
			w.control(w.crews[w.random.IntN(len(w.crews))])
		}
		if wrong := w.settled(); wrong != "" {
			w.fail("%s", wrong)
		}
		moved += w.moved
		freed += w.freed
		for _, one := range w.crews {
			if one.alive && one.job.phase == "running" {
				ran++
			}
		}
	}
	if moved < seeds/10 {
		t.Errorf("only %d groups moved in %d histories", moved, seeds)
	}
	if freed < seeds/10 {
		t.Errorf("only %d nodes that ranks had left were freed in %d histories", freed, seeds)
	}
	if ran < seeds {
		t.Errorf("only %d groups ran in %d histories", ran, seeds)
	}
}
