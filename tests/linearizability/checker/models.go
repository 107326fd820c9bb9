// What one tenant, one job and a set of drains do when nothing happens at the same time. An operation without an answer has
// every outcome that it may have had; versions that were never read are open until an answer tells them.
package main

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

func modelOf(object string) (porcupine.NondeterministicModel, error) {
	kind, _, _ := strings.Cut(object, "/")
	switch kind {
	case "tenant":
		return model(tenant{}, stepTenant), nil
	case "job":
		return model(job{}, stepJob), nil
	case "drains":
		return model(drains(""), stepDrains), nil
	}
	return porcupine.NondeterministicModel{}, fmt.Errorf("there is no model of %q", object)
}

func model[S comparable](first S, step func(S, operation) []S) porcupine.NondeterministicModel {
	return porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{first} },
		Step: func(state, input, output interface{}) []interface{} {
			var next []interface{}
			for _, one := range step(state.(S), output.(operation)) {
				next = append(next, one)
			}
			return next
		},
		Equal:             func(a, b interface{}) bool { return a.(S) == b.(S) },
		DescribeOperation: func(input, output interface{}) string { return output.(operation).String() },
		DescribeState:     func(state interface{}) string { return fmt.Sprintf("%+v", state) },
	}
}

type tenant struct {
	Present bool
	Text    string
	ETag    string // "": of a change whose answer was lost
}

// Whether If-Match may hold, and whether it may not.
func (t tenant) matches(ifMatch string) (may, mayNot bool) {
	if ifMatch == "" {
		return true, false
	}
	if !t.Present {
		return false, true
	}
	if t.ETag == "" {
		return true, true
	}
	return t.ETag == ifMatch, t.ETag != ifMatch
}

func stepTenant(t tenant, o operation) []tenant {
	may, mayNot := t.matches(o.IfMatch)
	var next []tenant
	refused := !o.known() || o.Status == 412
	if refused && mayNot {
		next = append(next, t)
	}
	switch o.Op {
	case "put":
		same := t.Present && t.Text == o.Text
		if !o.known() && may {
			changed := tenant{true, o.Text, ""}
			if same {
				changed = t
			}
			next = append(next, changed)
		}
		if o.Status == 200 && may && (t.ETag == "" || same == (t.ETag == o.ETag)) {
			next = append(next, tenant{true, o.Text, o.ETag})
		}
	case "delete":
		if (!o.known() || o.Status == 204) && may && t.Present {
			next = append(next, tenant{})
		}
		if (!o.known() || o.Status == 404) && !t.Present {
			next = append(next, t)
		}
	case "get":
		if !o.known() {
			return []tenant{t}
		}
		if o.Status == 404 && !t.Present {
			next = append(next, t)
		}
		if o.Status == 200 && t.Present && t.Text == o.Text && (t.ETag == "" || t.ETag == o.ETag) {
			next = append(next, tenant{true, t.Text, o.ETag})
		}
	}
	return next
}

type job struct {
	Submitted bool
	Id        string // "": submitted by a request whose answer was lost
	Cancelled bool
}

func stepJob(j job, o operation) []job {
	isIt := j.Submitted && (j.Id == "" || o.Id == "" || j.Id == o.Id)
	id := j.Id
	if id == "" {
		id = o.Id
	}
	switch o.Op {
	case "submit":
		if !o.known() {
			if j.Submitted {
				return []job{j}
			}
			return []job{{true, "", false}}
		}
		if o.Status == 201 && !j.Submitted {
			return []job{{true, o.Id, false}}
		}
		if o.Status == 200 && isIt {
			return []job{{true, id, j.Cancelled}}
		}
	case "cancel":
		if isIt && (!o.known() || o.Status == 200) {
			return []job{{true, id, true}}
		}
		if !o.known() {
			return []job{j}
		}
	case "get":
		if !o.known() {
			return []job{j}
		}
		if o.Status == 200 && isIt && (o.State == "cancelled") == j.Cancelled {
			return []job{{true, id, j.Cancelled}}
		}
	}
	return nil
}

// The links, sorted and joined.
type drains string

func (d drains) with(link string) drains {
	links := strings.Fields(string(d))
	for at, one := range links {
		if one == link {
			return d
		}
		if one > link {
			links = append(links[:at], append([]string{link}, links[at:]...)...)
			return drains(strings.Join(links, " "))
		}
	}
	return drains(strings.Join(append(links, link), " "))
}

func (d drains) without(link string) drains {
	var rest []string
	for _, one := range strings.Fields(string(d)) {
		if one != link {
			rest = append(rest, one)
		}
	}
	return drains(strings.Join(rest, " "))
}

func stepDrains(d drains, o operation) []drains {
	drained := d.without(o.Id) != d
	switch o.Op {
	case "drain":
		if !o.known() || o.Status == 200 {
			return []drains{d.with(o.Id)}
		}
		if o.Status == 409 { // the fabric changed while it was looked at: refused
			return []drains{d}
		}
	case "undrain":
		if !o.known() || (o.Status == 204) == drained && (o.Status == 204 || o.Status == 404) {
			return []drains{d.without(o.Id)}
		}
	case "list":
		if !o.known() || o.Status == 200 && strings.Join(o.Links, " ") == string(d) {
			return []drains{d}
		}
	}
	return nil
}
