package bubble

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"sync"
	"sync/atomic"

	"github.com/zktorture/zktorture/internal/digest"
)

// Go-zookeeper takes the identities in the names of its protected znodes from crypto/rand, other code its tokens, and
// recipes.NewGUID names, if it is given a connection within one of the user's own that hides its method NewGUID. In a
// world they come from the world, so that equal runs have equal names. Everywhere else what reads crypto/rand.Reader
// reads what was there before.
func init() { rand.Reader = &worldReader{other: rand.Reader} }

// worldReader is a source of randomness for each world that has one, and another one elsewhere.
type worldReader struct{ other io.Reader }

// Worlds by the numbers of their bubbles.
var (
	worlds     sync.Map
	worldCount atomic.Int32 // so that others pay nothing
)

// Read implements [io.Reader].
func (r *worldReader) Read(b []byte) (int, error) {
	if worldCount.Load() > 0 {
		if of, known := worlds.Load(Number()); known {
			return of.(*Randomness).Read(b)
		}
	}
	return r.other.Read(b)
}

// Randomness is what a world has in place of crypto/rand. It is equal in equal runs, as nothing but the number of
// calls matters.
type Randomness struct {
	mu    sync.Mutex
	State uint64
	Given []string // in hexadecimal digits, for who looks for identities in names
}

// Random lets the goroutines of a bubble read from a randomness, until end is called.
func Random(number int) (r *Randomness, end func()) {
	r = &Randomness{}
	worlds.Store(number, r)
	worldCount.Add(1)
	return r, func() {
		worlds.Delete(number)
		worldCount.Add(-1)
	}
}

// identityBytes is how many bytes are an identity, at least. Fewer are in a name by chance.
const identityBytes = 8

// Read implements [io.Reader].
func (r *Randomness) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b {
		if i%8 == 0 {
			r.State++
		}
		b[i] = byte(digest.Mix(r.State) >> (i % 8 * 8))
	}
	if len(b) >= identityBytes {
		r.Given = append(r.Given, hex.EncodeToString(b))
	}
	return len(b), nil
}
