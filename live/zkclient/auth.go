package zkclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Credential is what a client shows to be let at znodes with an ACL: ZooKeeper Programmer's Guide, "ZooKeeper access
// control using ACLs". It prints without its secret.
type Credential struct {
	scheme string
	secret string
}

// Digest is a user's name and password, for ACLs of the scheme digest.
func Digest(user, password string) Credential { return Credential{"digest", user + ":" + password} }

// String returns the scheme alone.
func (c Credential) String() string { return c.scheme + ":…" }

// GoString is as String.
func (c Credential) GoString() string { return c.String() }

// ReadDigest reads user:password from a file, or from an environment variable if source is env:NAME. The error does
// not say what was read, nor the source if it could be a credential itself.
func ReadDigest(source string) (Credential, error) {
	text, err := readSecret(source)
	if err != nil && couldBeSecret(source) {
		return Credential{}, errors.New("zkclient: credentials: what was given is neither env:NAME nor a file " +
			"that can be read; " +
			"if it is a credential, put it into a file or a variable: on a command line others see it")
	}
	if err != nil {
		return Credential{}, err
	}
	user, password, ok := strings.Cut(strings.TrimRight(text, "\r\n"), ":")
	if !ok || user == "" || strings.ContainsAny(password, "\r\n") {
		return Credential{}, fmt.Errorf("zkclient: %s does not hold one line user:password", source)
	}
	return Digest(user, password), nil
}

// couldBeSecret reports whether the source may be a credential given by mistake.
func couldBeSecret(source string) bool {
	name, _ := strings.CutPrefix(source, "env:")
	return strings.Contains(name, ":")
}

func readSecret(source string) (string, error) {
	name, isVariable := strings.CutPrefix(source, "env:")
	if !isVariable {
		text, err := os.ReadFile(source)
		if err != nil {
			return "", fmt.Errorf("zkclient: credentials: %w", err)
		}
		return string(text), nil
	}
	text, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("zkclient: credentials: there is no environment variable %q", name)
	}
	return text, nil
}

// authenticate shows the credentials that have not been shown yet. go-zookeeper shows them again on each later
// connection.
func (c *Client) authenticate(ctx context.Context) error {
	c.showing.Lock()
	defer c.showing.Unlock()
	for len(c.unshown) > 0 {
		switch err := c.show(ctx, c.unshown[0]); {
		case err == nil:
			c.unshown = c.unshown[1:]
		case errors.Is(err, zk.ErrAuthFailed) || ctx.Err() != nil:
			return fmt.Errorf("zkclient: %v refused by %v: %w", c.unshown[0], c.route, err)
		default: // the connection was lost meanwhile
			if err := c.awaitSession(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Client) show(ctx context.Context, what Credential) error {
	shown := make(chan error, 1)
	go func() { shown <- c.AddAuth(what.scheme, []byte(what.secret)) }()
	select {
	case err := <-shown:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
