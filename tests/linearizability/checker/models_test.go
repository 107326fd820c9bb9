package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// Operations as they are written, with times; each test has one object.
func verdict(t *testing.T, object string, operations ...operation) porcupine.CheckResult {
	t.Helper()
	var lines strings.Builder
	for at := range operations {
		operations[at].Object = object
		operations[at].Client = at
		line, _ := json.Marshal(operations[at])
		lines.Write(append(line, '\n'))
	}
	histories, order, err := readHistory(strings.NewReader(lines.String()))
	if err != nil || len(order) != 1 {
		t.Fatal(err, order)
	}
	result, _, _, err := check(histories[object], object)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func expect(t *testing.T, good bool, object string, operations ...operation) {
	t.Helper()
	wanted := porcupine.Illegal
	if good {
		wanted = porcupine.Ok
	}
	if found := verdict(t, object, operations...); found != wanted {
		t.Errorf("%v, expected %v", found, wanted)
	}
}

func at(call, ended int64, o operation) operation {
	o.Call, o.Return = call, ended
	return o
}

func put(text, etag string) operation {
	return operation{Op: "put", Text: text, Status: 200, ETag: etag}
}
func get(text, etag string) operation {
	return operation{Op: "get", Text: text, Status: 200, ETag: etag}
}

func TestTenants(t *testing.T) {
	lost := operation{Op: "put", Text: "b"}
	refused := operation{Op: "put", Text: "c", IfMatch: "1", Status: 412}
	expect(t, true, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, get("a", "1")))
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, get("b", "1")))                                                   // another value
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, put("b", "2")), at(5, 6, get("a", "1")))                          // stale
	expect(t, true, "tenant/a", at(1, 2, put("a", "1")), at(3, 6, put("b", "2")), at(4, 5, get("a", "1")))                           // at the same time
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 9, put("b", "2")), at(4, 5, get("b", "2")), at(6, 7, get("a", "1"))) // back again
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, operation{Op: "get", Status: 404}))                               // an acknowledged write lost
	expect(t, true, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, lost), at(5, 6, get("a", "1")), at(7, 8, get("b", "2")))           // late
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, lost), at(5, 6, get("b", "2")), at(7, 8, get("b", "3")))          // its version changes
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, lost), at(5, 6, get("b", "2")), at(7, 8, get("a", "1")))          // done and undone
	expect(t, true, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, put("b", "2")), at(5, 6, refused))
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, refused)) // refused although the tag is right
	both := operation{Op: "put", Text: "c", IfMatch: "1", Status: 200, ETag: "2"}
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 6, both), at(4, 5, operation{Op: "put", Text: "d", IfMatch: "1", Status: 200, ETag: "3"}))
	gone := operation{Op: "delete", Status: 204}
	expect(t, true, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, gone), at(5, 6, operation{Op: "get", Status: 404}))
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, gone), at(5, 6, gone))
	expect(t, false, "tenant/a", at(1, 2, put("a", "1")), at(3, 4, put("a", "2"))) // the same again is no change
}

func TestJobs(t *testing.T) {
	made := operation{Op: "submit", Id: "job-1", Status: 201}
	again := operation{Op: "submit", Id: "job-1", Status: 200}
	expect(t, true, "job/k", at(1, 2, made), at(3, 4, again), at(5, 6, operation{Op: "get", Id: "job-1", State: "placed", Status: 200}))
	expect(t, false, "job/k", at(1, 4, made), at(2, 3, operation{Op: "submit", Id: "job-2", Status: 201})) // twice
	expect(t, false, "job/k", at(1, 2, made), at(3, 4, operation{Op: "submit", Id: "job-2", Status: 200})) // another
	expect(t, true, "job/k", at(1, 2, operation{Op: "submit"}), at(3, 4, again))                           // the lost one was stored
	expect(t, true, "job/k", at(1, 2, operation{Op: "submit"}), at(3, 4, made), at(5, 6, again))           // it was not
	expect(t, false, "job/k", at(1, 2, made), at(3, 4, operation{Op: "get", Id: "job-1", Status: 404}))    // acknowledged and lost
	cancelled := operation{Op: "cancel", Id: "job-1", Status: 200}
	placed := operation{Op: "get", Id: "job-1", State: "placed", Status: 200}
	expect(t, false, "job/k", at(1, 2, made), at(3, 4, cancelled), at(5, 6, placed))                           // stale
	expect(t, true, "job/k", at(1, 2, made), at(3, 4, operation{Op: "cancel", Id: "job-1"}), at(5, 6, placed)) // the cancellation was lost
}

func TestDrains(t *testing.T) {
	drain := func(link string) operation { return operation{Op: "drain", Id: link, Status: 200} }
	list := func(links ...string) operation { return operation{Op: "list", Links: links, Status: 200} }
	expect(t, true, "drains/1", at(1, 2, drain("b")), at(3, 4, drain("a")), at(5, 6, list("a", "b")))
	expect(t, false, "drains/1", at(1, 2, drain("b")), at(3, 4, drain("a")), at(5, 6, list("a")))
	// Two readers see two drains in different orders.
	expect(t, false, "drains/1", at(1, 9, drain("a")), at(1, 9, drain("b")), at(2, 3, list("a")), at(4, 5, list("b")))
	expect(t, true, "drains/1", at(1, 2, drain("a")), at(3, 4, operation{Op: "undrain", Id: "a", Status: 204}), at(5, 6, list()))
	expect(t, false, "drains/1", at(1, 2, drain("a")), at(3, 4, operation{Op: "undrain", Id: "a", Status: 404}))
	expect(t, true, "drains/1", at(1, 2, operation{Op: "drain", Id: "a"}), at(3, 4, list()), at(5, 6, list("a")))
}
