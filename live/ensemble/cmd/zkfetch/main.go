// Zkfetch makes sure that a ZooKeeper server can be started on this machine.
//
//	go run ./live/ensemble/cmd/zkfetch [-install-jre]
//
// It finds or downloads the server ([ensemble.Fetch]), prints its version and where it is, and makes the class
// archive with which it starts faster ([ensemble.MakeArchive]). With -install-jre it also installs Debian's
// default-jre-headless if there is no Java, for which it must be root. The exit status is 0 if a server can be
// started, and 2 with a reason if not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/zktorture/zktorture/live/ensemble"
)

func main() {
	installJRE := flag.Bool("install-jre", false, "install Debian's default-jre-headless if there is no Java")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *installJRE); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(ctx context.Context, installJRE bool) error {
	java, err := ensemble.FindJava(ctx)
	if err != nil && installJRE {
		java, err = install(ctx, err)
	}
	if err != nil {
		return err
	}
	server, err := ensemble.Fetch(ctx)
	if err != nil {
		return err
	}
	version, err := server.Version(java)
	if err != nil {
		return err
	}
	fmt.Printf("ZooKeeper %s (%s), run by %s\n", version, server.Origin, java)
	if archive, err := ensemble.MakeArchive(ctx); err != nil {
		fmt.Println("servers will start more slowly, without a class archive:", err)
	} else {
		fmt.Println("class archive:", archive)
	}
	return nil
}

// install installs Java, unless JAVA_HOME is set, which would stay wrong.
func install(ctx context.Context, missing error) (string, error) {
	if os.Getenv("JAVA_HOME") != "" {
		return "", missing
	}
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("%w (not root, so -install-jre could not do it)", missing)
	}
	cmd := exec.CommandContext(ctx, "apt-get", "install", "-y", "--no-install-recommends", "default-jre-headless")
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("apt-get install default-jre-headless: %w: "+
			"if apt does not know the package, run `apt-get update` first", err)
	}
	return ensemble.FindJava(ctx)
}
