package placement

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"railweave.dev/kubernetes/contract"
)

// moving is a service with one job of one rank; it counts how often job and ranks are read.
type moving struct {
	version     int64
	node        string
	jobs, ranks int
}

func (m *moving) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	answer.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(request.URL.Path, "/ranks") {
		m.ranks++
		fmt.Fprintf(answer, `{"items":[{"rank":0,"node":%q,"gpu":0,"nics":[]}],"nextCursor":null}`, m.node)
		return
	}
	m.jobs++
	fmt.Fprintf(answer, `{"id":"job-1","name":"kubernetes/c/n/job/a","state":"placed","version":%d}`, m.version)
}

// Ranks are read once while they stay, and again whenever they may have moved, also where the event comes after a later report.
func TestRanksAreReadAgainWhenTheyMove(t *testing.T) {
	service := &moving{version: 5, node: "a"}
	server := httptest.NewServer(service)
	defer server.Close()
	client, err := contract.New(server.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	book := &Book{Client: client, Cluster: "c", Changed: func(string) {}, byName: map[string]*entry{}, nameOf: map[string]string{}, ready: true}
	const name = "kubernetes/c/n/job/a"
	job := func() *contract.Job {
		return &contract.Job{ID: "job-1", Name: name, State: "placed", Version: service.version}
	}
	event := func(seq int64, kind string) {
		book.seen(contract.Event{Seq: seq, Type: kind, Subject: contract.Subject{Kind: "job", ID: "job-1"}})
	}
	read := func(what, node string, jobs, ranks int) {
		t.Helper()
		held, err := book.Held(context.Background(), name, 1)
		if err != nil || held == nil || held.Chunks[0].Node != node {
			t.Fatalf("%s: %+v, %v", what, held, err)
		}
		if service.jobs != jobs || service.ranks != ranks {
			t.Errorf("%s: job read %d times, ranks %d times; %d and %d are enough", what, service.jobs, service.ranks, jobs, ranks)
		}
	}
	book.Put(job())
	event(5, "job.placed")
	read("placed", "a", 0, 1)
	service.version = 8
	book.Reported(job())
	read("accepted", "a", 0, 1)
	event(8, "job.accepted")
	read("told of it", "a", 0, 1)
	service.version = 9
	event(9, "job.running")
	read("running by another report", "a", 1, 1)
	// Moved before the report was answered, and told of afterwards.
	service.version, service.node = 11, "b"
	book.Reported(job())
	event(10, "job.moved")
	read("moved meanwhile", "b", 1, 2)
	event(11, "job.accepted")
	service.version, service.node = 12, "c"
	event(12, "job.moved")
	read("moved", "c", 2, 3)
	read("again", "c", 2, 3)
}
