package nodes

import (
	"strings"
	"time"
)

// OurReason is what the reasons of drains begin with that the controller asked for. Others are never undone.
const OurReason = "kubernetes: "

// Pair is a node as Kubernetes and as Railweave have it.
type Pair struct {
	Name string
	// Kubernetes.
	Cordoned    bool   // unschedulable
	CordonedFor string // our annotation: the drain for which the controller cordoned it
	NotReady    string // why
	NotReadyFor time.Duration
	// Railweave.
	Drained bool
	Reason  string
	// For how long neither gives a reason to keep it out of use that the controller carried over.
	CalmFor time.Duration
}

// Step is what is done about one node.
type Step struct {
	Drain, Undrain   string // reason; "" for nothing
	Cordon           string
	Uncordon, Forget bool // Forget: the annotation only
}

// wantsDrain is why Kubernetes keeps the node out of use, "" where it does not.
func (p Pair) wantsDrain(lostAfter time.Duration) string {
	switch {
	case p.Cordoned && p.CordonedFor == "":
		return OurReason + "cordoned"
	case p.NotReady != "" && p.NotReadyFor >= lostAfter:
		return OurReason + "not ready: " + p.NotReady
	}
	return ""
}

func (p Pair) drainOfOurs() bool { return p.Drained && strings.HasPrefix(p.Reason, OurReason) }

// Calm says that what was carried over before may be undone, once that is so for long enough.
func (p Pair) Calm(lostAfter time.Duration) bool {
	undrain := p.drainOfOurs() && p.wantsDrain(lostAfter) == "" && p.NotReady == ""
	uncordon := p.CordonedFor != "" && (!p.Drained || p.drainOfOurs())
	return undrain || uncordon
}

// Decide what to do: cordons and failures become drains, drains of operators become cordons, and each is undone only by who did it.
func Decide(p Pair, lostAfter, calmAfter time.Duration) Step {
	var step Step
	wants := p.wantsDrain(lostAfter)
	calm := p.CalmFor >= calmAfter
	switch {
	case !p.Drained && wants != "":
		step.Drain = wants
	case p.drainOfOurs() && wants == "" && p.NotReady == "" && calm:
		step.Undrain = OurReason + "back in use"
	}
	theirs := p.Drained && !p.drainOfOurs()
	switch {
	case theirs && !p.Cordoned && p.CordonedFor == "":
		step.Cordon = p.Reason
		if step.Cordon == "" {
			step.Cordon = "drained in Railweave"
		}
	case !theirs && p.CordonedFor != "" && !p.Cordoned:
		step.Forget = true // who uncordoned it did so on purpose
	case !theirs && p.CordonedFor != "" && calm:
		step.Uncordon = true
	}
	return step
}
