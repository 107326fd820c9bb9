package plan

import "time"

// Observing is why gates are lifted before the step `place`.
const Observing = "Railweave does not place pods (--step observe or order)"

// Observed is what is left of a plan where Railweave only observes: what runs is known to it, and no pod waits for it or ends by it.
func Observed(s *Situation, decided Plan) Plan {
	left := Plan{Adopt: decided.Adopt, Resume: decided.Resume, Report: decided.Report, Freed: decided.Freed, Release: decided.Release, Again: decided.Again}
	if decided.Move != "" {
		left.Move = Decline // what was placed before stays where it is
	}
	for i, member := range s.Members {
		if member.Gated && !member.Ended && !member.Leaving {
			left.Lift = append(left.Lift, i)
		}
	}
	// What runs is known as a whole: its other pods are about to come.
	if left.Adopt && complete(s) > 0 && s.Missing < s.Patience {
		left.Adopt = false
		left.again(time.Second)
	}
	if len(left.Lift) == 0 {
		return left
	}
	left.Lifts = Observing
	// A place that was found before, and that the scheduler need not follow.
	if s.Placement != nil && !s.Placement.Adopted && left.Release == "" && len(left.Lift) == len(s.Members) {
		left.Release = Observing
	}
	return left
}
