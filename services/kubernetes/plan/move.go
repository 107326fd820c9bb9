package plan

// Answer is what is said to the offer of another place.
type Answer string

const (
	Accept  Answer = "accept"
	Decline Answer = "decline"
)

// answer is "" where nothing is offered. A group moves as it was placed: as a whole, and only while all of it runs, so that no place is kept for
// pods that are about to be placed again anyway. Its job stays: the place that is held is its own when it comes back.
func answer(s *Situation) Answer {
	switch {
	case !s.Placement.Offered:
		return ""
	case s.Checkpointable && !s.Ended && wholeRuns(s):
		return Accept
	}
	return Decline
}

// wholeRuns says that a pod of each position runs where it was placed, and that each of them is made again when it is ended.
func wholeRuns(s *Situation) bool {
	running := map[int]bool{}
	for _, member := range s.Members {
		if !member.Running || member.Gated || member.Leaving || member.Ended || !member.Owned || member.Job != s.Placement.ID ||
			member.Node != target(s, member) || s.Lost[member.Node] != "" {
			return false
		}
		running[member.Position] = true
	}
	return s.Size > 0 && len(running) == s.Size
}
