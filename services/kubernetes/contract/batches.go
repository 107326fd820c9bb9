package contract

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

const (
	mostInBatch = 1000
	// Names of nodes in one body, which may be 4,096 for each job.
	mostNamesInBatch = 40_000
)

// batches gathers what is submitted while an answer is waited for, and sends it as one request: bursts cost Railweave few
// transactions, and who comes alone does not wait for others.
type batches struct {
	mutex   sync.Mutex
	waiting []*submission
	sending bool
}

type submission struct {
	key      string
	body     *JobRequest
	answered chan answered
}

type answered struct {
	job *Job
	err error
}

func (s *submission) names() int {
	names := len(s.body.Nodes) + len(s.body.ExcludeNodes)
	for i := range s.body.PreferNodes {
		names += len(s.body.PreferNodes[i].Nodes)
	}
	return names
}

// Submit is safe to repeat with its key.
func (c *Client) Submit(ctx context.Context, key string, body *JobRequest) (*Job, error) {
	one := &submission{key: key, body: body, answered: make(chan answered, 1)}
	c.batches.mutex.Lock()
	c.batches.waiting = append(c.batches.waiting, one)
	first := !c.batches.sending
	c.batches.sending = true
	c.batches.mutex.Unlock()
	if first {
		go c.sendAll()
	}
	select {
	case <-ctx.Done():
		return nil, &Unreached{ctx.Err()}
	case answer := <-one.answered:
		return answer.job, answer.err
	}
}

// next is what is sent now; the sender ends where it is empty.
func (b *batches) next() []*submission {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	count, names := 0, 0
	for count < len(b.waiting) && count < mostInBatch && (count == 0 || names+b.waiting[count].names() <= mostNamesInBatch) {
		names += b.waiting[count].names()
		count++
	}
	taken := b.waiting[:count:count]
	b.waiting = b.waiting[count:]
	b.sending = count > 0
	return taken
}

// sendAll is not ended with the request of any one of them: others wait for it, and each request has its own limit of time.
func (c *Client) sendAll() {
	for taken := c.batches.next(); len(taken) > 0; taken = c.batches.next() {
		if len(taken) == 1 {
			c.sendAlone(taken[0])
			continue
		}
		c.sendBatch(taken)
	}
}

func (c *Client) sendAlone(one *submission) {
	request, err := c.request(context.Background(), http.MethodPost, "/v1/jobs", nil, one.body)
	if err != nil {
		one.answered <- answered{nil, err}
		return
	}
	request.Header.Set("Idempotency-Key", one.key)
	job := &Job{}
	err = c.do(request, job)
	one.answered <- answered{job, err}
}

func (c *Client) sendBatch(taken []*submission) {
	body := &JobBatch{}
	for _, one := range taken {
		body.Items = append(body.Items, KeyedRequest{Key: one.key, JobRequest: *one.body})
	}
	answer := &JobBatchAnswer{}
	err := c.call(context.Background(), http.MethodPost, "/v1/jobs/batch", nil, body, answer)
	var problem *Problem
	if errors.As(err, &problem) && problem.Refusal() || problem != nil && problem.Status == http.StatusRequestEntityTooLarge {
		// A field of one has the whole refused: each is told of its own.
		for _, one := range taken {
			c.sendAlone(one)
		}
		return
	}
	for i, one := range taken {
		switch {
		case err != nil:
			one.answered <- answered{nil, err}
		case i >= len(answer.Items) || answer.Items[i].Key != one.key || answer.Items[i].Job == nil && answer.Items[i].Problem == nil:
			one.answered <- answered{nil, &Unreached{errors.New("a batch of jobs was not answered as it was asked")}}
		case answer.Items[i].Problem != nil:
			answer.Items[i].Problem.Status = answer.Items[i].Status
			one.answered <- answered{nil, answer.Items[i].Problem}
		default:
			one.answered <- answered{answer.Items[i].Job, nil}
		}
	}
}
