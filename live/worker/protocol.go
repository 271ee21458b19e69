package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// Version is the version of the protocol, in the first line of either side.
const Version = 1

// lineMax is the longest line, in bytes.
const lineMax = 1 << 20

// Assignment is the first line that a worker reads.
type Assignment struct {
	Version    int    `json:"zktorture"`
	Kind       string `json:"kind"`                 // the workload: lock, queue …
	Operations string `json:"operations,omitempty"` // that a worker must have, with spaces between them
	Servers    string `json:"servers"`              // host:port,host:port
	TimeoutMS  int64  `json:"session_timeout_ms"`   // to be asked for
	Permits    int    `json:"permits,omitempty"`    // of a semaphore
	Parties    int    `json:"parties,omitempty"`    // of a double barrier
}

// command asks for an operation, or, with Cancel alone, to give one up.
type command struct {
	ID     int64                  `json:"id,omitempty"`
	User   *int                   `json:"user,omitempty"`
	Op     string                 `json:"op,omitempty"`
	Arg    *linearizability.Value `json:"arg,omitempty"`
	Cancel int64                  `json:"cancel,omitempty"`
}

// opObject is the operation that gives a user another object: its argument is the path.
const opObject = "object"

// reply is a line of a worker: that it is ready, an answer, or a change of its session.
type reply struct {
	Version int                    `json:"zktorture,omitempty"`
	Can     []string               `json:"can,omitempty"`
	ID      int64                  `json:"id,omitempty"`
	Outcome string                 `json:"outcome,omitempty"`
	Result  *linearizability.Value `json:"result,omitempty"`
	Error   string                 `json:"error,omitempty"`
	Session json.RawMessage        `json:"session,omitempty"` // a text, or null
	State   State                  `json:"state,omitempty"`
}

// Outcomes: done; failed; failed, but perhaps done.
const (
	outcomeOK      = "ok"
	outcomeFail    = "fail"
	outcomeUnknown = "unknown"
)

// parse reads a line strictly, so that a misspelt name is an error.
func parse(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		syntax, other := new(json.SyntaxError), new(json.UnmarshalTypeError)
		switch {
		case errors.As(err, &syntax):
			return errors.New("the line is not JSON")
		case errors.As(err, &other):
			return fmt.Errorf("its %s cannot be a JSON %s", other.Field, other.Value)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("there is something after the object")
	}
	return nil
}

// parseReply reads a line of a worker and checks it by itself.
func parseReply(line []byte) (r reply, err error) {
	if err := parse(line, &r); err != nil {
		return r, err
	}
	_, err = r.session()
	switch {
	case err != nil:
		return r, err
	case r.Version != 0:
		return r, r.checkReady()
	case r.ID != 0:
		return r, r.checkAnswer()
	case r.State != Connected && r.State != Suspended && r.State != Lost:
		return r, fmt.Errorf("it has neither an id nor one of the states connected, suspended, lost")
	}
	return r, nil
}

func (r reply) checkReady() error {
	session, _ := r.session()
	switch {
	case r.Version != Version:
		return fmt.Errorf("it is version %d of the protocol; this is version %d", r.Version, Version)
	case r.Error == "" && session == 0:
		return fmt.Errorf("it has no session, and no error that says why")
	}
	return nil
}

func (r reply) checkAnswer() error {
	switch r.Outcome {
	case outcomeOK:
		if r.Session == nil {
			return errors.New("it does not say in which session the operation took place: " +
				"write null if that is not known")
		}
	case outcomeFail, outcomeUnknown:
		if r.Error == "" {
			return fmt.Errorf("the outcome is %s, but there is no error", r.Outcome)
		}
	default:
		return fmt.Errorf("the outcome is %q: it must be ok, fail or unknown", r.Outcome)
	}
	return nil
}

// session is the session that the line names; 0 if none.
func (r reply) session() (int64, error) {
	var text *string
	if r.Session == nil {
		return 0, nil
	}
	if err := json.Unmarshal(r.Session, &text); err != nil {
		return 0, fmt.Errorf("the session is %s: it must be a text such as \"0x1000a\", or null", r.Session)
	}
	if text == nil {
		return 0, nil
	}
	id, err := strconv.ParseUint(*text, 0, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("the session is %q: it must be a number other than 0, such as 0x1000a", *text)
	}
	return int64(id), nil
}

// sessionText is a session as it is written; null if there is none.
func sessionText(id int64) json.RawMessage {
	if id == 0 {
		return json.RawMessage("null")
	}
	return json.RawMessage(fmt.Sprintf(`"0x%x"`, uint64(id)))
}

// result is the result that the line has; null if it has none.
func (r reply) result() linearizability.Value {
	if r.Result == nil {
		return linearizability.Null
	}
	return *r.Result
}

// fits reports whether a value can be the result of a successful operation.
func fits(kind, op string, v linearizability.Value) bool {
	if kindNamed(kind).own != nil {
		return true
	}
	isText := !v.IsNull() && !v.IsInt() && !v.IsBool()
	switch op { // those of no model, and those that differ
	case "owner":
		return v.IsBool()
	case "claim", "token", "members", "changed", "list", "next", "share":
		return isText
	case "lease":
		return v.IsInt()
	case "add", "subtract":
		return v.IsInt() || v.IsNull()
	}
	result := operations.Of(op).Result
	if kind == "lockingqueue" && op == "try" {
		result = operations.ItemOrNil
	}
	switch result {
	case operations.Token:
		return v.IsNull() || v.IsInt()
	case operations.Granted:
		return v.IsBool() || v.IsInt()
	case operations.Number:
		return v.IsInt()
	case operations.Item:
		return isText
	case operations.ItemOrNil:
		return isText || v.IsNull()
	}
	return v.IsNull()
}
