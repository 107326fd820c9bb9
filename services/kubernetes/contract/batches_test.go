package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// counted is a service that answers slowly and keeps what it was sent: number of jobs of each request.
type counted struct {
	mutex sync.Mutex
	sizes []int
	seen  map[string]int
}

func (c *counted) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	time.Sleep(30 * time.Millisecond)
	var batch JobBatch
	var one JobRequest
	answer.Header().Set("Content-Type", "application/json")
	if request.URL.Path == "/v1/jobs" {
		_ = json.NewDecoder(request.Body).Decode(&one)
		c.count([]string{request.Header.Get("Idempotency-Key")})
		if one.Name == "nonsense" {
			answer.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(answer, `{"status":400,"code":"body.invalidField","detail":"nonsense"}`)
			return
		}
		fmt.Fprintf(answer, `{"name":%q,"state":"placed"}`, one.Name)
		return
	}
	_ = json.NewDecoder(request.Body).Decode(&batch)
	var keys []string
	said := JobBatchAnswer{}
	for _, item := range batch.Items {
		if item.Name == "nonsense" {
			answer.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(answer, `{"status":400,"code":"body.invalidField","detail":"an item of yours"}`)
			return
		}
		keys = append(keys, item.Key)
		if item.Name == "refused" {
			said.Items = append(said.Items, BatchedJob{Key: item.Key, Status: 422, Problem: &Problem{Code: "jobs.neverFits", Detail: "refused"}})
		} else {
			said.Items = append(said.Items, BatchedJob{Key: item.Key, Status: 201, Job: &Job{Name: item.Name, State: "placed"}})
		}
	}
	c.count(keys)
	_ = json.NewEncoder(answer).Encode(said)
}

func (c *counted) count(keys []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sizes = append(c.sizes, len(keys))
	for _, key := range keys {
		c.seen[key]++
	}
}

// What is submitted at once goes in few requests, each is answered for itself, and one that makes no sense spoils no other.
func TestSubmissionsAreSentInBatches(t *testing.T) {
	for _, odd := range []string{"refused", "nonsense"} {
		service := &counted{seen: map[string]int{}}
		server := httptest.NewServer(service)
		client, err := New(server.URL, "", "")
		if err != nil {
			t.Fatal(err)
		}
		const jobs = 200
		var group sync.WaitGroup
		for i := range jobs {
			name := fmt.Sprintf("job-%d", i)
			if i == 150 {
				name = odd
			}
			group.Go(func() {
				job, err := client.Submit(context.Background(), fmt.Sprintf("key-%d", i), &JobRequest{Name: name})
				switch {
				case i == 150 && err == nil:
					t.Errorf("%s was taken", odd)
				case i != 150 && (err != nil || job.Name != name):
					t.Errorf("%s: %v, %v", name, job, err)
				}
			})
		}
		group.Wait()
		server.Close()
		if len(service.seen) != jobs {
			t.Errorf("%d of %d keys were seen", len(service.seen), jobs)
		}
		if odd == "refused" && len(service.sizes) > jobs/4 {
			t.Errorf("%d requests for %d jobs: %v", len(service.sizes), jobs, service.sizes)
		}
	}
}

// Bodies stay bounded however many nodes are named.
func TestBatchesAreBounded(t *testing.T) {
	many := make([]string, 4096)
	held := &batches{sending: true}
	for range 50 {
		held.waiting = append(held.waiting, &submission{body: &JobRequest{ExcludeNodes: many}})
	}
	total := 0
	for taken := held.next(); len(taken) > 0; taken = held.next() {
		if len(taken)*len(many) > mostNamesInBatch {
			t.Errorf("%d names in one body", len(taken)*len(many))
		}
		total += len(taken)
	}
	if total != 50 || held.sending {
		t.Errorf("%d of 50 were sent, sending %v", total, held.sending)
	}
}
