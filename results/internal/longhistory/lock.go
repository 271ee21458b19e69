package longhistory

import "github.com/zktorture/zktorture/linearizability"

const nobody = -1

type lock struct {
	*drawing
	holder  int
	held    span // when the holder acquired it
	token   int64
	planted int64 // neither of two holders releases before it
	second  int
}

func (l *lock) next(client int) {
	switch {
	case l.now < l.planted:
	case l.planted > 0 && client == l.second: // it must not hold any more when the other goes on
		l.release(client, false)
		l.planted = 0
	case l.planted > 0:
	case l.holder == nobody:
		l.held, l.holder = l.acquire(client), client
	case l.holder == client:
		l.release(client, l.unknown())
		l.holder = nobody
	case l.due() && l.now > l.held.end+spread:
		s := l.acquire(client)
		l.second, l.planted, l.Planted = client, s.end+2*spread, false
	}
}

func (l *lock) acquire(client int) span {
	s := l.around(client)
	l.token++
	l.add(client, s, linearizability.Operation{Op: "acquire", Result: linearizability.Int(l.token)})
	return s
}

func (l *lock) release(client int, lost bool) {
	op := linearizability.Operation{Op: "release"}
	if lost {
		op.Outcome = linearizability.Unknown
	}
	l.add(client, l.around(client), op)
}
