package command

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
)

// accessFlags say how to reach a server of NATS. Secrets are in files: other users see the arguments of processes.
type accessFlags struct {
	TokenFile   string `help:"The token of the campaign: a copy of the file DIR/token on the coordinator." placeholder:"FILE" type:"path"`
	Creds       string `help:"Credentials for NATS, if the server needs them." placeholder:"FILE" type:"path"`
	Fingerprint string `help:"The fingerprint of the server's certificate, as the coordinator prints it." placeholder:"SHA256"`
	CA          string `help:"Instead of --fingerprint: the certificate authority of the server's certificate." placeholder:"FILE" type:"path"`
}

// to is the access to a server, and the campaign that its address names: "" if it names none.
func (f *accessFlags) to(address string) (engine.Access, string, error) {
	a := engine.Access{URL: address, TokenFile: f.TokenFile, Creds: f.Creds, Fingerprint: f.Fingerprint, CA: f.CA}
	list, id := strings.Split(address, ","), ""
	for i, one := range list {
		u, err := url.Parse(one)
		if err != nil {
			return a, "", fmt.Errorf("the address %s is not a URL", strings.Split(one, "@")[0])
		}
		if p := strings.Trim(u.Path, "/"); p != "" {
			id = p
		}
		u.Path = ""
		list[i] = u.String()
	}
	a.URL = strings.Join(list, ",")
	return a, id, nil
}
