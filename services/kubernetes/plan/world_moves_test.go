package plan

import "slices"

// offer holds another place for a group that runs, or ends an offer.
func (w *world) offer(one *crew) {
	if one.job == nil || one.job.phase != "running" || one.job.adopted {
		return
	}
	if one.job.offered != nil {
		one.job.offered = nil
		return
	}
	free := w.free()
	w.random.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	if len(free) == 0 {
		return
	}
	one.job.offered = slices.Clone(one.job.nodes)
	for i := range min(len(free), 1+w.random.IntN(one.size)) {
		one.job.offered[i] = free[i]
	}
}

// answer is what the plan says of an offer: what was accepted makes way, and gets the place that is held for it.
func (w *world) answer(one *crew, s *Situation, done Plan) {
	switch done.Move {
	case "":
		if s.Placement != nil && s.Placement.Offered && done.Release == "" {
			w.fail("%s: an offer has no answer: %+v", one.name, done)
		}
	case Decline:
		one.job.offered = nil
	case Accept:
		if len(done.Delete)+len(done.Ungate)+len(done.Repair) > 0 || done.Suspend != "" || done.Release != "" {
			w.fail("%s moves and does more: %+v", one.name, done)
		}
		for at := range one.size {
			runs := 0
			for _, each := range one.pods[at] {
				if each.running && !each.leaving && each.node == one.job.nodes[at] && w.nodes[each.node] {
					runs++
				}
			}
			if runs != 1 || !one.checkpoints {
				w.fail("%s moves, and %d pods of position %d run, checkpointable %t", one.name, runs, at, one.checkpoints)
			}
		}
		one.job.phase, one.job.becomes = "releasing", "moved"
	}
}

func (w *world) report(one *crew, done Plan) {
	step := done.Report
	switch {
	case step == "":
	case step == "freed" && len(done.Freed) > 0:
		for _, node := range done.Freed {
			if !slices.Contains(one.job.left, node) {
				w.fail("%s has freed %s, which it did not leave", one.name, node)
			}
			for _, pods := range one.pods {
				for _, each := range pods {
					if each.node == node {
						w.fail("%s passes on node %s, where a pod of it still is", one.name, node)
					}
				}
			}
		}
		one.job.left = slices.DeleteFunc(one.job.left, func(node string) bool { return slices.Contains(done.Freed, node) })
		w.freed++
	case step == "accept" && one.job.phase == "offered":
		one.job.phase = "accepted"
	case step == "running" && one.job.phase == "accepted":
		one.job.phase = "running"
	case step == "freed":
		if one.job.phase != "releasing" {
			w.fail("%s: freed in phase %s", one.name, one.job.phase)
		}
		w.passesOn(one, "freed")
		held, becomes := one.job.offered, one.job.becomes
		one.job.phase, one.job.nodes, one.job.offered, one.job.left = "queued", nil, nil, nil
		switch {
		case becomes == "ended":
			one.job = nil
		case becomes == "moved" && !slices.ContainsFunc(held, func(node string) bool { return !w.nodes[node] }):
			one.job.phase, one.job.nodes = "offered", held
			w.moved++
		}
	}
}

func (w *world) repair(one *crew, lost []string) bool {
	free := w.free()
	moved := append([]string(nil), one.job.nodes...)
	for i, node := range moved {
		for _, gone := range lost {
			if node == gone {
				if len(free) == 0 {
					return false
				}
				if one.job.phase != "offered" {
					one.job.left = append(one.job.left, node)
				}
				moved[i], free = free[0], free[1:]
			}
		}
	}
	one.job.nodes = moved
	return true
}
