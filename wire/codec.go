package wire

import (
	"encoding/binary"
	"fmt"
)

// Record is something that goes over the wire.
type Record interface {
	// fields visits the fields in their order. The codec either reads or writes them.
	fields(c *codec)
}

// Append appends a record.
func Append(b []byte, r Record) []byte {
	c := &codec{bytes: b}
	r.fields(c)
	return c.bytes
}

// Parse reads a record from the beginning of b, and returns what is behind it. The record has no share in
// b. It returns an [*Error] if b is no such record.
func Parse(b []byte, r Record) (rest []byte, err error) {
	c := &codec{bytes: b, reading: true}
	r.fields(c)
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

// codec reads fields from bytes, or writes them there. After an error it does neither.
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

func (c *codec) bool(v *bool) {
	if !c.reading {
		b := byte(0)
		if *v {
			b = 1
		}
		c.bytes = append(c.bytes, b)
	} else if b := c.take(1); b != nil {
		*v = b[0] != 0
	}
}

func (c *codec) int32(v *int32) {
	if !c.reading {
		c.bytes = binary.BigEndian.AppendUint32(c.bytes, uint32(*v))
	} else if b := c.take(4); b != nil {
		*v = int32(binary.BigEndian.Uint32(b))
	}
}

func (c *codec) int64(v *int64) {
	if !c.reading {
		c.bytes = binary.BigEndian.AppendUint64(c.bytes, uint64(*v))
	} else if b := c.take(8); b != nil {
		*v = int64(binary.BigEndian.Uint64(b))
	}
}

// none is the count of what is not there.
const none = -1

// count reads or writes how many bytes or elements follow, of so many bytes at least each.
func (c *codec) count(n *int, least int) {
	v := int32(*n)
	c.int32(&v)
	*n = int(v)
	if c.reading && (*n < none || *n > len(c.bytes)/least) {
		c.fail("it has a count of %d where %d bytes are left", *n, len(c.bytes))
		*n = none
	}
}

// string reads or writes a text. One that is not there is read as empty.
func (c *codec) string(v *string) {
	n := len(*v)
	c.count(&n, 1)
	if !c.reading {
		c.bytes = append(c.bytes, *v...)
	} else if n > 0 {
		*v = string(c.take(n))
	} else {
		*v = ""
	}
}

// buffer reads or writes bytes; nil is a buffer that is not there.
func (c *codec) buffer(v *[]byte) {
	n := none
	if *v != nil {
		n = len(*v)
	}
	c.count(&n, 1)
	if !c.reading {
		c.bytes = append(c.bytes, *v...)
		return
	}
	*v = nil
	if n >= 0 {
		*v = append([]byte{}, c.take(n)...)
	}
}

// vector reads or writes elements of so many bytes at least each; none is read as an empty one. element
// reads or writes one.
func vector[T any](c *codec, v *[]T, least int, element func(*T)) {
	n := len(*v)
	c.count(&n, least)
	if c.reading {
		*v = make([]T, max(0, n))
	}
	for i := range *v {
		element(&(*v)[i])
	}
}

func (c *codec) strings(v *[]string) { vector(c, v, 4, c.string) }
