package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

type document struct {
	Paths      map[string]map[string]any `yaml:"paths"`
	Components struct {
		Schemas    map[string]map[string]any `yaml:"schemas"`
		Parameters map[string]map[string]any `yaml:"parameters"`
	} `yaml:"components"`
	text string
}

func read(t *testing.T) *document {
	text, err := os.ReadFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	one := &document{text: string(text)}
	if err := yaml.Unmarshal(text, one); err != nil {
		t.Fatal(err)
	}
	return one
}

// resolved follows a reference; anything else is returned as it is.
func (d *document) resolved(schema map[string]any) map[string]any {
	for {
		reference, found := schema["$ref"].(string)
		if !found {
			return schema
		}
		name := strings.TrimPrefix(reference, "#/components/schemas/")
		if schema = d.Components.Schemas[name]; schema == nil {
			panic("no schema " + reference)
		}
	}
}

// fields is what an object may have, with what it takes from others.
func (d *document) fields(schema map[string]any) map[string]map[string]any {
	schema = d.resolved(schema)
	found := map[string]map[string]any{}
	for _, list := range []string{"allOf", "oneOf"} {
		parts, _ := schema[list].([]any)
		for _, part := range parts {
			for name, field := range d.fields(part.(map[string]any)) {
				found[name] = field
			}
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, field := range properties {
		if described, ok := field.(map[string]any); ok {
			found[name] = described
		} else if found[name] == nil {
			found[name] = map[string]any{}
		}
	}
	return found
}

// kinds is the JSON types that a schema allows.
func (d *document) kinds(schema map[string]any) map[string]bool {
	schema = d.resolved(schema)
	found := map[string]bool{}
	switch of := schema["type"].(type) {
	case string:
		found[of] = true
	case []any:
		for _, one := range of {
			found[one.(string)] = true
		}
	}
	for _, list := range []string{"allOf", "oneOf"} {
		parts, _ := schema[list].([]any)
		for _, part := range parts {
			for kind := range d.kinds(part.(map[string]any)) {
				found[kind] = true
			}
		}
	}
	if len(d.fields(schema)) > 0 {
		found["object"] = true
	}
	return found
}

func (d *document) check(t *testing.T, where string, of reflect.Type, schema map[string]any) int {
	t.Helper()
	schema = d.resolved(schema)
	kinds := d.kinds(schema)
	nullable := kinds["null"]
	want := ""
	if of.Kind() == reflect.Pointer {
		nullable, of = false, of.Elem()
	}
	switch of.Kind() {
	case reflect.String:
		want = "string"
	case reflect.Bool:
		want = "boolean"
	case reflect.Int, reflect.Int64:
		want = "integer"
	case reflect.Float64:
		want = "number"
	case reflect.Slice:
		want = "array"
		if items, ok := schema["items"].(map[string]any); ok {
			d.check(t, where+"[]", of.Elem(), items)
		}
	case reflect.Map, reflect.Struct:
		want = "object"
	}
	if len(kinds) > 0 && !kinds[want] && !(want == "number" && kinds["integer"]) {
		t.Errorf("%s is %s in Go and %v in the contract", where, want, kinds)
	}
	if nullable && of.Kind() == reflect.Struct {
		t.Errorf("%s may be null, and cannot be in Go", where)
	}
	checked := 1
	if of.Kind() != reflect.Struct {
		return checked
	}
	fields := d.fields(schema)
	if len(fields) == 0 {
		t.Errorf("%s has no fields in the contract", where)
	}
	for i := range of.NumField() {
		if of.Field(i).Anonymous {
			checked += d.check(t, where, of.Field(i).Type, schema)
			continue
		}
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		field, found := fields[name]
		if !found {
			t.Errorf("%s.%s is not in the contract", where, name)
			continue
		}
		checked += d.check(t, where+"."+name, of.Field(i).Type, field)
	}
	return checked
}

func TestTypesAreThoseOfTheContract(t *testing.T) {
	d := read(t)
	for name, of := range map[string]any{"JobSubmission": JobRequest{}, "Job": Job{}, "Rank": Rank{}, "JobChange": JobChange{}, "RepairRequest": RepairRequest{},
		"Inventory": Inventory{}, "Problem": Problem{}, "Event": Event{}, "DrainRequest": DrainRequest{}, "NodeLine": NodeLine{}, "Drain": Drain{},
		"PlacementAnswer": PlacementAnswer{}, "PlacementAdvice": PlacementAdvice{}, "BatchSubmission": KeyedRequest{}} {
		schema := d.Components.Schemas[name]
		if schema == nil {
			t.Errorf("the contract has no schema %s", name)
		} else if checked := d.check(t, name, reflect.TypeOf(of), schema); checked < 2 {
			t.Errorf("%s: nothing was compared", name)
		}
	}
}

// Every request that the client sends is one of the contract: its path, its method and its parameters.
func TestRequestsAreThoseOfTheContract(t *testing.T) {
	d := read(t)
	var seen []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		seen = append(seen, request)
		answer.Header().Set("Content-Type", "application/json")
		fmt.Fprint(answer, `{"items":[],"nextCursor":null}`)
	}))
	defer server.Close()
	client, err := New(server.URL, "token", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	body := &JobRequest{Name: "a"}
	for name, call := range map[string]func() error{
		"jobs":     func() error { _, err := client.Jobs(ctx, "placed"); return err },
		"job":      func() error { _, err := client.Job(ctx, "job-000001"); return err },
		"advise":   func() error { _, err := client.Advise(ctx, body, []string{"node-1"}); return err },
		"submit":   func() error { _, err := client.Submit(ctx, "key", body); return err },
		"query":    func() error { _, err := client.QueryRanks(ctx, body); return err },
		"ranks":    func() error { _, err := client.Ranks(ctx, "job-000001"); return err },
		"complete": func() error { return client.Complete(ctx, "job-000001", "why", true) },
		"cancel":   func() error { return client.Cancel(ctx, "job-000001", "why") },
		"repair":   func() error { _, err := client.Repair(ctx, "job-000001", &RepairRequest{}); return err },
		"change":   func() error { _, err := client.Change(ctx, "job-000001", &JobChange{}); return err },
		"accept":   func() error { _, err := client.Report(ctx, "job-000001", "accept"); return err },
		"running":  func() error { _, err := client.Report(ctx, "job-000001", "running"); return err },
		"freed":    func() error { _, err := client.Report(ctx, "job-000001", "freed"); return err },
		"move":     func() error { _, err := client.AnswerMove(ctx, "job-000001", true); return err },
		"stay":     func() error { _, err := client.AnswerMove(ctx, "job-000001", false); return err },
		"saved":    func() error { _, err := client.Checkpoint(ctx, "job-000001", time.Now()); return err },
		"nodes":    func() error { _, err := client.Nodes(ctx); return err },
		"setNodes": func() error { return client.SetNodes(ctx, nil) },
		"drains":   func() error { _, err := client.NodeDrains(ctx); return err },
		"drain":    func() error { return client.Drain(ctx, "n", "why") },
		"undrain":  func() error { return client.Undrain(ctx, "n", "why") },
		"fabric":   func() error { _, err := client.Fabric(ctx); return err },
		"follow": func() error {
			_ = client.Follow(ctx, func() error { return nil }, func(Event) {})
			return nil
		},
	} {
		before := len(seen)
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(seen) == before {
			t.Fatalf("%s sent nothing", name)
		}
	}
	for _, request := range seen {
		d.checkRequest(t, request)
	}
}

func (d *document) checkRequest(t *testing.T, request *http.Request) {
	t.Helper()
	for path, item := range d.Paths {
		if !matches(path, request.URL.Path) {
			continue
		}
		operation, found := item[strings.ToLower(request.Method)].(map[string]any)
		if !found {
			continue
		}
		allowed := map[string]bool{}
		lists, _ := item["parameters"].([]any)
		own, _ := operation["parameters"].([]any)
		for _, one := range append(append([]any{}, lists...), own...) {
			parameter := one.(map[string]any)
			if reference, found := parameter["$ref"].(string); found {
				parameter = d.Components.Parameters[strings.TrimPrefix(reference, "#/components/parameters/")]
			}
			if parameter["in"] == "query" {
				allowed[parameter["name"].(string)] = true
			}
		}
		for name := range request.URL.Query() {
			if !allowed[name] {
				t.Errorf("%s %s has no parameter %s", request.Method, path, name)
			}
		}
		return
	}
	t.Errorf("%s %s is not in the contract", request.Method, request.URL.Path)
}

func matches(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != have[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

// Codes that decide what is done are written in the sources as the contract has them.
func TestCodesAreThoseOfTheContract(t *testing.T) {
	d := read(t)
	for _, code := range []string{"query.cursorExpired", "idempotency.jobEnded", "idempotency.keyReused", "jobs.notFound", "jobs.notRunning",
		"jobs.ended", "service.notLeader", "service.behind"} {
		if !strings.Contains(d.text, code) {
			t.Errorf("the contract has no code %s", code)
		}
	}
}

// What of the fabric's file is read is there in one that the service writes.
func TestFabricIsRead(t *testing.T) {
	text := `{"subnets":[{"name":"compute","kind":"compute"}],"rails":["rail-0"],"switches":[{"guid":"01","name":"leaf","ports":2,"subnet":"compute"}],
		"hosts":[{"name":"a","adapters":[{"guid":"02","ports":[{"guid":"03","rail":"rail-0"}]}],"gpus":[{"domain":"d","clique":1}]}],"links":[[0,1,1,1]]}`
	fabric := &Fabric{}
	if err := json.Unmarshal([]byte(text), fabric); err != nil {
		t.Fatal(err)
	}
	if fabric.Hosts[0].Adapters[0].Ports[0].Rail != "rail-0" || fabric.Links[0][2] != 1 || *fabric.Hosts[0].Gpus[0].Clique != 1 {
		t.Errorf("read as %+v", fabric)
	}
}
