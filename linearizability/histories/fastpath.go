package histories

import (
	"bytes"
	"slices"

	lin "github.com/zktorture/zktorture/linearizability"
)

// fastDecoder decodes the lines that [Write] and most other programs write: an object of known fields, none of them
// twice, with whole numbers and strings of printable ASCII without escapes. All other lines, and all that are wrong,
// are left to package encoding/json, which is slower. A line that is decoded here has the same meaning there.
//
// The lines of a file are alike: what is before a value is mostly what was there in the line before, and then it need not
// be taken apart.
type fastDecoder struct {
	rest  []byte
	names names
	form  []piece // of the last line
}

// piece is what is before a value, or after the last, and which field the value is of.
type piece struct {
	text  []byte
	field int
}

func newFastDecoder() fastDecoder { return fastDecoder{names: names{}} }

// names are the few strings that occur on many lines, kept once.
type names map[string]string

const namesMax = 1 << 12

func (n names) of(b []byte) string {
	if s, found := n[string(b)]; found {
		return s
	}
	s := string(b)
	if len(n) < namesMax {
		n[s] = s
	}
	return s
}

// The fields of an operation, as a set in the order of fieldNames, and those that it must have.
const (
	fieldClient = 1 << iota
	fieldOp
	fieldArg
	fieldResult
	fieldOutcome
	fieldCall
	fieldReturn
	fieldObject
	fieldNote
	fieldProcess
	fieldsEnd // stands for the end of the line

	fieldsNeeded = fieldClient | fieldOp | fieldOutcome | fieldCall | fieldReturn
)

// parse reads a line, which has no blanks around it, into an operation that is zero.
func (p *fastDecoder) parse(line []byte, op *lin.Operation) bool {
	p.rest = line
	seen := 0
	for i := 0; ; i++ {
		field := p.piece(i)
		if field == fieldsEnd {
			return len(p.rest) == 0 && seen&fieldsNeeded == fieldsNeeded
		}
		if field == 0 || seen&field != 0 || !p.read(field, op) {
			return false
		}
		seen |= field
	}
}

// piece reads piece i of a line and returns the field of the value after it, or 0.
func (p *fastDecoder) piece(i int) int {
	if i < len(p.form) && bytes.HasPrefix(p.rest, p.form[i].text) {
		p.rest = p.rest[len(p.form[i].text):]
		p.space()
		return p.form[i].field
	}
	text := p.rest
	field := p.newPiece(i)
	switch {
	case field == 0:
		return 0
	case i == len(p.form):
		p.form = append(p.form, piece{})
	}
	p.form[i] = piece{append(p.form[i].text[:0], text[:len(text)-len(p.rest)]...), field}
	return field
}

// newPiece is piece for one that is not as in the last line.
func (p *fastDecoder) newPiece(i int) int {
	switch {
	case i == 0 && !p.skip('{'):
		return 0
	case i > 0 && p.skip('}'):
		return fieldsEnd
	case i > 0 && !p.skip(','):
		return 0
	}
	name, ok := p.text()
	if !ok || !p.skip(':') {
		return 0
	}
	i = slices.Index(fieldNames, string(name))
	if i < 0 {
		return 0
	}
	return 1 << i
}

// read reads the value of a field.
func (p *fastDecoder) read(field int, op *lin.Operation) (ok bool) {
	switch field {
	case fieldClient:
		var n int64
		n, ok = p.number()
		op.Client = int(n)
	case fieldOp:
		ok = p.name(&op.Op)
	case fieldArg:
		ok = p.value(&op.Arg)
	case fieldResult:
		ok = p.value(&op.Result)
	case fieldOutcome:
		ok = p.outcome(&op.Outcome)
	case fieldCall:
		ok = p.stamp(&op.Call)
	case fieldReturn:
		op.Return = lin.Forever
		ok = p.word("null") || p.stamp(&op.Return)
	case fieldObject:
		ok = p.name(&op.Object)
	case fieldNote:
		ok = p.name(&op.Note)
	case fieldProcess:
		ok = p.value(&op.Process)
	}
	return ok
}

func (p *fastDecoder) outcome(o *lin.Outcome) bool {
	text, ok := p.text()
	return ok && o.UnmarshalText(text) == nil
}

func (p *fastDecoder) stamp(at *int64) (ok bool) {
	*at, ok = p.number()
	return ok
}

func (p *fastDecoder) space() {
	for len(p.rest) > 0 && (p.rest[0] == ' ' || p.rest[0] == '\t') {
		p.rest = p.rest[1:]
	}
}

// skip skips one character, with the blanks around it.
func (p *fastDecoder) skip(c byte) bool {
	if len(p.rest) > 1 && p.rest[0] == c && p.rest[1] > ' ' {
		p.rest = p.rest[1:]
		return true
	}
	p.space()
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	p.space()
	return true
}

func (p *fastDecoder) word(w string) bool {
	if len(p.rest) < len(w) || string(p.rest[:len(w)]) != w {
		return false
	}
	p.rest = p.rest[len(w):]
	return true
}

// text reads a string. It is part of the line.
func (p *fastDecoder) text() ([]byte, bool) {
	if len(p.rest) == 0 || p.rest[0] != '"' {
		return nil, false
	}
	for i, c := range p.rest[1:] {
		switch {
		case c == '"':
			text := p.rest[1 : i+1]
			p.rest = p.rest[i+2:]
			return text, true
		case c == '\\' || c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// name reads a string that other lines have too.
func (p *fastDecoder) name(s *string) bool {
	text, ok := p.text()
	if ok {
		*s = p.names.of(text)
	}
	return ok
}

// digitsMax is the most digits that surely fit 64 bits.
const digitsMax = 18

// number reads a whole number in the form that JSON demands: no leading zeros.
func (p *fastDecoder) number() (n int64, ok bool) {
	negative := p.word("-")
	digits := 0
	for digits < len(p.rest) && '0' <= p.rest[digits] && p.rest[digits] <= '9' {
		n = 10*n + int64(p.rest[digits]-'0')
		digits++
		if digits > digitsMax {
			return 0, false
		}
	}
	if digits == 0 || digits > 1 && p.rest[0] == '0' || negative && n == 0 {
		return 0, false
	}
	p.rest = p.rest[digits:]
	if negative {
		n = -n
	}
	return n, true
}

func (p *fastDecoder) value(v *lin.Value) bool {
	switch {
	case p.word("null"):
		*v = lin.Null
	case p.word("true"):
		*v = lin.Bool(true)
	case p.word("false"):
		*v = lin.Bool(false)
	case len(p.rest) > 0 && p.rest[0] == '"':
		text, ok := p.text()
		*v = lin.Str(string(text))
		return ok
	default:
		n, ok := p.number()
		*v = lin.Int(n)
		return ok
	}
	return true
}
