package goclient

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// Every field of what a client consists of is in the hash of the state, follows from what is, or changes nothing about
// the future. A field that is added must be put into a class here, and if need be into the hash.
func TestFieldsAreClassed(t *testing.T) {
	testkit.FieldsAreClassed(t, reflect.TypeFor[Client](), map[string]string{
		"network servers settle Semantics SettlesWoken HoldEvents GUIDSeed OnExpired": "constant",
		"conn":                                   "follows: the connection itself is hashed",
		"connected server session state timeout": testkit.Hashed,
		"replica":                                "follows: server",
		"stalls expiries":                        testkit.Hashed, "latestRoom callsRoom watchesRoom": "scratch: memory", "OnLate OnWait": "constant", "password": "follows: session",
		"lastZxid":                             testkit.Hashed + ", with one replica as far as watches depend on it",
		"creds":                                testkit.Hashed + " by number: which they are is in the history of its calls",
		"unsent sent waiting":                  testkit.Hashed,
		"watches events closing closed killed": testkit.Hashed, "dead buried refused": "follows: of a process that has died nothing else matters",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[events](), map[string]string{
		"ch readers latest silent": testkit.Hashed, "settle": "constant", "mu": "scratch: a lock",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[stalls](), map[string]string{"users late": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Call](), map[string]string{
		"Request User Tag internal": testkit.Hashed, "client": "constant",
		"reply watch done": "follows: empty until the call completes, and then it is in no list",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[watch](), map[string]string{
		"topic user tag": testkit.Hashed, "ch": testkit.Hashed + " by how much is in it",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[reader](), map[string]string{"user held": testkit.Hashed, "ch": testkit.Hashed + " by how much is in it"})
}
