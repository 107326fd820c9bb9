package controller

import (
	"cmp"
	"fmt"
	"strings"
)

// Step is how much Railweave decides about pods.
type Step string

const (
	Observe Step = "observe" // nothing: it says where it would have placed them
	Order   Step = "order"   // the order of ranks, where the scheduler has placed them
	Place   Step = "place"   // their nodes
)

// Steps are those of the cluster and of single namespaces.
type Steps struct {
	Cluster    Step // "" is place
	Namespaces map[string]Step
}

// Of a namespace.
func (s Steps) Of(namespace string) Step {
	if own, found := s.Namespaces[namespace]; found {
		return own
	}
	return cmp.Or(s.Cluster, Place)
}

// Observes whether the scheduler alone places pods of the namespace: none waits for Railweave.
func (s Steps) Observes(namespace string) bool { return s.Of(namespace) != Place }

func stepOf(text string) (Step, error) {
	switch step := Step(text); step {
	case Observe, Order, Place:
		return step, nil
	}
	return "", fmt.Errorf("there is no step %q; it is observe, order or place", text)
}

// ReadSteps of the cluster, as "place", and of namespaces, as "team=observe,test=order".
func ReadSteps(cluster, namespaces string) (Steps, error) {
	var steps Steps
	var err error
	if steps.Cluster, err = stepOf(cluster); err != nil {
		return steps, err
	}
	for _, pair := range strings.FieldsFunc(namespaces, func(c rune) bool { return c == ',' }) {
		name, text, _ := strings.Cut(pair, "=")
		step, err := stepOf(text)
		if err != nil || name == "" {
			return steps, fmt.Errorf("%q is not the step of a namespace, as team=observe, team=order or team=place", pair)
		}
		if steps.Namespaces == nil {
			steps.Namespaces = map[string]Step{}
		}
		steps.Namespaces[name] = step
	}
	return steps, nil
}
