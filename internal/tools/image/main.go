// Image makes a release's container image, for all its processors, of programs that are built already. It needs no
// daemon: what it writes is a folder in the layout of the Open Container Initiative, which docker, podman and skopeo read.
// Equal programs make equal bytes.
//
//	image -like CONTAINERFILE -dist FOLDER -version V -revision COMMIT -created SECONDS [-push PLACE]
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// programs are what the image has, and where.
const programs = "usr/local/bin/"

// processors are those of the image.
var processors = []string{"amd64", "arm64"}

// release is what the image says of itself.
type release struct {
	version, revision string
	created           time.Time
}

func main() {
	like := flag.String("like", "", "the `Containerfile` whose last stage says how the image is started")
	dist := flag.String("dist", "", "the `folder` of what was built; image/ is made in it, and digests.txt")
	version := flag.String("version", "", "of the release")
	revision := flag.String("revision", "", "the `commit` of the release")
	created := flag.Int64("created", 0, "when that commit was made, in `seconds` since 1970")
	push := flag.String("push", "", "also send the image to this `place`, tagged with the version, and as latest unless that has a hyphen")
	flag.Parse()
	r := release{*version, *revision, time.Unix(*created, 0).UTC()}
	if err := run(*like, *dist, *push, r); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func run(like, dist, push string, r release) error {
	start, err := startOf(like)
	if err != nil {
		return err
	}
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, processor := range processors {
		image, err := imageFor(dist, processor, start, r)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: processor}}})
	}
	folder := filepath.Join(dist, "image")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if _, err := layout.Write(folder, index); err != nil {
		return err
	}
	if push == "" {
		return nil
	}
	place, err := name.ParseReference(push + ":" + r.version)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s  %s\n", digest.Hex, push)
	if err := os.WriteFile(filepath.Join(dist, "digests.txt"), []byte(line), 0o644); err != nil {
		return err
	}
	login := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if err := remote.WriteIndex(place, index, login); err != nil || strings.Contains(r.version, "-") {
		return err
	}
	return remote.Tag(place.Context().Tag("latest"), index, login)
}

// startOf reads how the image of a Containerfile is started: the USER, ENTRYPOINT and CMD of its last stage.
func startOf(containerfile string) (config v1.Config, err error) {
	text, err := os.ReadFile(containerfile)
	if err != nil {
		return config, err
	}
	stage := text[bytes.LastIndex(text, []byte("\nFROM ")):]
	for line := range strings.Lines(string(stage)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "USER":
			config.User = rest
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &config.Entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &config.Cmd)
		}
		if err != nil {
			return config, fmt.Errorf("%s: %s has to be a list of strings: %w", containerfile, line, err)
		}
	}
	return config, nil
}

func imageFor(dist, processor string, start v1.Config, r release) (v1.Image, error) {
	files, err := archive(dist, processor, r.created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer}); err != nil {
		return nil, err
	}
	start.Labels = map[string]string{
		"org.opencontainers.image.title":    "zktorture",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   "https://github.com/zktorture/zktorture",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.revision,
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", processor, start
	config.Created = v1.Time{Time: r.created}
	return mutate.ConfigFile(image, config)
}

// archive is the image's only layer.
func archive(dist, processor string, created time.Time) ([]byte, error) {
	var into bytes.Buffer
	out := tar.NewWriter(&into)
	for _, program := range []string{"torture", "torture-campaign"} {
		built, err := filepath.Glob(filepath.Join(dist, program+"_linux_"+processor+"_*", program))
		if err != nil || len(built) != 1 {
			return nil, fmt.Errorf("%s: %d builds of %s for linux/%s, not one: run make snapshot", dist, len(built), program, processor)
		}
		content, err := os.ReadFile(built[0])
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: programs + program, Mode: 0o755, Size: int64(len(content)), ModTime: created}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write(content); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return into.Bytes(), err
}
