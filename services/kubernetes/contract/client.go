package contract

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const maxAnswer = 256 << 20

// Client speaks to one railweaved.
type Client struct {
	base     string
	token    string
	http     *http.Client
	stream   *http.Client
	requests atomic.Int64
	batches  batches
}

// New makes a client; caFile may be empty, and the token too.
func New(base, token, caFile string) (*Client, error) {
	at, err := url.Parse(base)
	if err != nil || at.Host == "" || (at.Scheme != "http" && at.Scheme != "https") {
		return nil, fmt.Errorf("the service's URL %q is none; write for example http://127.0.0.1:7470", base)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 32, IdleConnTimeout: 30 * time.Second}
	if caFile != "" {
		text, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("the file of authorities: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("there is no certificate in %s", caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &Client{
		base:  strings.TrimSuffix(base, "/"),
		token: token,
		// Requests have keys, so that one without an answer is sent again; the grace period runs meanwhile.
		http: &http.Client{Transport: transport, Timeout: 15 * time.Second},
		// A stream has no end; its comments every 15 s show that it lives.
		stream: &http.Client{Transport: transport.Clone()},
	}, nil
}

// Requests is the number of requests sent so far.
func (c *Client) Requests() int64 { return c.requests.Load() }

// Unreached is the error where no answer of the service was received.
type Unreached struct{ Cause error }

func (u *Unreached) Error() string { return u.Cause.Error() }
func (u *Unreached) Unwrap() error { return u.Cause }

// Away says that the service could not decide: it was not reached, or is not ready. Refusals are not among that.
func Away(err error) bool {
	var problem *Problem
	if errors.As(err, &problem) {
		switch problem.Code {
		case "service.notLeader", "service.behind":
			return true
		}
		return problem.Status >= 500 || problem.Status == 429 || problem.Status == 401 || problem.Status == 408
	}
	var unreached *Unreached
	return errors.As(err, &unreached)
}

// CodeOf is the problem's code, "" where the error is none.
func CodeOf(err error) string {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	c.requests.Add(1)
	return request, nil
}

func (c *Client) do(request *http.Request, into any) error {
	answer, err := c.http.Do(request)
	if err != nil {
		return &Unreached{fmt.Errorf("the service at %s cannot be reached: %w", c.base, err)}
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		return problemOf(answer)
	}
	if into == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
		return err
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into); err != nil {
		return &Unreached{fmt.Errorf("the answer of %s to %s %s is no JSON of the contract: %w", c.base, request.Method, request.URL.Path, err)}
	}
	return nil
}

func problemOf(answer *http.Response) error {
	problem := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if json.Unmarshal(text, problem) != nil || problem.Code == "" {
		problem.Detail = fmt.Sprintf("status %d", answer.StatusCode)
	}
	problem.Status = answer.StatusCode
	return problem
}

func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	request, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	return c.do(request, into)
}

type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

func list[T any](ctx context.Context, c *Client, path string, query url.Values, limit int) ([]T, error) {
	query.Set("limit", strconv.Itoa(limit))
	var items []T
	for restarts := 0; ; {
		var one page[T]
		if err := c.call(ctx, http.MethodGet, path, query, nil, &one); err != nil {
			// The topology was changed in between: cursors of before are of no use.
			if CodeOf(err) == "query.cursorExpired" && restarts < 3 {
				restarts++
				items = nil
				query.Del("cursor")
				continue
			}
			return nil, err
		}
		items = append(items, one.Items...)
		if one.NextCursor == nil {
			return items, nil
		}
		query.Set("cursor", *one.NextCursor)
	}
}

func (c *Client) Jobs(ctx context.Context, state string) ([]Job, error) {
	return list[Job](ctx, c, "/v1/jobs", url.Values{"state": {state}}, 1000)
}

func jobPath(id, rest string) string { return "/v1/jobs/" + url.PathEscape(id) + rest }

func (c *Client) Job(ctx context.Context, id string) (*Job, error) {
	job := &Job{}
	return job, c.call(ctx, http.MethodGet, jobPath(id, ""), nil, nil, job)
}

// Change changes a job that waits.
func (c *Client) Change(ctx context.Context, id string, body *JobChange) (*Job, error) {
	job := &Job{}
	return job, c.call(ctx, http.MethodPatch, jobPath(id, ""), nil, body, job)
}

// QueryRanks asks with the ranks of what would be placed.
func (c *Client) QueryRanks(ctx context.Context, body *JobRequest) (*PlacementAnswer, error) {
	asked := *body
	asked.Queue, asked.Launcher, asked.Adopt = false, nil, nil
	answer := &PlacementAnswer{}
	return answer, c.call(ctx, http.MethodPost, "/v1/placements/query", url.Values{"ranks": {"true"}}, &asked, answer)
}

// Advise asks whether a job that runs on those nodes is well placed.
func (c *Client) Advise(ctx context.Context, body *JobRequest, nodes []string) (*PlacementAdvice, error) {
	asked := AdviceRequest{Job: *body, Nodes: nodes}
	asked.Job.Queue, asked.Job.Launcher, asked.Job.Adopt = false, nil, nil
	answer := &PlacementAdvice{}
	return answer, c.call(ctx, http.MethodPost, "/v1/placements/advice", nil, &asked, answer)
}

func (c *Client) Ranks(ctx context.Context, id string) ([]Rank, error) {
	return list[Rank](ctx, c, jobPath(id, "/ranks"), url.Values{}, 100000)
}

// Complete reports the job's end; `freed` that no pod of it is left on any node. A job that has ended, or is not known any
// more, is none that could be ended.
func (c *Client) Complete(ctx context.Context, id, reason string, freed bool) error {
	query := url.Values{"reason": {reason}}
	if freed {
		query.Set("freed", "true")
	}
	return ended(c.call(ctx, http.MethodPost, jobPath(id, "/complete"), query, nil, nil))
}

// Cancel ends a job that waits.
func (c *Client) Cancel(ctx context.Context, id, reason string) error {
	return ended(c.call(ctx, http.MethodDelete, jobPath(id, ""), url.Values{"reason": {reason}}, nil, nil))
}

func ended(err error) error {
	switch CodeOf(err) {
	case "jobs.notFound", "jobs.notRunning", "jobs.ended":
		return nil
	}
	return err
}

func (c *Client) Repair(ctx context.Context, id string, body *RepairRequest) (*Job, error) {
	job := &Job{}
	return job, c.call(ctx, http.MethodPost, jobPath(id, "/repair"), nil, body, job)
}

// Report tells one step of the acknowledged lifecycle: accept, running or freed, of these nodes or of all.
func (c *Client) Report(ctx context.Context, id, step string, nodes ...string) (*Job, error) {
	job := &Job{}
	var body any
	if len(nodes) > 0 {
		body = map[string][]string{"nodes": nodes}
	}
	return job, c.call(ctx, http.MethodPost, jobPath(id, "/"+step), nil, body, job)
}

// AnswerMove accepts the other place that a job is offered, or declines it.
func (c *Client) AnswerMove(ctx context.Context, id string, accept bool) (*Job, error) {
	answer := "decline"
	if accept {
		answer = "accept"
	}
	job := &Job{}
	return job, c.call(ctx, http.MethodPost, jobPath(id, "/move/"+answer), nil, nil, job)
}

// Checkpoint tells when a job has saved its state.
func (c *Client) Checkpoint(ctx context.Context, id string, at time.Time) (*Job, error) {
	job := &Job{}
	return job, c.call(ctx, http.MethodPost, jobPath(id, "/checkpoint"), url.Values{"at": {at.UTC().Format(time.RFC3339Nano)}}, nil, job)
}

func (c *Client) Nodes(ctx context.Context) ([]NodeLine, error) {
	return list[NodeLine](ctx, c, "/v1/nodes", url.Values{}, 1000)
}

func (c *Client) SetNodes(ctx context.Context, facts []NodeFacts) error {
	return c.call(ctx, http.MethodPatch, "/v1/nodes", nil, &Inventory{Nodes: facts}, nil)
}

func (c *Client) NodeDrains(ctx context.Context) ([]Drain, error) {
	return list[Drain](ctx, c, "/v1/drains", url.Values{"kind": {"node"}}, 1000)
}

func (c *Client) Drain(ctx context.Context, node, reason string) error {
	return c.call(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(node)+"/drain", nil, &DrainRequest{Reason: reason}, nil)
}

func (c *Client) Undrain(ctx context.Context, node, reason string) error {
	return c.call(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(node)+"/undrain", nil, &DrainRequest{Reason: reason}, nil)
}

func (c *Client) Fabric(ctx context.Context) (*Fabric, error) {
	fabric := &Fabric{}
	return fabric, c.call(ctx, http.MethodGet, "/v1/fabric/topology", nil, nil, fabric)
}

// Follow calls began() when the stream is open, then seen() for every event, until began() fails, or the connection or the context
// ends.
func (c *Client) Follow(ctx context.Context, began func() error, seen func(Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := c.request(ctx, http.MethodGet, "/v1/events/stream", nil, nil)
	if err != nil {
		return err
	}
	answer, err := c.stream.Do(request)
	if err != nil {
		return fmt.Errorf("the service at %s cannot be reached: %w", c.base, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return problemOf(answer)
	}
	// A service that is suspended, or behind a network that is gone, sends nothing, not even comments.
	const silence = 45 * time.Second
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	if err := began(); err != nil {
		return err
	}
	quiet.Reset(silence)
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	for lines.Scan() {
		quiet.Reset(silence)
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		var event Event
		if json.Unmarshal([]byte(data), &event) == nil {
			seen(event)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the stream of events ended")
}
