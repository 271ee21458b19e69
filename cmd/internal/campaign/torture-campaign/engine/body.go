package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bodyMax is how large the compressed body of a message may be: NATS's default limit is 1 MB, and many wait at a time.
const bodyMax = 256 << 10

// bodyLimit is how long a large body may be on its way.
const bodyLimit = 5 * time.Minute

// bodyHeader says in which object the body of a message is.
const bodyHeader = "Torture-Body"

// bodySize is how many bytes the JSON of a body may have, and bodyParts how many objects and lists: a few bytes of JSON
// become a struct of several hundred. Results of units have some 200 KB (docs/campaign.md).
const (
	bodySize  = 64 << 20
	bodyParts = 1 << 18
)

// ErrLost is the error of a message whose body is not there: its writer was killed, or somebody has removed it.
var ErrLost = errors.New("the body of the message is lost")

// ErrUnreadable is the error of a message whose body is there and is not, or not as a whole, what a worker writes.
var ErrUnreadable = errors.New("the message cannot be read")

// none reports whether an error says that a message will never be read.
func none(err error) bool { return errors.Is(err, ErrLost) || errors.Is(err, ErrUnreadable) }

// message is a message whose body is a value, as compressed JSON.
func (c *Campaign) message(ctx context.Context, subject string, value any) (*nats.Msg, error) {
	body, err := pack(value)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(subject)
	if len(body) <= bodyMax {
		m.Data = body
		return m, nil
	}
	name := subject + "." + rand.Text()
	ctx, cancel := context.WithTimeout(ctx, bodyLimit)
	defer cancel()
	if _, err := c.bodies.PutBytes(ctx, name, body); err != nil {
		return nil, err
	}
	m.Header.Set(bodyHeader, name)
	return m, nil
}

// read reads the body of a message into a value.
func (c *Campaign) read(ctx context.Context, h nats.Header, data []byte, value any) error {
	if name := h.Get(bodyHeader); name != "" {
		var err error
		if data, err = c.object(ctx, name); errors.Is(err, ErrNone) {
			return fmt.Errorf("%w: %s", ErrLost, name)
		} else if err != nil {
			return err
		}
	}
	if err := unpack(data, value); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}

// drop removes the body of a message that is needed no more.
func (c *Campaign) drop(ctx context.Context, h nats.Header) error {
	name := h.Get(bodyHeader)
	if name == "" {
		return nil
	}
	if err := c.bodies.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return nil
}

func pack(value any) ([]byte, error) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err := json.NewEncoder(z).Encode(value); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(data []byte, value any) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(z, bodySize+1))
	if err != nil {
		return err
	}
	if parts := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("[")); len(text) > bodySize || parts > bodyParts {
		return fmt.Errorf("it has more than %d MB, or %d objects and lists", bodySize>>20, bodyParts)
	}
	return json.Unmarshal(text, value)
}
