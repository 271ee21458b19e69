package linearizability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Value is an argument or a result: null, a boolean, a whole number or a string. Values are compared with ==. The
// zero Value is [Null]. In JSON it is null, true or false, a number or a string; numbers with a fraction, or that do
// not fit 64 bits, are refused.
type Value struct {
	kind   valueKind
	number int64
	text   string
}

type valueKind uint8

const (
	kindNull valueKind = iota
	kindBool
	kindInt
	kindStr
)

// Null is the absent value: no argument, no token, an empty queue.
var Null Value

// Int returns the value of a whole number.
func Int(n int64) Value { return Value{kind: kindInt, number: n} }

// Str returns the value of a string. Strings should be valid UTF-8, or JSON cannot hold them.
func Str(s string) Value { return Value{kind: kindStr, text: s} }

// Bool returns a truth value: the result of a try-lock that has no tokens.
func Bool(b bool) Value {
	if b {
		return Value{kind: kindBool, number: 1}
	}
	return Value{kind: kindBool}
}

// IsNull reports whether v is [Null].
func (v Value) IsNull() bool { return v.kind == kindNull }

// IsInt reports whether v is a whole number.
func (v Value) IsInt() bool { return v.kind == kindInt }

// IsBool reports whether v is a truth value.
func (v Value) IsBool() bool { return v.kind == kindBool }

// Int returns the number that v is, or 0 if v is not a number.
func (v Value) Int() int64 {
	if v.kind != kindInt {
		return 0
	}
	return v.number
}

// String returns the value as text: null, true, false, a decimal number, or the string itself.
func (v Value) String() string {
	switch v.kind {
	case kindBool:
		return strconv.FormatBool(v.number != 0)
	case kindInt:
		return strconv.FormatInt(v.number, 10)
	case kindStr:
		return v.text
	}
	return "null"
}

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	if v.kind != kindStr {
		return []byte(v.String()), nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // whoever marshals v decides that
	err := encoder.Encode(v.text)
	return text.Bytes(), err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Value) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return fmt.Errorf("there is no value; write null, true, false, a number or a string")
	case string(data) == "null":
		*v = Null
	case string(data) == "true", string(data) == "false":
		*v = Bool(data[0] == 't')
	case data[0] == '"':
		*v = Value{kind: kindStr}
		return json.Unmarshal(data, &v.text)
	case data[0] == '{', data[0] == '[':
		return fmt.Errorf("%.40s is not a value; write null, true, false, a number or a string", data)
	default:
		n, err := strconv.ParseInt(string(data), 10, 64)
		if err != nil {
			return fmt.Errorf("%.40s is not a whole number of 64 bits; write it as a string", data)
		}
		*v = Int(n)
	}
	return nil
}
