// Package histories takes histories down while clients run ([Recorder]), and keeps them in files: one JSON object a line
// ([Write], [Read]), in parts if the program that writes them may be killed ([WritePart]). Package linearizability judges
// them.
package histories

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	lin "github.com/zktorture/zktorture/linearizability"
)

// lineMax is the longest line that [Read] accepts, in bytes.
const lineMax = 1 << 20

// errTruncated says that the last line ends in the middle of an operation, as it does when the program that wrote it was
// killed.
var errTruncated = errors.New("the file ends in the middle of an operation")

// Read reads a history file: one JSON object a line.
//
//	{"client":3,"op":"poll","arg":null,"result":"v17","outcome":"ok","call":1041,"return":1077}
//
// client, op, outcome, call and return must be there (return may be null: never); arg, result, object, note and
// process may be left out; anything else is an error, so that a misspelt name is not taken for a missing one. Blank
// lines are skipped. An error names the line and what is wrong with it, and the history returned with it is what was
// read before. If the file ends in the middle of an operation this is all that was completely written.
func Read(r io.Reader) (h lin.History, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, end := readLine(in)
		if end != nil && end != io.EOF {
			return h, fmt.Errorf("line %d: %w", number, end)
		}
		if len(line) > 0 {
			var op lin.Operation
			if err := parse(line, &op); end == io.EOF && errors.Is(err, errCut) {
				return h, fmt.Errorf("line %d: %w", number, errTruncated)
			} else if err != nil {
				return h, fmt.Errorf("line %d: %w", number, err)
			}
			h = append(h, op)
		}
		if end == io.EOF {
			return h, nil
		}
	}
}

// readLine returns the next line without its end; with io.EOF, the rest of the file. It is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return bytes.TrimSpace(line), err
	}
	long := bytes.Clone(line)
	for err == bufio.ErrBufferFull {
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
		if len(long) > lineMax {
			return nil, errLong
		}
	}
	return bytes.TrimSpace(long), err
}

var errLong = fmt.Errorf("longer than %d bytes; a history file has one operation a line", lineMax)

// parse reads a line.
func parse(line []byte, op *lin.Operation) error {
	if err := op.UnmarshalJSON(line); err != nil {
		return explainJSON(err)
	}
	return cmp.Or(strictText(line), strictFields(line))
}

var errCut = errors.New("the operation is cut off")

// explainJSON says what is wrong in words of the file's format.
func explainJSON(err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d", syntax.Offset)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%q cannot be a JSON %s; see the history file's format", mismatch.Field, mismatch.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.TrimPrefix(err.Error(), "json: unknown field ")
		return fmt.Errorf("an operation has no field %s; put remarks into \"note\"", name)
	}
	return err
}

// Write writes h as [Read] reads it, in the order that h has. A [Recorder]'s history is in order of return, as a
// history file should be.
func Write(w io.Writer, h lin.History) error {
	buffered := bufio.NewWriter(w)
	for i, op := range h {
		line, err := op.MarshalJSON()
		if err == nil {
			_, err = buffered.Write(line)
		}
		if err != nil {
			return fmt.Errorf("write operation %d, %v: %w", i+1, op, err)
		}
	}
	return buffered.Flush()
}
