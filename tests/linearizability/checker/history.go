// Histories as record.py writes them: a line of JSON for each request.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/anishathalye/porcupine"
)

// Request and answer of one operation. Fields that an operation does not have are empty.
type operation struct {
	Object  string   `json:"object"` // "tenant/t-1", "job/key-1", "drains/1": what is checked as a whole
	Client  int      `json:"client"`
	Op      string   `json:"op"`
	Call    int64    `json:"call"` // nanoseconds of one clock
	Return  int64    `json:"return"`
	Text    string   `json:"text,omitempty"`    // a tenant's description
	IfMatch string   `json:"ifMatch,omitempty"` // a tenant's ETag
	Id      string   `json:"id,omitempty"`      // the job, or the link
	Status  int      `json:"status"`            // 0: no answer, or one from which nothing follows; it may have been done
	ETag    string   `json:"etag,omitempty"`
	State   string   `json:"state,omitempty"` // of a job, as it was read
	Links   []string `json:"links,omitempty"` // that are drained, sorted, as they were read
}

func (o operation) known() bool { return o.Status != 0 }

func (o operation) String() string {
	asked := o.Op + " " + o.Id
	if o.Text != "" {
		asked += fmt.Sprintf(" %q", o.Text)
	}
	if o.IfMatch != "" {
		asked += " if " + o.IfMatch
	}
	if !o.known() {
		return asked + " -> ?"
	}
	return fmt.Sprintf("%s -> %d %s%s%v", asked, o.Status, o.ETag, o.State, o.Links)
}

// By object, in the order of their first operation.
func readHistory(from io.Reader) (map[string][]porcupine.Operation, []string, error) {
	histories := map[string][]porcupine.Operation{}
	var order []string
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one operation
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		if _, seen := histories[one.Object]; !seen {
			order = append(order, one.Object)
		}
		ended := one.Return
		if !one.known() {
			ended = math.MaxInt64 // whenever it takes effect, if it does
		}
		histories[one.Object] = append(histories[one.Object],
			porcupine.Operation{ClientId: one.Client, Input: one, Call: one.Call, Output: one, Return: ended})
	}
	return histories, order, lines.Err()
}
