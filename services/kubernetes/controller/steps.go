package controller

import (
	"fmt"
	"strings"
)

// Steps say where Railweave only observes: no pod waits for it or is changed by it, and it says where they would have been placed.
type Steps struct {
	Observe    bool            // the cluster, but for these
	Namespaces map[string]bool // of another step: whether Railweave only observes there
}

// Observes whether it only observes in a namespace.
func (s Steps) Observes(namespace string) bool {
	if own, found := s.Namespaces[namespace]; found {
		return own
	}
	return s.Observe
}

func observes(step string) (bool, error) {
	if step != "observe" && step != "place" {
		return false, fmt.Errorf("there is no step %q; it is observe or place", step)
	}
	return step == "observe", nil
}

// ReadSteps of the cluster, as "place", and of namespaces, as "team=observe,test=place".
func ReadSteps(cluster, namespaces string) (Steps, error) {
	var steps Steps
	var err error
	if steps.Observe, err = observes(cluster); err != nil {
		return steps, err
	}
	for _, pair := range strings.FieldsFunc(namespaces, func(c rune) bool { return c == ',' }) {
		name, step, _ := strings.Cut(pair, "=")
		observed, err := observes(step)
		if err != nil || name == "" {
			return steps, fmt.Errorf("%q is not the step of a namespace, as team=observe or team=place", pair)
		}
		if steps.Namespaces == nil {
			steps.Namespaces = map[string]bool{}
		}
		steps.Namespaces[name] = observed
	}
	return steps, nil
}
