package recipes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// protectedPrefix begins the names of protected znodes, and protectedTries is how often one is created (go-zookeeper
// 1.0.4, conn.go).
const (
	protectedPrefix = "_c_"
	protectedTries  = 3
)

// CreateProtected is CreateProtectedEphemeralSequential by conn's own Create and Children, with a name by [NewGUID]:
// for connections that wrap another one and have to see each request. It sends what go-zookeeper sends.
func CreateProtected(conn Conn, path string, data []byte, acl []zk.ACL) (created string, err error) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return "", zk.ErrInvalidPath
	}
	parent := path[:slash]
	prefix := protectedPrefix + NewGUID(conn)
	protected := fmt.Sprintf("%s/%s-%s", parent, prefix, path[slash+1:])
	for range protectedTries {
		created, err = conn.Create(protected, data, zk.FlagEphemeralSequential, acl)
		switch err {
		case nil:
			return created, nil
		case zk.ErrSessionExpired: // and the znode with it
		case zk.ErrConnectionClosed:
			if found, err := findProtected(conn, parent, prefix); found != "" || err != nil {
				return found, err
			}
		default:
			return "", err
		}
	}
	return "", err
}

// findProtected looks for the znode of a create whose reply was lost; "" if there is none.
func findProtected(conn Conn, parent, prefix string) (string, error) {
	children, _, err := conn.Children(parent)
	i := slices.IndexFunc(children, func(name string) bool { return strings.HasPrefix(name, prefix) })
	if err != nil || i < 0 {
		return "", err
	}
	return parent + "/" + children[i], nil
}
