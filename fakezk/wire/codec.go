package wire

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// Record is a pointer to one of the records of this package.
type Record any

// Append appends a record.
func Append(b []byte, r Record) []byte {
	c := &codec{bytes: b}
	c.record(r)
	return c.bytes
}

// Parse reads a record from the beginning of b, and returns what is behind it. The record shares no memory with b. It
// returns an [*Error] if b is no such record.
func Parse(b []byte, r Record) (rest []byte, err error) {
	c := &codec{bytes: b, reading: true}
	c.record(r)
	if c.err != nil {
		c.err.What = fmt.Sprintf("%T", r)[len("*wire."):]
		return nil, c.err
	}
	return c.bytes, nil
}

// Error says what is wrong with what was received.
type Error struct {
	What    string // a frame, or the name of a record
	Problem string
}

func (e *Error) Error() string { return "malformed " + e.What + ": " + e.Problem }

// codec reads records from bytes, or writes them there. After an error it does neither.
type codec struct {
	bytes   []byte // what is left to read, or what has been written
	reading bool
	err     *Error
}

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Problem: fmt.Sprintf(format, args...)}
	}
	c.bytes = nil
}

// take returns the next n bytes to read; nil if they are not there.
func (c *codec) take(n int) []byte {
	if len(c.bytes) < n {
		c.fail("it ends %d bytes early", n-len(c.bytes))
		return nil
	}
	taken := c.bytes[:n]
	c.bytes = c.bytes[n:]
	return taken
}

func (c *codec) record(r Record) {
	switch r := r.(type) {
	case *MultiRequest:
		c.multi(&r.Ops, NewRequest)
	case *MultiReply:
		c.multi(&r.Ops, NewReply)
	default:
		c.field(reflect.ValueOf(r).Elem())
	}
}

// field reads or writes a field; of a struct, all its fields in their order. A pointer is to a bool at the end of a
// frame, which may be left out.
func (c *codec) field(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			c.field(v.Field(i))
		}
	case reflect.String, reflect.Slice:
		c.sequence(v)
	case reflect.Pointer:
		if c.reading && (len(c.bytes) == 0 || c.err != nil) {
			v.SetZero()
			return
		}
		if c.reading {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			c.field(v.Elem())
		}
	default:
		c.number(v)
	}
}

// number reads or writes a bool, in one byte, or a whole number of 32 or 64 bits, in big endian.
func (c *codec) number(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if b := byte(0); !c.reading {
			if v.Bool() {
				b = 1
			}
			c.bytes = append(c.bytes, b)
		} else if b := c.take(1); b != nil {
			v.SetBool(b[0] != 0)
		}
	case reflect.Int32:
		if !c.reading {
			c.bytes = binary.BigEndian.AppendUint32(c.bytes, uint32(v.Int()))
		} else if b := c.take(4); b != nil {
			v.SetInt(int64(int32(binary.BigEndian.Uint32(b))))
		}
	default:
		if !c.reading {
			c.bytes = binary.BigEndian.AppendUint64(c.bytes, uint64(v.Int()))
		} else if b := c.take(8); b != nil {
			v.SetInt(int64(binary.BigEndian.Uint64(b)))
		}
	}
}

// sequence reads or writes a text, a buffer or a vector: a count, then bytes or elements. A text or a vector that is
// not there is read as an empty one, a buffer as nil. A vector may have any count below 0 (BinaryInputArchive).
func (c *codec) sequence(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		if text := c.buffer([]byte(v.String())); c.reading {
			v.SetString(string(text))
		}
	case v.Type().Elem().Kind() == reflect.Uint8:
		if buffer := c.buffer(v.Bytes()); c.reading {
			v.SetBytes(buffer)
		}
	default:
		n := c.count(v.Len(), least(v.Type().Elem()))
		if c.reading {
			v.Set(reflect.MakeSlice(v.Type(), max(0, n), max(0, n)))
		}
		for i := range v.Len() {
			c.field(v.Index(i))
		}
	}
}

// least returns how many bytes a value of the type takes at least.
func least(t reflect.Type) int {
	switch t.Kind() {
	case reflect.Struct:
		sum := 0
		for i := range t.NumField() {
			sum += least(t.Field(i).Type)
		}
		return sum
	case reflect.String, reflect.Slice:
		return countBytes
	}
	return int(t.Size())
}

// countBytes is the length of a count; none is the count of an absent buffer.
const (
	countBytes = 4
	none       = -1
)

// count reads or writes how many bytes or elements follow, each of least bytes or more.
func (c *codec) count(length, least int) int {
	if !c.reading {
		c.bytes = binary.BigEndian.AppendUint32(c.bytes, uint32(int32(length)))
		return length
	}
	n := none
	if b := c.take(countBytes); b != nil {
		n = int(int32(binary.BigEndian.Uint32(b)))
	}
	if n > len(c.bytes)/least {
		c.failCount(n)
		return none
	}
	return n
}

func (c *codec) failCount(n int) {
	c.fail("it has a count of %d where %d bytes are left", n, len(c.bytes))
}

// buffer writes bytes, or reads and returns some; nil is a buffer that is not there.
func (c *codec) buffer(b []byte) []byte {
	n := none
	if b != nil {
		n = len(b)
	}
	if n = c.count(n, 1); !c.reading {
		c.bytes = append(c.bytes, b...)
		return nil
	}
	if n < none {
		c.failCount(n)
	}
	if n < 0 {
		return nil
	}
	return append([]byte{}, c.take(n)...)
}
