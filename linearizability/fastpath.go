package linearizability

// fastDecoder decodes the lines that [Write] and most other programs write: an object of known fields, none of them
// twice, with whole numbers and strings of printable ASCII without escapes. All other lines, and all that are wrong,
// are left to package encoding/json, which is slower. A line that is decoded here has the same meaning there.
type fastDecoder struct {
	rest  []byte
	names names
}

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

// The fields of an operation, as a set, and those that it must have.
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

	fieldsNeeded = fieldClient | fieldOp | fieldOutcome | fieldCall | fieldReturn
)

func (p *fastDecoder) parse(op *Operation) bool {
	if !p.skip('{') {
		return false
	}
	seen := 0
	for {
		name, ok := p.text()
		if !ok || !p.skip(':') {
			return false
		}
		field, ok := p.field(name, op)
		if !ok || seen&field != 0 {
			return false
		}
		seen |= field
		if p.skip('}') {
			return len(p.rest) == 0 && seen&fieldsNeeded == fieldsNeeded
		}
		if !p.skip(',') {
			return false
		}
	}
}

// field reads the value of a field.
func (p *fastDecoder) field(name []byte, op *Operation) (field int, ok bool) {
	switch string(name) {
	case "client":
		n, ok := p.number()
		op.Client = int(n)
		return fieldClient, ok
	case "op":
		return fieldOp, p.name(&op.Op)
	case "arg":
		return fieldArg, p.value(&op.Arg)
	case "result":
		return fieldResult, p.value(&op.Result)
	case "outcome":
		return fieldOutcome, p.outcome(&op.Outcome)
	case "call":
		return fieldCall, p.stamp(&op.Call)
	case "return":
		op.Return = Forever
		return fieldReturn, p.word("null") || p.stamp(&op.Return)
	case "object":
		return fieldObject, p.name(&op.Object)
	case "note":
		return fieldNote, p.name(&op.Note)
	case "process":
		return fieldProcess, p.value(&op.Process)
	}
	return 0, false
}

func (p *fastDecoder) outcome(o *Outcome) bool {
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

func (p *fastDecoder) value(v *Value) bool {
	switch {
	case p.word("null"):
		*v = Null
	case p.word("true"):
		*v = Bool(true)
	case p.word("false"):
		*v = Bool(false)
	case len(p.rest) > 0 && p.rest[0] == '"':
		text, ok := p.text()
		*v = Str(string(text))
		return ok
	default:
		n, ok := p.number()
		*v = Int(n)
		return ok
	}
	return true
}
